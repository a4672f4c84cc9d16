//! Scripts of several parties in one process, polled in turn.

use core::cell::RefCell;
use core::mem;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};

use super::{Io, Wire};
use crate::Error;
use crate::message::Kind;
use crate::party::{OnlyPeer, Peer, PeerName, Progress, admit};

/// A message in transit in memory: the byte of its kind, and its payload.
pub type Sent = (u8, Vec<u8>);

/// A hook that sees each message in transit and may change it. Its arguments are the sender's
/// number, the receiver's name, the kind that the message was sent as, and the message. Its error
/// becomes the sender's.
pub type OnItsWay<'w, P> = &'w mut dyn FnMut(usize, P, Kind, &mut Sent) -> Result<(), Error>;

/// The messages between parties, by receiver and sender, and the hook for messages in transit.
struct Network<'w, P> {
    queues: Vec<Vec<VecDeque<Sent>>>,
    on_its_way: OnItsWay<'w, P>,
    /// The party that failed first.
    first_failure: Option<usize>,
    /// The number of times that each party has called [`Io::breathe`].
    breaths: Vec<usize>,
    /// The progress of each party.
    progress: Vec<Progress>,
    /// Whether a party has sent, received or worked since the last round.
    moved: bool,
}

impl<P> Network<'_, P> {
    /// Tells the other parties that party number `own` has failed, after everything that it sent.
    fn abort(&mut self, own: usize, error: &Error) {
        let abort = (Kind::Abort.byte(), vec![error.abort_reason().byte()]);
        for queues in &mut self.queues {
            queues[own].push_back(abort.clone());
        }
        self.first_failure.get_or_insert(own);
        self.moved = true;
    }
}

/// One party's end of the network.
struct End<'n, 'w, P> {
    network: &'n RefCell<Network<'w, P>>,
    own: usize,
    /// The last message received.
    received: Vec<u8>,
    is_resting: bool,
}

impl<P: PeerName> Wire<P> for End<'_, '_, P> {
    fn send(&mut self, to: P, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        let network = &mut *self.network.borrow_mut();
        let mut sent = (kind.byte(), payload.to_vec());
        (network.on_its_way)(self.own, to, kind, &mut sent)?;
        network.queues[to.number(self.own)][self.own].push_back(sent);
        network.moved = true;
        Ok(())
    }

    fn poll_message(&mut self, from: P) -> Poll<()> {
        let network = self.network.borrow();
        if network.queues[self.own][from.number(self.own)].is_empty() {
            return Poll::Pending;
        }
        Poll::Ready(())
    }

    fn receive(&mut self, from: P, kind: Kind, max_bytes: usize) -> Result<&[u8], Error> {
        let network = &mut *self.network.borrow_mut();
        let queue = &mut network.queues[self.own][from.number(self.own)];
        let none = Error::ApiMisuse("no message has come");
        let (found, payload) = queue.pop_front().ok_or(none)?;
        network.moved = true;
        self.received = payload;
        admit(kind, max_bytes, found, &self.received)?;
        Ok(&self.received)
    }

    fn poll_breathe(&mut self) -> Poll<Result<(), Error>> {
        self.is_resting = !self.is_resting;
        if !self.is_resting {
            return Poll::Ready(Ok(()));
        }
        let network = &mut *self.network.borrow_mut();
        network.breaths[self.own] += 1;
        network.moved = true;
        Poll::Pending
    }

    fn progressed(&mut self, progress: Progress) {
        self.network.borrow_mut().progress[self.own] = progress;
    }
}

impl<'w, P> Network<'w, P> {
    fn new(parties: usize, on_its_way: OnItsWay<'w, P>) -> Self {
        Self {
            queues: vec![vec![VecDeque::new(); parties]; parties],
            on_its_way,
            first_failure: None,
            breaths: vec![0; parties],
            progress: vec![Progress::default(); parties],
            moved: true,
        }
    }
}

impl<'n, 'w, P> End<'n, 'w, P> {
    fn of(network: &'n RefCell<Network<'w, P>>, own: usize) -> Self {
        Self {
            network,
            own,
            received: Vec::new(),
            is_resting: false,
        }
    }
}

/// The error text for a party that waits for a message that nobody sends.
pub const STUCK: &str = "the parties wait for each other";
const WAITS: Error = Error::ApiMisuse(STUCK);

/// The end of a run of two parties.
#[derive(Debug)]
pub struct Ended<A, B> {
    /// Each party's result.
    pub results: (Result<A, Error>, Result<B, Error>),
    /// The number of the party that failed first, if any. The other may fail as a consequence.
    pub first_failure: Option<usize>,
    /// The number of times that each party called [`Io::breathe`].
    pub breaths: [usize; 2],
    /// The last progress that each party reported.
    pub progress: [Progress; 2],
}

/// Runs two scripts against each other to the end of both. A party that fails tells the other. A
/// party that would wait for ever ends with [`STUCK`].
pub fn run_two<A, B>(
    a: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    b: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
    on_its_way: OnItsWay<'_, OnlyPeer>,
) -> Ended<A, B> {
    let network = RefCell::new(Network::new(2, on_its_way));
    let mut results = (Err(WAITS), Err(WAITS));
    {
        let a = pin!(async { results.0 = end_of_script(&network, 0, a).await });
        let b = pin!(async { results.1 = end_of_script(&network, 1, b).await });
        poll_in_turn(&network, &mut [a, b]);
    }
    let network = network.borrow();
    Ended {
        results,
        first_failure: network.first_failure,
        breaths: [network.breaths[0], network.breaths[1]],
        progress: [network.progress[0], network.progress[1]],
    }
}

impl<A, B> Ended<A, B> {
    /// Returns both parties' results.
    ///
    /// # Errors
    ///
    /// The error of the party that failed first, or [`STUCK`].
    pub fn both(self) -> Result<(A, B), Error> {
        let (a, b) = self.results;
        match (self.first_failure, b) {
            (Some(1), Err(error)) => Err(error),
            (_, b) => Ok((a?, b?)),
        }
    }
}

/// Runs two scripts against each other to the end of both.
///
/// # Errors
///
/// Those of [`Ended::both`].
pub fn run_both<A, B>(
    a: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    b: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
) -> Result<(A, B), Error> {
    run_two(a, b, &mut |_, _, _, _| Ok(())).both()
}

/// The end of a run of three parties: each party's result.
pub type ThreeEnded<A, B, C> = (Result<A, Error>, Result<B, Error>, Result<C, Error>);

/// Runs the scripts of a generator, an evaluator and a cloud against each other, as [`run_two`]
/// does for two.
pub fn run_three<A, B, C>(
    generator: impl AsyncFnOnce(&mut Io<'_, Peer>) -> Result<A, Error>,
    evaluator: impl AsyncFnOnce(&mut Io<'_, Peer>) -> Result<B, Error>,
    cloud: impl AsyncFnOnce(&mut Io<'_, Peer>) -> Result<C, Error>,
    on_its_way: OnItsWay<'_, Peer>,
) -> ThreeEnded<A, B, C> {
    let network = RefCell::new(Network::new(3, on_its_way));
    let mut results = (Err(WAITS), Err(WAITS), Err(WAITS));
    {
        let generator = pin!(async { results.0 = end_of_script(&network, 0, generator).await });
        let evaluator = pin!(async { results.1 = end_of_script(&network, 1, evaluator).await });
        let cloud = pin!(async { results.2 = end_of_script(&network, 2, cloud).await });
        poll_in_turn(&network, &mut [generator, evaluator, cloud]);
    }
    results
}

/// Runs party number `own` to its end, and tells the others if it fails.
async fn end_of_script<P: PeerName, T>(
    network: &RefCell<Network<'_, P>>,
    own: usize,
    script: impl AsyncFnOnce(&mut Io<'_, P>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut end = End::of(network, own);
    let ended = script(&mut Io::new(&mut end)).await;
    ended.inspect_err(|error| network.borrow_mut().abort(own, error))
}

/// Polls scripts in turn until each has ended or a whole round moves none. Returns the numbers of
/// those that still wait.
fn poll_in_turn<P>(
    network: &RefCell<Network<'_, P>>,
    scripts: &mut [Pin<&mut dyn Future<Output = ()>>],
) -> Vec<usize> {
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting: Vec<usize> = (0..scripts.len()).collect();
    while mem::take(&mut network.borrow_mut().moved) {
        waiting.retain(|own| scripts[*own].as_mut().poll(&mut context).is_pending());
    }
    waiting
}
