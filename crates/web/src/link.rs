//! A transport whose bytes another worker moves, over a WebSocket or to another tab; and a private
//! key that the browser holds.
//!
//! The functions of `js/link.js` block this worker, for at most the given time.

use std::io::{self, IoSlice};
use std::time::Duration;

use tacit::Identity;
use tacit::net::relay::{self, Answer, Hello};
use tacit::net::{CancelHandle, Interrupt, NetError, Sink, Source, Transport, Wait};
#[cfg(feature = "programs")]
use tacit::outsourced::ClientStage;
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(raw_module = "./link.js")]
extern "C" {
    /// Opens the link, if it is not open.
    fn link_open(link: u32);

    /// Ends the link, and after a pause leaves it to be opened anew.
    fn link_renew(link: u32);

    /// Reads bytes into `into`. Returns their number, 0 at the end, or one of the negative numbers
    /// below.
    fn link_read(link: u32, into: &mut [u8], wait_ms: f64) -> i32;

    /// Returns whether a read returns something at once.
    fn link_ready(link: u32) -> bool;

    /// Writes some of `bytes`. Returns the number taken, or one of the negative numbers below. If
    /// `reads` is true, does not wait while there is something to read.
    fn link_write(link: u32, bytes: &[u8], reads: bool, wait_ms: f64) -> i32;

    /// Says that no more follows.
    fn link_finish(link: u32);

    /// Returns one of the states of `js/link.js`.
    fn link_state(link: u32) -> u32;

    /// Tells the page which part of the work is done, from 0 to 1.
    fn call_progressed(part: f64);

    #[cfg(feature = "programs")]
    /// Tells the page that the run waits for this number of earlier runs.
    fn call_waits(before: u32);

    #[cfg(feature = "programs")]
    /// Tells the page that both servers have started the run.
    fn call_runs();

    /// Signs with the private key of this number into `into`. Returns whether it did.
    fn key_sign(key: u32, message: &[u8], into: &mut [u8]) -> bool;
}

/// Nothing happened in time.
const NOTHING: i32 = -1;
/// There is something to read.
const READABLE: i32 = -2;
/// The link is gone. The answer is `-GONE` minus its state.
const GONE: i32 = 10;

/// The progress of a link, which tells pages more than the error that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Nobody has been at the other end.
    Unreached,
    /// Another tab is this party already.
    Occupied,
    /// Another party is there, or was.
    Met,
}

/// Returns the progress of the link of this number.
pub(crate) fn state(link: u32) -> LinkState {
    match link_state(link) {
        OPENING | UNREACHED => LinkState::Unreached,
        OCCUPIED => LinkState::Occupied,
        _ => LinkState::Met,
    }
}

const OPENING: u32 = 0;
const UNREACHED: u32 = 4;
const FLOODED: u32 = 5;
const OCCUPIED: u32 = 6;

/// The most bytes that are passed at once.
const PIECE: usize = 256 * 1024;

/// Returns the identity with this public key. The browser signs for it with the private key of this
/// number.
pub(crate) fn identity(key: u32, public_key: &[u8; 32]) -> Identity {
    Identity::elsewhere(public_key, move |message| {
        let mut signature = [0; 64];
        key_sign(key, message, &mut signature).then_some(signature)
    })
}

struct LinkSource(u32);
struct LinkSink(u32);

/// Starts connecting the link of this number, unless that has started. Longer computations of this
/// side come first, because the other side limits its wait for a first message.
pub(crate) fn open(link: u32) {
    link_open(link);
}

/// Meets at a relay, to which the link leads, the other party that names the room of `hello`. Waits
/// for at most `patience`.
pub(crate) fn meet(link: u32, hello: Hello, patience: Duration) -> Result<Transport, NetError> {
    let cancel = CancelHandle::new();
    let wait = Wait::at_most(patience, &cancel);
    loop {
        let met = relay::enter(transport(link), hello, (patience, &wait));
        match met {
            // A relay, or a proxy before it, lets nobody wait for long. This party may.
            Err(NetError::Closed { .. } | NetError::Relay(Answer::Late))
                if is_met(link) && wait.slice().is_ok() =>
            {
                renew(link);
            }
            met => return met,
        }
    }
}

/// Returns whether somebody is at the other end of the link of this number, or was.
pub(crate) fn is_met(link: u32) -> bool {
    state(link) == LinkState::Met
}

/// Ends the link of this number, and after a pause leaves it to be opened anew.
pub(crate) fn renew(link: u32) {
    link_renew(link);
}

/// Returns the transport of the link of this number.
pub(crate) fn transport(link: u32) -> Transport {
    open(link);
    Transport::new(Box::new(LinkSource(link)), Box::new(LinkSink(link)))
}

/// Tells the page which part of the current call's work is done, from 0 to 1.
pub(crate) fn progressed(part: f64) {
    call_progressed(part);
}

/// Tells the page what its run between three parties is doing.
#[cfg(feature = "programs")]
pub(crate) fn staged(stage: ClientStage) {
    match stage {
        ClientStage::Waits { before } => call_waits(before.into()),
        _ => call_runs(),
    }
}

/// Repeats `operation`, which blocks for at most the given milliseconds, until it answers.
fn repeat(wait: &Wait<'_>, mut operation: impl FnMut(f64) -> i32) -> Result<usize, Interrupt> {
    loop {
        match operation(milliseconds(wait.slice()?)) {
            NOTHING => {}
            READABLE => return Err(Interrupt::Readable),
            count => return usize::try_from(count).map_err(|_| gone(count)),
        }
    }
}

/// Returns the reason why a link is gone.
fn gone(answer: i32) -> Interrupt {
    let flooded = || io::Error::other("the other side sent more than there was room for");
    let is_flooded = u32::try_from(-GONE - answer) == Ok(FLOODED);
    Interrupt::Io(if is_flooded {
        flooded()
    } else {
        io::ErrorKind::ConnectionReset.into()
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Source for LinkSource {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        repeat(wait, |wait_ms| link_read(self.0, into, wait_ms))
    }

    fn is_ready(&mut self) -> bool {
        link_ready(self.0)
    }
}

impl Sink for LinkSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut bytes = Vec::new();
        for part in parts {
            let room = PIECE - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(room)]);
        }
        let reads = wait.reads();
        repeat(wait, |wait_ms| link_write(self.0, &bytes, reads, wait_ms))
    }

    fn finish(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        link_finish(self.0);
        Ok(())
    }
}
