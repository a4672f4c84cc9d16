//! Scripts of one process against each other, polled in turn.

use core::cell::RefCell;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};

use super::{Io, Wire};
use crate::Error;
use crate::message::Kind;
use crate::party::{OnItsWay, OnlyPeer, PeerName, Sent, admit};

/// The messages between parties, by receiver and sender, and what happens to them on their way.
struct Network<'w, P> {
    queues: Vec<Vec<VecDeque<Sent>>>,
    on_its_way: OnItsWay<'w, P>,
    /// How often each party has breathed.
    breaths: Vec<usize>,
    /// Whether a party has sent, received or worked since the last round.
    moved: bool,
}

impl<P> Network<'_, P> {
    /// Tells the other parties that number `own` has failed, after all that it sent.
    fn abort(&mut self, own: usize, error: &Error) {
        let abort = (Kind::Abort.byte(), vec![error.abort_reason().byte()]);
        for queues in &mut self.queues {
            queues[own].push_back(abort.clone());
        }
        self.moved = true;
    }
}

/// One party's end of a network.
struct End<'n, 'w, P> {
    network: &'n RefCell<Network<'w, P>>,
    own: usize,
    /// The message that was received last.
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
        match network.queues[self.own][from.number(self.own)].is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
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
}

/// The misuse that ends a party which waits for a message that nobody sends.
pub const STUCK: &str = "the parties wait for each other";

/// How a run of two parties ended.
#[derive(Debug)]
pub struct Ended<A, B> {
    /// What each party has of it.
    pub results: (Result<A, Error>, Result<B, Error>),
    /// How often each party called [`Io::breathe`].
    pub breaths: [usize; 2],
}

/// Runs two scripts against each other to the end of both. A party that fails tells the other. One
/// that waits for ever ends with [`STUCK`].
pub fn run_two<A, B>(
    a: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    b: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
    on_its_way: OnItsWay<'_, OnlyPeer>,
) -> Ended<A, B> {
    let network = RefCell::new(Network {
        queues: vec![vec![VecDeque::new(); 2]; 2],
        on_its_way,
        breaths: vec![0; 2],
        moved: true,
    });
    let mut ends = [0, 1].map(|own| End {
        network: &network,
        own,
        received: Vec::new(),
        is_resting: false,
    });
    let [end_a, end_b] = &mut ends;
    let (mut from_a, mut from_b) = (None, None);
    {
        let a = pin!(async { from_a = Some(told(&network, 0, a(&mut Io::new(end_a)).await)) });
        let b = pin!(async { from_b = Some(told(&network, 1, b(&mut Io::new(end_b)).await)) });
        poll_in_turn(&network, &mut [a, b]);
    }
    let (stuck_a, stuck_b) = (Error::ApiMisuse(STUCK), Error::ApiMisuse(STUCK));
    let breaths = &network.borrow().breaths;
    Ended {
        results: (
            from_a.unwrap_or(Err(stuck_a)),
            from_b.unwrap_or(Err(stuck_b)),
        ),
        breaths: [breaths[0], breaths[1]],
    }
}

/// Tells the others of a failure.
fn told<P, T>(
    network: &RefCell<Network<'_, P>>,
    own: usize,
    ended: Result<T, Error>,
) -> Result<T, Error> {
    ended.inspect_err(|error| network.borrow_mut().abort(own, error))
}

/// Polls scripts in turn, until each has ended or none has moved in a round.
fn poll_in_turn<P>(
    network: &RefCell<Network<'_, P>>,
    scripts: &mut [Pin<&mut dyn Future<Output = ()>>],
) {
    let mut context = Context::from_waker(Waker::noop());
    let mut has_ended = vec![false; scripts.len()];
    while core::mem::take(&mut network.borrow_mut().moved) {
        for (script, has_ended) in scripts.iter_mut().zip(&mut has_ended) {
            if !*has_ended {
                *has_ended = script.as_mut().poll(&mut context).is_ready();
            }
        }
    }
}
