//! Gate lines of a large file, lexed on a separate thread.
//!
//! The separate thread reads and lexes lines, and the caller's thread makes gates of them. The
//! first line without the usual form ends this mode, and one thread does both from there on. Mostly
//! that is the last line.

use std::io::Read;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use super::lexer::{GateLine, Lexer};
use super::read::Gates;
use crate::CircuitError;

/// The number of gates from which lexing a file takes longer than starting a thread.
pub(super) const LARGE: u32 = 1 << 16;

/// The number of lines that are handed over together, as a batch.
const LINES: usize = 1 << 12;
/// The number of such batches that may be lexed before the caller takes them.
const AHEAD: usize = 4;

/// Consecutive lines, and the number of the first.
struct Lines {
    first: u64,
    lines: Vec<GateLine>,
}

/// Adds the next lines of usual form, at most `most`, to `gates`. Returns the lexer after them and
/// their number.
pub(super) fn usual_gates<R: Read + Send>(
    lexer: Lexer<R>,
    most: u32,
    gates: &mut Gates,
) -> Result<(Lexer<R>, u32), CircuitError> {
    // The thread takes the lexer. If no thread can be started, the caller takes the lexer back.
    let lexer = Mutex::new(Some(lexer));
    let take = || lexer.lock().expect("nobody panics with it").take();
    let mut count = 0;
    let lexed = thread::scope(|scope| {
        let (sender, ahead) = sync_channel(AHEAD);
        let (used, spare) = channel();
        let lex = move || take().map(|lexer| lex(lexer, most, &sender, &spare));
        let Ok(thread) = thread::Builder::new().spawn_scoped(scope, lex) else {
            return Ok(None);
        };
        for Lines { first, mut lines } in ahead {
            for (line, gate) in (first..).zip(&lines) {
                gates.usual_gate(gate, line)?;
            }
            count += lines.len() as u32;
            lines.clear();
            let _ = used.send(lines);
        }
        thread.join().expect("lexing does not panic").transpose()
    })?;
    let lexer = lexed.or_else(take).expect("one of both has it");
    Ok((lexer, count))
}

/// Sends the next lines of usual form, at most `most`. Returns the lexer after them.
fn lex<R: Read>(
    mut lexer: Lexer<R>,
    most: u32,
    sender: &SyncSender<Lines>,
    spare: &Receiver<Vec<GateLine>>,
) -> Result<Lexer<R>, CircuitError> {
    let mut left = most as usize;
    loop {
        let mut lines = spare.try_recv().unwrap_or_default();
        let (first, wanted) = (lexer.line(), LINES.min(left));
        let mut ended = Ok(());
        while lines.len() < wanted {
            ended = lexer.skip_blanks();
            if ended.is_err() {
                break;
            }
            let Some(line) = lexer.gate_line() else { break };
            lexer.finish_gate_line(&line);
            lines.push(line);
        }
        left -= lines.len();
        let is_last = lines.len() < LINES || left == 0;
        // If sending fails, earlier lines had an error. An error in these lines is reported before
        // the error that ended the file.
        if sender.send(Lines { first, lines }).is_err() || is_last {
            return ended.map(|()| lexer);
        }
    }
}
