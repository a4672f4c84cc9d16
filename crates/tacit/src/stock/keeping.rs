//! The writing of lots: by the thread that receives or makes them, or by others meanwhile.
//!
//! The tables of several lots of a kind come in one stream, in which the lots take turns: a system
//! lets one thread at a time write into a file, so each lot's file has its own.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tacit_protocol::Error as ProtocolError;
use tacit_protocol::io::SharedBytes;
use tacit_stock::{Span, StockError};
use zeroize::Zeroizing;

use super::failure::StockFailure;
use crate::Error;

/// The approximate bytes of tables that are handed to another thread at once.
const TOGETHER_BYTES: usize = 256 << 10;

/// A function that keeps the next bytes of the tables, which come in order. It may leave memory
/// for later ones.
type KeepTables<'k> = &'k mut dyn FnMut(Cow<'_, [u8]>, &mut Vec<u8>) -> Result<(), ProtocolError>;

/// A function that keeps instances. It takes the index of a part, the number of the first instance,
/// and this party's bytes of the instances.
pub(super) type KeepInstances<'k> =
    dyn Fn(usize, u64, &[u8]) -> Result<(), ProtocolError> + Sync + 'k;

/// A function that writes the tables of a turn.
type WriteTables<'p> = &'p (dyn Fn(Turn, &[u8]) -> Result<(), StockError> + Sync);

/// Instances of one lot that follow each other in the stream of several lots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// The place of the lot among the lots.
    pub(super) lot: usize,
    pub(super) span: Span,
}

/// Returns the turns of lots with these instances, of `size` bytes each. Both parties compute the
/// same.
pub(super) fn turns(lots: &[Span], size: usize) -> impl Iterator<Item = Turn> {
    let most = TOGETHER_BYTES.div_ceil(size) as u64;
    let longest = lots.iter().map(|lot| lot.count).max().unwrap_or(0);
    let begins = (0..longest).step_by(most as usize);
    begins.flat_map(move |begin| {
        let left = lots.iter().map(move |lot| lot.count.saturating_sub(begin));
        let spans = lots.iter().zip(left).enumerate();
        let spans = spans.filter(|(_, (_, left))| *left > 0);
        spans.map(move |(place, (lot, left))| Turn {
            lot: place,
            span: Span {
                first: lot.first + begin,
                count: left.min(most),
            },
        })
    })
}

/// Calls `receive` with a function that keeps the tables of `turns`, instances of `size` bytes, on
/// this many threads. One thread calls `put` with each turn as it arrives. With more threads, one
/// receives, and the others seal and write. Each of these has at most two turns.
pub(super) fn keep_on_threads<T>(
    turns: impl Iterator<Item = Turn>,
    size: usize,
    put: WriteTables<'_>,
    (threads, failure): (usize, &StockFailure),
    receive: impl FnOnce(KeepTables<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut arriving = Arriving {
        turns,
        size,
        piece: None,
    };
    if threads == 1 {
        let memory = Cell::new(Vec::new());
        return receive(&mut |tables, spare| {
            arriving.add(tables, &mut || memory.take(), |piece| {
                let turn = piece.turn;
                let tables = piece.whole(|frame| *spare = frame);
                let kept = put(turn, &tables);
                memory.set(tables);
                kept.map_err(|error| failure.note(error))
            })
        });
    }
    let failed = Mutex::new(None);
    let taken_failure = || failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (pieces, queue) = sync_channel::<Piece>(threads);
    let queue = Mutex::new(queue);
    let ((written, spare), (joined, frames)) = (channel(), channel());
    let write = |written: Sender<Vec<u8>>, joined: Sender<Vec<u8>>| {
        while let Some(piece) = next(&queue) {
            let turn = piece.turn;
            // At the end nobody takes what is sent here.
            let tables = piece.whole(|frame| drop(joined.send(frame)));
            if let Err(error) = put(turn, &tables) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
            }
            let _ = written.send(tables);
        }
    };
    let write = &write;
    let received = thread::scope(|scope| {
        // Dropped at the end, so that the threads see that no piece follows.
        let pieces = pieces;
        for _ in 1..threads {
            let (written, joined) = (written.clone(), joined.clone());
            scope.spawn(move || write(written, joined));
        }
        receive(&mut |tables, free| {
            if let Some(error) = taken_failure() {
                return Err(failure.note(error));
            }
            if free.capacity() == 0 {
                *free = frames.try_recv().unwrap_or_default();
            }
            let mut memory = || spare.try_recv().unwrap_or_default();
            arriving.add(tables, &mut memory, |piece| {
                // The threads take pieces until there are no more.
                let _ = pieces.send(piece);
                Ok(())
            })
        })
    });
    match taken_failure() {
        Some(error) => Err(failure.note(error).into()),
        None => received,
    }
}

/// The tables of turns as they arrive.
struct Arriving<I> {
    turns: I,
    /// The bytes of an instance.
    size: usize,
    /// The turn that arrives.
    piece: Option<Piece>,
}

/// A turn, and the part of its tables that has arrived.
struct Piece {
    turn: Turn,
    /// The first tables.
    tables: Vec<u8>,
    /// The tables after these, in the frames in which they came.
    others: Vec<SharedBytes>,
    /// The number of bytes that have not arrived.
    missing: usize,
}

impl Piece {
    fn new(turn: Turn, bytes: usize, mut memory: Vec<u8>) -> Self {
        memory.clear();
        memory.reserve_exact(bytes);
        Self {
            turn,
            tables: memory,
            others: Vec::new(),
            missing: bytes,
        }
    }

    /// Returns the tables in one piece. Calls `free` with each frame that has no others.
    fn whole(self, mut free: impl FnMut(Vec<u8>)) -> Vec<u8> {
        let mut tables = self.tables;
        for (frame, range) in self.others {
            tables.extend_from_slice(&frame[range]);
            Arc::into_inner(frame).map(&mut free);
        }
        tables
    }
}

impl<I: Iterator<Item = Turn>> Arriving<I> {
    /// Adds the next bytes, and calls `whole` with each turn that they complete. Copies them to
    /// memory from `memory`, unless the frame is this party's.
    fn add(
        &mut self,
        tables: Cow<'_, [u8]>,
        memory: &mut dyn FnMut() -> Vec<u8>,
        mut whole: impl FnMut(Piece) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        let (lent, given);
        let (all, frame) = match tables {
            Cow::Borrowed(bytes) => {
                lent = bytes;
                (lent, None)
            }
            Cow::Owned(bytes) => {
                given = Arc::new(bytes);
                (&given[..], Some(&given))
            }
        };
        let mut begin = 0;
        while begin < all.len() {
            let turns = &mut self.turns;
            let mut next = || {
                let turn = turns.next()?;
                let bytes = turn.span.count as usize * self.size;
                Some(Piece::new(turn, bytes, memory()))
            };
            let Some(mut piece) = self.piece.take().or_else(&mut next) else {
                return Err(ProtocolError::ApiMisuse("tables after the last turn"));
            };
            let range = begin..all.len().min(begin + piece.missing);
            piece.missing -= range.len();
            begin = range.end;
            match frame {
                Some(frame) => piece.others.push((Arc::clone(frame), range)),
                None if piece.others.is_empty() => piece.tables.extend_from_slice(&all[range]),
                None => {
                    let these = all[range].to_vec();
                    let range = 0..these.len();
                    piece.others.push((Arc::new(these), range));
                }
            }
            if piece.missing == 0 {
                whole(piece)?;
            } else {
                self.piece = Some(piece);
            }
        }
        Ok(())
    }
}

/// Calls `make` with a function that leaves instances to other threads, which call `put`. At most
/// `most` calls wait for a thread.
pub(super) fn put_meanwhile(
    (threads, most): (usize, usize),
    put: &KeepInstances<'_>,
    make: impl FnOnce(&KeepInstances<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    type Memory = Zeroizing<Vec<u8>>;
    let (pieces, queue) = sync_channel::<(usize, u64, Memory)>(most);
    let (queue, spare) = (Mutex::new(queue), Mutex::new(Vec::<Memory>::new()));
    let spare = || spare.lock().unwrap_or_else(PoisonError::into_inner);
    let failed = AtomicBool::new(false);
    let work = || {
        while let Some((place, first, mut instances)) = next(&queue) {
            if put(place, first, &instances).is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            instances.clear();
            spare().push(instances);
        }
        // Wipe it here, while the others still write.
        while let Some(memory) = { spare().pop() } {
            drop(memory);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
        // Dropped at the end, so that the threads see that nothing follows.
        let pieces = pieces;
        make(&|place, first, instances| {
            if failed.load(Ordering::Relaxed) {
                // What failed is noted.
                return Err(ProtocolError::Material(String::new()));
            }
            let mut memory = { spare().pop() }.unwrap_or_default();
            if memory.capacity() < instances.len() {
                memory = Zeroizing::new(Vec::with_capacity(instances.len()));
            }
            memory.extend_from_slice(instances);
            // The threads take pieces until there are no more.
            let _ = pieces.send((place, first, memory));
            Ok(())
        })
    })
}

/// Waits for the next piece. Returns `None` after the last.
fn next<P>(queue: &Mutex<Receiver<P>>) -> Option<P> {
    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    queue.recv().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Keeps these instances on `threads` threads. Returns the kept instances by number, and the
    /// result. The instance `broken` fails.
    fn keep(
        instances: &[Vec<u8>],
        threads: usize,
        broken: Option<u64>,
    ) -> (BTreeMap<u64, Vec<u8>>, Result<(), Error>) {
        let kept = Mutex::new(BTreeMap::new());
        let failure = StockFailure::default();
        let bytes = instances[0].len();
        let put = |turn: Turn, tables: &[u8]| {
            for (number, tables) in (turn.span.first..).zip(tables.chunks(bytes)) {
                if Some(number) == broken {
                    return Err(StockError::Io {
                        file: "lot".into(),
                        doing: "write it",
                        reason: std::io::ErrorKind::StorageFull.into(),
                    });
                }
                let before = kept.lock().unwrap().insert(number, tables.to_vec());
                assert_eq!(before, None);
            }
            Ok(())
        };
        let span = Span {
            first: 100,
            count: instances.len() as u64,
        };
        let how = (threads, &failure);
        let received = keep_on_threads(turns(&[span], bytes), bytes, &put, how, |keep| {
            // As in frames: cut anywhere.
            let frames = instances.concat();
            let mut frames = frames.chunks(1500).enumerate();
            Ok(frames.try_for_each(|(number, frame)| {
                let is_given = (number / 7).is_multiple_of(2);
                let frame = if is_given {
                    Cow::Owned(frame.to_vec())
                } else {
                    Cow::Borrowed(frame)
                };
                keep(frame, &mut Vec::new())
            })?)
        });
        (kept.into_inner().unwrap(), failure.or(received))
    }

    #[test]
    fn every_instance_is_kept_under_its_number() {
        for bytes in [1, 1000, TOGETHER_BYTES + 1] {
            let instances: Vec<_> = (0..50).map(|number| vec![number; bytes]).collect();
            for threads in [1, 2, 5] {
                let (kept, ended) = keep(&instances, threads, None);
                ended.expect("nothing fails");
                let expected: BTreeMap<_, _> = (100..).zip(instances.iter().cloned()).collect();
                assert!(kept == expected, "{bytes} bytes, {threads} threads");
            }
        }
    }

    #[test]
    fn lots_take_turns_until_each_is_whole() {
        let span = |first, count| Span { first, count };
        let lots = [span(7, 5), span(40, 2), span(0, 3)];
        // Two instances a turn.
        let turns = turns(&lots, TOGETHER_BYTES / 2);
        let turns: Vec<_> = turns.map(|turn| (turn.lot, turn.span)).collect();
        let expected = [
            (0, span(7, 2)),
            (1, span(40, 2)),
            (2, span(0, 2)),
            (0, span(9, 2)),
            (2, span(2, 1)),
            (0, span(11, 1)),
        ];
        assert_eq!(turns, expected);
    }

    #[test]
    fn what_is_left_to_others_is_written_and_a_failure_ends_it() {
        let written = Mutex::new(BTreeMap::new());
        let put = |place, first, bytes: &[u8]| {
            let mut written = written.lock().unwrap();
            assert_eq!(written.insert((place, first), bytes.to_vec()), None);
            Ok(())
        };
        let make = |keep: &KeepInstances<'_>| {
            let each = |number: u64| keep(number as usize % 3, number, &vec![7; number as usize]);
            Ok((0..200).try_for_each(each)?)
        };
        put_meanwhile((3, 2), &put, make).expect("nothing fails");
        let written = written.into_inner().unwrap();
        let bytes = |number: u64| vec![7; number as usize];
        let expected = (0..200).map(|number| ((number as usize % 3, number), bytes(number)));
        assert!(written == expected.collect());

        let full = |_, _, _: &[u8]| Err(ProtocolError::Material("full".to_owned()));
        let ended = put_meanwhile((2, 1), &full, |keep| {
            Ok((0..1_000_000).try_for_each(|number| keep(0, number, &[1]))?)
        });
        assert!(ended.is_err());
    }

    #[test]
    fn an_instance_that_is_not_kept_ends_the_lot() {
        let instances: Vec<_> = (0..50).map(|number| vec![number; TOGETHER_BYTES]).collect();
        for (threads, broken) in [(1, 107), (3, 107), (3, 149)] {
            let (_, ended) = keep(&instances, threads, Some(broken));
            let told = matches!(&ended, Err(Error::Stock(error))
                if matches!(**error, StockError::Io { .. } | StockError::DiskFull { .. }));
            assert!(told, "{threads} threads, {broken}: {ended:?}");
        }
    }
}
