//! Accepts side streams at an address while nobody accepts peers there.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;

use super::PREAMBLE;
use super::join::{HEAD_BYTES, Id, id_of, join};
use crate::tcp::{LOOK_PAUSE, Listening};
use crate::wait::SLICE;
use crate::{CancelHandle, Settings};

/// The number of connections that may be silent. If there are more, the oldest is left to the next
/// acceptor of peers.
const MOST_SILENT: usize = 64;

/// Accepts connections at `listening`, as long as a session waits for streams. Those that are meant
/// as streams join, and all others wait for the next acceptor of peers.
pub(crate) fn attend(listening: &Arc<Listening>, settings: &Settings) {
    if !listening.begin_attending() {
        return;
    }
    let (here, settings) = (Arc::clone(listening), settings.clone());
    let attending = thread::Builder::new().name("side streams".to_owned());
    let spawned = attending.spawn(move || {
        let settings = Settings {
            // The sessions have handles of their own, and this ends once they are gone.
            cancel: CancelHandle::new(),
            ..settings
        };
        take_in(&here, &settings);
    });
    if spawned.is_err() {
        // Without a thread the sessions go on without streams.
        listening.end_attending();
    }
}

fn take_in(listening: &Arc<Listening>, settings: &Settings) {
    let mut silent = Vec::new();
    loop {
        while listening.expected().is_any() {
            let pause = if silent.is_empty() { SLICE } else { LOOK_PAUSE };
            match listening.take_next(pause) {
                Ok(Some(came)) if came.0.set_nonblocking(true).is_ok() => silent.push(came),
                Ok(_) => {}
                // The error may pass, as a lack of descriptors does.
                Err(_) => thread::sleep(LOOK_PAUSE),
            }
            if silent.len() > MOST_SILENT {
                listening.park(silent.remove(0));
            }
            let mut still = Vec::new();
            for came in silent.drain(..) {
                match opening(&came.0) {
                    Opening::Awaited => still.push(came),
                    Opening::Other => listening.park(came),
                    Opening::Stream(id) => begin(&id, came.0, listening, settings),
                }
            }
            silent = still;
        }
        listening.end_attending();
        // A session that came meanwhile would have found this one attending.
        if !(listening.expected().is_any() && listening.begin_attending()) {
            break;
        }
    }
    silent.into_iter().for_each(|came| listening.park(came));
}

/// The first bytes of a connection.
enum Opening {
    /// Too few bytes have arrived to tell.
    Awaited,
    Stream(Id),
    /// The connection is no stream, or it has ended.
    Other,
}

fn opening(socket: &TcpStream) -> Opening {
    let mut head = [0; HEAD_BYTES];
    match socket.peek(&mut head) {
        Ok(HEAD_BYTES) => id_of(&head).map_or(Opening::Other, Opening::Stream),
        Ok(count @ 1..) if is_begun(&head[..count]) => Opening::Awaited,
        Err(error) if error.kind() == ErrorKind::WouldBlock => Opening::Awaited,
        _ => Opening::Other,
    }
}

/// Returns whether the preamble may begin like this.
fn is_begun(head: &[u8]) -> bool {
    let count = head.len().min(PREAMBLE.len());
    head[..count] == PREAMBLE[..count]
}

/// Starts the handshake of a stream for which a session waits. Closes any other connection.
fn begin(id: &Id, socket: TcpStream, listening: &Arc<Listening>, settings: &Settings) {
    let expected = listening.expected();
    let Some(place) = expected.has(id).then(|| expected.enter()).flatten() else {
        return;
    };
    let (listening, settings) = (Arc::clone(listening), settings.clone());
    let joining = thread::Builder::new().name("side stream".to_owned());
    // A stream that is refused, or gets no thread, is closed.
    let _ = joining.spawn(move || {
        let _place = place;
        join(socket, listening.expected(), &settings)
    });
}
