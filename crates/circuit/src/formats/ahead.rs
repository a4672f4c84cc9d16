//! Gate lines of a large file, lexed on a thread of their own.
//!
//! That thread reads and lexes lines, and the caller's makes gates of them. The first line that has
//! not the usual form ends that; from there on one thread does both. Mostly it is the last line.

use std::io::Read;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use super::lexer::{GateLine, Lexer};
use super::read::Gates;
use crate::CircuitError;

/// Gates of a file whose lexing takes longer than starting a thread does.
pub(super) const LARGE: u32 = 1 << 16;

/// Lines that are handed over together, as a batch.
const LINES: usize = 1 << 12;
/// How many such batches may be lexed before the caller takes them.
const AHEAD: usize = 4;

/// Lines that follow each other, and the number of the first.
struct Lines {
    first: u64,
    lines: Vec<GateLine>,
}

/// Adds the lines of usual form that stand next, `most` at most, to `gates`. Returns the lexer
/// behind them, and how many they were.
pub(super) fn usual_gates<R: Read + Send>(
    lexer: Lexer<R>,
    most: u32,
    gates: &mut Gates,
) -> Result<(Lexer<R>, u32), CircuitError> {
    // The thread takes the lexer; where none can be started, the caller takes it back.
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

/// Sends the lines of usual form that stand next, `most` at most. Returns the lexer behind them.
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
        // Where nobody takes them, there was an error in lines before. What is wrong with these
        // lines goes before what ended the file.
        if sender.send(Lines { first, lines }).is_err() || is_last {
            return ended.map(|()| lexer);
        }
    }
}
