//! A transport whose bytes another worker moves: over a WebSocket, or to another tab; and a private
//! key that the browser has.
//!
//! The functions of `js/link.js` block this worker, for at most as long as they are told.

use std::io::{self, IoSlice};
use std::time::Duration;

use tacit::Identity;
use tacit::net::{Interrupt, Sink, Source, Transport, Wait};
use wasm_bindgen::prelude::wasm_bindgen;

#[wasm_bindgen(raw_module = "./link.js")]
extern "C" {
    /// Bytes read into `into`, 0 at the end; below zero one of the numbers below.
    fn link_read(link: u32, into: &mut [u8], wait_ms: f64) -> i32;

    /// Bytes of `bytes` that were taken; below zero one of the numbers below.
    fn link_write(link: u32, bytes: &[u8], wait_ms: f64) -> i32;

    /// Says that no more follows.
    fn link_finish(link: u32);

    /// Signs with the private key of this number into `into`; whether it did.
    fn key_sign(key: u32, message: &[u8], into: &mut [u8]) -> bool;
}

/// Nothing happened in time.
const NOTHING: i32 = -1;

/// Bytes handed over at once, at most.
const PIECE: usize = 256 * 1024;

/// The identity with this public key, for which the browser signs with the private key of this
/// number.
pub(crate) fn identity(key: u32, public_key: &[u8; 32]) -> Identity {
    Identity::elsewhere(public_key, move |message| {
        let mut signature = [0; 64];
        key_sign(key, message, &mut signature).then_some(signature)
    })
}

struct LinkSource(u32);
struct LinkSink(u32);

/// The transport of the link of this number.
pub(crate) fn transport(link: u32) -> Transport {
    Transport::new(Box::new(LinkSource(link)), Box::new(LinkSink(link)))
}

/// Repeats `operation`, which blocks for at most the milliseconds it is given, until it answers.
fn repeat(wait: &Wait<'_>, mut operation: impl FnMut(f64) -> i32) -> Result<usize, Interrupt> {
    loop {
        match operation(milliseconds(wait.slice()?)) {
            NOTHING => {}
            count => {
                let broken = || Interrupt::Io(io::ErrorKind::ConnectionReset.into());
                return usize::try_from(count).map_err(|_| broken());
            }
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Source for LinkSource {
    fn read(&mut self, into: &mut [u8], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        repeat(wait, |wait_ms| link_read(self.0, into, wait_ms))
    }
}

impl Sink for LinkSink {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let mut bytes = Vec::new();
        for part in parts {
            let room = PIECE - bytes.len();
            bytes.extend_from_slice(&part[..part.len().min(room)]);
        }
        repeat(wait, |wait_ms| link_write(self.0, &bytes, wait_ms))
    }

    fn finish(&mut self, _wait: &Wait<'_>) -> Result<(), Interrupt> {
        link_finish(self.0);
        Ok(())
    }
}
