//! Lots: instances of one component, garbled and sent before their use is known.
//!
//! The tables of all instances of a lot form one stream, in the order of their numbers, cut into
//! frames of [`LOT_FRAME_BYTES`]. The component's program determines the size of an instance
//! ([`InstanceTables::size`]). Both parties know component, scheme and count beforehand.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tacit_circuit::Program;
use tacit_garble::Scheme;
use tacit_kernels::Block;

use super::{InstanceSeed, InstanceTables, messages};
use crate::Error;
use crate::direct::work_on;
use crate::io::{Io, SharedBytes};
use crate::party::Progress;

/// The size of a frame of a lot's tables, in bytes. Only the last frame is shorter.
pub const LOT_FRAME_BYTES: usize = 256 << 10;

/// The approximate bytes of instances that one of several threads garbles at once. A single thread
/// garbles about a frame, which is sent while it is still in a nearby cache.
const TOGETHER_BYTES: usize = 1 << 20;

/// The approximate bytes of instances that several threads garble ahead of what is sent.
const AHEAD_BYTES: usize = 16 << 20;

const TOO_LARGE: Error = Error::ApiMisuse("a lot of at most 2^63 bytes");

/// Sends a lot of `program`, with an instance from each seed, garbled on `threads` threads. The
/// bytes sent do not depend on `threads`. While this thread has something to send, the others
/// garble.
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
    let mut lot = Leaving {
        io,
        size: size as usize,
        left,
        progress: Progress {
            done_ands: 0,
            total_ands: ands * seeds.len() as u64,
        },
        ands,
        frame: Vec::new(),
        filled: 0,
        sent: VecDeque::new(),
    };
    let garble = |seeds: &[InstanceSeed], room: &mut [u8]| {
        InstanceSeed::garble_all(seeds, scheme, program, *delta, room);
    };
    let mut shares = seeds.chunks(together);
    if threads == 1 {
        return shares.try_for_each(|seeds| {
            let mut room = lot.room(seeds.len());
            garble(seeds, &mut room);
            lot.send(room)
        });
    }
    let most = (AHEAD_BYTES / (together * size.max(1) as usize)).clamp(2, 2 * threads);
    lot.send_on_threads(shares, (threads, most), garble)
}

/// A lot that is being sent.
struct Leaving<'i, 'w> {
    io: &'i mut Io<'w>,
    /// The size of an instance in bytes.
    size: usize,
    /// The bytes of the frames that are still to be sent.
    left: u64,
    progress: Progress,
    /// The number of AND gates of an instance.
    ands: u64,
    /// The parts of the next frame, and their bytes.
    frame: Vec<SharedBytes>,
    filled: usize,
    /// Memory that is reused once its content is sent.
    sent: VecDeque<Arc<Vec<u8>>>,
}

impl Leaving<'_, '_> {
    /// Sends the instances of `shares`, of which `most` are garbled ahead on the other threads, and
    /// on this one while it has nothing to send.
    fn send_on_threads<'s>(
        &mut self,
        mut shares: impl Iterator<Item = &'s [InstanceSeed]>,
        (threads, most): (usize, usize),
        garble: impl Fn(&[InstanceSeed], &mut [u8]) + Sync,
    ) -> Result<(), Error> {
        let (jobs, queue) = channel::<(&[InstanceSeed], Vec<u8>, SyncSender<Vec<u8>>)>();
        let queue = Mutex::new(queue);
        let work = |(seeds, mut room, done): (&[_], Vec<u8>, SyncSender<_>)| {
            garble(seeds, &mut room);
            // If the lot has failed, nobody takes it.
            let _ = done.send(room);
        };
        thread::scope(|scope| {
            // Dropped at the end, so that no further job can come.
            let jobs = jobs;
            for _ in 1..threads {
                scope.spawn(|| work_on(&queue, work));
            }
            let mut ahead = VecDeque::new();
            loop {
                while ahead.len() < most
                    && let Some(seeds) = shares.next()
                {
                    let (done, garbled) = sync_channel(1);
                    // The queue lives as long as this function.
                    let _ = jobs.send((seeds, self.room(seeds.len()), done));
                    ahead.push_back(garbled);
                }
                let Some(garbled) = ahead.pop_front() else {
                    return Ok(());
                };
                let job = || queue.try_lock().ok()?.try_recv().ok();
                let mut room = garbled.try_recv();
                while room.is_err()
                    && let Some(job) = job()
                {
                    work(job);
                    room = garbled.try_recv();
                }
                match room.or_else(|_| garbled.recv()) {
                    Ok(room) => self.send(room)?,
                    // A thread has panicked.
                    Err(_) => return Ok(()),
                }
            }
        })
    }

    /// Returns room for this many instances. The thread that first writes to new memory touches its
    /// pages.
    fn room(&mut self, instances: usize) -> Vec<u8> {
        let bytes = instances * self.size;
        let free = self.sent.pop_front_if(|room| Arc::strong_count(room) == 1);
        match free.and_then(Arc::into_inner) {
            Some(mut room) if room.len() >= bytes => {
                room.truncate(bytes);
                room
            }
            _ => vec![0; bytes],
        }
    }

    /// Sends whole instances. A frame that is not full waits for the next instances.
    fn send(&mut self, tables: Vec<u8>) -> Result<(), Error> {
        self.progress.done_ands += (tables.len() / self.size.max(1)) as u64 * self.ands;
        let (tables, mut begin) = (Arc::new(tables), 0);
        while begin < tables.len() {
            let frame = messages::lot_tables(self.left);
            let end = tables.len().min(begin + frame.max_bytes - self.filled);
            self.frame.push((Arc::clone(&tables), begin..end));
            self.filled += end - begin;
            begin = end;
            if self.filled == frame.max_bytes {
                self.io.send_shared(frame, mem::take(&mut self.frame))?;
                self.filled = 0;
                self.left -= frame.max_bytes as u64;
                self.io.progressed(self.progress);
            }
        }
        self.sent.push_back(tables);
        Ok(())
    }
}

/// Receives a lot of `count` instances of `program`. Passes their bytes to `keep` as they arrive,
/// in order and cut anywhere, with a vector in which it may leave memory for others.
///
/// # Errors
///
/// The lot is larger than 2^63 bytes, `keep` fails, the garbler misbehaves, or the wire fails.
pub async fn receive_lot<S: Scheme>(
    io: &mut Io<'_>,
    (scheme, program): (S, &Program),
    count: u64,
    mut keep: impl FnMut(Cow<'_, [u8]>, &mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let size = InstanceTables::size(scheme, program);
    let ands = program.ands().len() as u64;
    let mut left = size.checked_mul(count).ok_or(TOO_LARGE)?;
    let mut spare = Vec::new();
    while left > 0 {
        let expected = messages::lot_tables(left);
        let frame = io.receive_given(expected, &mut spare).await?;
        left -= frame.len() as u64;
        keep(frame, &mut spare)?;
        io.progressed(Progress {
            done_ands: ands * (count - left.div_ceil(size)),
            total_ands: ands * count,
        });
    }
    Ok(())
}
