//! The writing of a lot's tables: by the thread that receives them, or by others meanwhile.

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tacit_protocol::Error as ProtocolError;
use tacit_stock::StockError;

use super::failure::StockFailure;
use crate::Error;

/// The least bytes of tables that are handed to another thread at once, except for the last ones.
const TOGETHER_BYTES: usize = 256 << 10;

/// A function that keeps an instance's tables. The instances come in order.
type Keep<'k> = &'k mut dyn FnMut(&[u8]) -> Result<(), ProtocolError>;

/// A function that writes consecutive instances of a lot, given the first one's number.
type Put<'p> = &'p (dyn Fn(u64, &[u8]) -> Result<(), StockError> + Sync);

/// Calls `receive` with a function that keeps instances, which `put` writes, starting at number
/// `first`, on this many threads. One thread keeps each instance as it arrives. With more threads,
/// one receives, and the others seal and write. Each of these holds at most two pieces, of
/// [`TOGETHER_BYTES`] and one instance.
///
/// # Errors
///
/// The error of `receive`. An error of the stock is stored in `failure`.
pub(super) fn keep_on_threads<T>(
    first: u64,
    put: Put<'_>,
    threads: usize,
    failure: &StockFailure,
    receive: impl FnOnce(Keep<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    if threads == 1 {
        let mut next = first;
        return receive(&mut |tables| {
            let kept = put(next, tables);
            next += 1;
            kept.map_err(|error| failure.note(error))
        });
    }
    let failed = Mutex::new(None);
    let taken_failure = || failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    let (pieces, queue) = sync_channel(threads);
    let queue = Mutex::new(queue);
    let write = || {
        while let Some(piece) = next(&queue) {
            if let Err(error) = put(piece.first, &piece.tables) {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(error);
            }
        }
    };
    let write = &write;
    let received = thread::scope(|scope| {
        // Dropped at the end, so that the threads see that no piece follows.
        let pieces = pieces;
        for _ in 1..threads {
            scope.spawn(write);
        }
        let mut piece = Piece::at(first);
        let hand_over = |piece: &mut Piece| {
            let next = Piece::at(piece.first + piece.count);
            // The threads take pieces until there are no more.
            let _ = pieces.send(std::mem::replace(piece, next));
        };
        let received = receive(&mut |tables| {
            if let Some(error) = taken_failure() {
                return Err(failure.note(error));
            }
            piece.tables.extend_from_slice(tables);
            piece.count += 1;
            if piece.tables.len() >= TOGETHER_BYTES {
                hand_over(&mut piece);
            }
            Ok(())
        });
        if piece.count > 0 {
            hand_over(&mut piece);
        }
        received
    });
    match taken_failure() {
        Some(error) => Err(failure.note(error).into()),
        None => received,
    }
}

/// Consecutive instances of a lot.
struct Piece {
    first: u64,
    count: u64,
    tables: Vec<u8>,
}

impl Piece {
    fn at(first: u64) -> Self {
        Self {
            first,
            count: 0,
            tables: Vec::new(),
        }
    }
}

/// Waits for the next piece. Returns `None` after the last.
fn next(queue: &Mutex<Receiver<Piece>>) -> Option<Piece> {
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
        let put = |first: u64, tables: &[u8]| {
            for (number, tables) in (first..).zip(tables.chunks(bytes)) {
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
        let received = keep_on_threads(100, &put, threads, &failure, |keep| {
            let mut instances = instances.iter();
            Ok(instances.try_for_each(|instance| keep(instance))?)
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
