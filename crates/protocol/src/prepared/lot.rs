//! Lots: instances of one component, garbled and sent before their use is known.
//!
//! The tables of all instances of a lot form one stream, in the order of their numbers, cut into
//! frames of [`LOT_FRAME_BYTES`]. The component's program determines the size of an instance
//! ([`InstanceTables::size`]). Both parties know component, scheme and count beforehand.

use std::sync::{Mutex, PoisonError};
use std::thread;

use tacit_circuit::Program;
use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::instance::SIDE_BY_SIDE;
use super::{InstanceSeed, InstanceTables, messages};
use crate::Error;
use crate::io::Io;
use crate::party::Progress;

/// The size of a frame of a lot's tables, in bytes. Only the last frame is shorter.
pub const LOT_FRAME_BYTES: usize = 256 << 10;

/// The number of bytes of instances that several threads garble together while the same number is
/// sent: enough work for each thread, and little compared with a lot. A single thread garbles one
/// frame at a time, which is sent while it is still in a nearby cache.
const TOGETHER_BYTES: usize = 8 << 20;

const TOO_LARGE: Error = Error::ApiMisuse("a lot of at most 2^63 bytes");

/// Sends a lot of `program`, with an instance from each seed, garbled on `threads` threads. The
/// bytes sent do not depend on `threads`. While one thread sends, the others garble the next
/// instances.
///
/// # Errors
///
/// `threads` is 0, or the wire fails.
pub fn send_lot<S: Scheme>(
    io: &mut Io<'_>,
    (scheme, program): (S, &Program),
    delta: &Block,
    seeds: &[InstanceSeed],
    threads: usize,
) -> Result<(), Error> {
    let size = InstanceTables::size(scheme, program);
    let bytes = match threads {
        0 => return Err(Error::ApiMisuse("at least one thread")),
        1 => LOT_FRAME_BYTES,
        _ => TOGETHER_BYTES,
    };
    let together = (bytes as u64 / size.max(1)).max(1) as usize;
    let left = size.checked_mul(seeds.len() as u64).ok_or(TOO_LARGE)?;
    let ands = program.ands().len() as u64;
    io.message().clear();
    let mut lot = Leaving {
        io,
        size,
        left,
        progress: Progress {
            done_ands: 0,
            total_ands: ands * seeds.len() as u64,
        },
        ands,
    };
    let what = (scheme, program, delta);
    // The memory is reused once its content is sent.
    let (mut garbled, mut next) = (Vec::new(), Vec::new());
    for seeds in seeds.chunks(together) {
        next.resize(seeds.len() * size as usize, 0);
        if threads == 1 {
            garble(what, seeds, &mut next);
            lot.send(&next)?;
        } else {
            let meanwhile = || lot.send(&garbled);
            garble_meanwhile(what, seeds, &mut next, threads, meanwhile)?;
            std::mem::swap(&mut garbled, &mut next);
        }
    }
    lot.send(&garbled)
}

fn garble<S: Scheme>(
    (scheme, program, delta): (S, &Program, &Block),
    seeds: &[InstanceSeed],
    room: &mut [u8],
) {
    InstanceSeed::garble_all(seeds, scheme, program, *delta, room);
}

/// Garbles instances into `room` on `threads` threads. This thread runs `meanwhile` first.
fn garble_meanwhile<S: Scheme>(
    what: (S, &Program, &Block),
    seeds: &[InstanceSeed],
    room: &mut [u8],
    threads: usize,
    meanwhile: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let share = (seeds.len() / (2 * threads)).clamp(1, SIDE_BY_SIDE);
    let others = (threads - 1).min(seeds.len().div_ceil(share));
    let rooms = room.chunks_mut(room.len() / seeds.len() * share);
    let shares = Mutex::new(seeds.chunks(share).zip(rooms));
    let next = || shares.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((seeds, room)) = next() {
            garble(what, seeds, room);
        }
    };
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(work);
        }
        meanwhile()?;
        work();
        Ok(())
    })
}

/// A lot that is being sent.
struct Leaving<'i, 'w> {
    io: &'i mut Io<'w>,
    /// The size of an instance in bytes.
    size: u64,
    /// The bytes of the frames that are still to be sent.
    left: u64,
    progress: Progress,
    /// The number of AND gates of an instance.
    ands: u64,
}

impl Leaving<'_, '_> {
    /// Sends whole instances. A frame that is not full waits for the next instances; a frame that
    /// these instances fill alone is sent from where they are.
    fn send(&mut self, mut tables: &[u8]) -> Result<(), Error> {
        self.progress.done_ands += tables.len() as u64 / self.size.max(1) * self.ands;
        while !tables.is_empty() {
            let frame = messages::lot_tables(self.left);
            let room = frame.max_bytes - self.io.message().len();
            let these;
            (these, tables) = tables.split_at(room.min(tables.len()));
            if these.len() == frame.max_bytes {
                self.io.send_from(frame, these)?;
            } else {
                self.io.message().extend_from_slice(these);
                if these.len() < room {
                    break;
                }
                self.io.send(frame)?;
                self.io.message().clear();
            }
            self.left -= frame.max_bytes as u64;
            self.io.progressed(self.progress);
        }
        Ok(())
    }
}

/// Receives a lot of `count` instances of `program`. Passes their bytes to `keep` as they arrive,
/// in order and cut anywhere.
///
/// # Errors
///
/// The lot is larger than 2^63 bytes, `keep` fails, the garbler misbehaves, or the wire fails.
pub async fn receive_lot<S: Scheme>(
    io: &mut Io<'_>,
    (scheme, program): (S, &Program),
    count: u64,
    mut keep: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let size = InstanceTables::size(scheme, program);
    let ands = program.ands().len() as u64;
    let mut left = size.checked_mul(count).ok_or(TOO_LARGE)?;
    while left > 0 {
        let frame = io.receive(messages::lot_tables(left)).await?;
        left -= frame.len() as u64;
        keep(frame)?;
        io.progressed(Progress {
            done_ands: ands * (count - left.div_ceil(size)),
            total_ands: ands * count,
        });
    }
    Ok(())
}
