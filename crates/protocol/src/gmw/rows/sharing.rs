//! The work of a step, shared out to threads.

use core::num::NonZeroUsize;

use tacit_kernels::share_out;

/// The cost of work that is worth a further thread, in operations on words: some 20 µs, as
/// long as waking the thread takes.
const COST_OF_THREAD: u64 = 1 << 14;

/// The number of pieces that each thread takes.
const PIECES_OF_THREAD: usize = 4;

/// The threads of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threads(NonZeroUsize);

impl Threads {
    pub(super) fn new(threads: NonZeroUsize) -> Self {
        Self(threads)
    }

    /// Returns the number of threads.
    pub(super) fn count(self) -> usize {
        self.0.get()
    }

    /// Returns the number of threads for work of this cost.
    pub(super) fn for_cost(self, cost: u64) -> usize {
        let useful = 1 + usize::try_from(cost / COST_OF_THREAD).unwrap_or(usize::MAX);
        self.count().min(useful)
    }

    /// Calls `work` once for each task, with the room of the thread that does it.
    pub(super) fn share<T: Send, R: Default + Send>(
        self,
        mut tasks: Vec<T>,
        cost: impl Fn(&T) -> u64,
        work: impl Fn(&mut R, &mut T) + Sync,
    ) {
        if self.count() == 1 {
            let mut room = R::default();
            return tasks.iter_mut().for_each(|task| work(&mut room, task));
        }
        let all = tasks.iter().map(&cost).sum();
        let threads = self.for_cost(all);
        let mut rooms: Vec<R> = (0..threads).map(|_| R::default()).collect();
        let of_piece = all / (threads * PIECES_OF_THREAD) as u64;
        let mut pieces = Vec::new();
        let mut left = &mut tasks[..];
        while !left.is_empty() {
            let mut taken = 0;
            let fits = |task: &&T| {
                let fits = taken == 0 || taken < of_piece;
                taken += cost(task);
                fits
            };
            let count = left.iter().take_while(fits).count();
            let (piece, later) = left.split_at_mut(count.max(1));
            pieces.push(piece);
            left = later;
        }
        share_out(&mut rooms, pieces, |room, piece| {
            piece.iter_mut().for_each(|task| work(room, task));
        });
    }
}
