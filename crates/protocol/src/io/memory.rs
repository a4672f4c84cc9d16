//! Scripts of one process against each other, polled in turn.

use core::cell::RefCell;
use core::mem;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};

use super::{Io, Wire};
use crate::Error;
use crate::message::Kind;
use crate::party::{Action, OnlyPeer, Party, PeerName, admit};

/// A message on its way in memory: the byte of its kind, and its payload.
pub type Sent = (u8, Vec<u8>);

/// What happens to a message on its way. It is called with the number of the sender, the receiver's
/// name and the kind that the message was sent as, and may change the message. Its error is the
/// sender's.
pub type OnItsWay<'w, P> = &'w mut dyn FnMut(usize, P, Kind, &mut Sent) -> Result<(), Error>;

/// The messages between parties, by receiver and sender, and what happens to them on their way.
struct Network<'w, P> {
    queues: Vec<Vec<VecDeque<Sent>>>,
    on_its_way: OnItsWay<'w, P>,
    /// The party that failed first.
    first_failure: Option<usize>,
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
        self.first_failure.get_or_insert(own);
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

impl<'w, P> Network<'w, P> {
    fn new(parties: usize, on_its_way: OnItsWay<'w, P>) -> Self {
        Self {
            queues: vec![vec![VecDeque::new(); parties]; parties],
            on_its_way,
            first_failure: None,
            breaths: vec![0; parties],
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

/// The misuse that ends a party which waits for a message that nobody sends.
pub const STUCK: &str = "the parties wait for each other";

/// How a run of two parties ended.
#[derive(Debug)]
pub struct Ended<A, B> {
    /// What each party has of it.
    pub results: (Result<A, Error>, Result<B, Error>),
    /// The number of the party that failed first, if one did: the other may fail for that.
    pub first_failure: Option<usize>,
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
    let network = RefCell::new(Network::new(2, on_its_way));
    let (mut end_a, mut end_b) = (End::of(&network, 0), End::of(&network, 1));
    let (mut from_a, mut from_b) = (None, None);
    {
        let a = pin!(async { from_a = Some(told(&network, 0, a(&mut Io::new(&mut end_a)).await)) });
        let b = pin!(async { from_b = Some(told(&network, 1, b(&mut Io::new(&mut end_b)).await)) });
        poll_in_turn(&network, &mut [a, b]);
    }
    let (stuck_a, stuck_b) = (Error::ApiMisuse(STUCK), Error::ApiMisuse(STUCK));
    let network = network.borrow();
    Ended {
        results: (
            from_a.unwrap_or(Err(stuck_a)),
            from_b.unwrap_or(Err(stuck_b)),
        ),
        first_failure: network.first_failure,
        breaths: [network.breaths[0], network.breaths[1]],
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

/// Polls scripts in turn, until each has ended or none has moved in a round. Returns the numbers of
/// those that wait.
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

/// Runs parties that are not scripts yet against each other, until each is done, has failed or
/// waits for ever. One that fails tells all others. Returns the number of each that failed and its
/// error, in the order of time, and last those that wait, with [`STUCK`].
pub fn run_through<P: PeerName, const N: usize>(
    parties: [&mut dyn Party<P>; N],
    on_its_way: OnItsWay<'_, P>,
) -> Vec<(usize, Error)> {
    let network = RefCell::new(Network::new(N, on_its_way));
    let failures = RefCell::new(Vec::new());
    let mut own = 0..;
    let mut scripts = parties.map(|party| {
        let own = own.next().unwrap_or(N);
        let (network, failures) = (&network, &failures);
        Box::pin(async move {
            let mut end = End::of(network, own);
            let mut io = Io::new(&mut end);
            let ended = loop {
                match io.drive(party).await {
                    Ok(Action::Keep) => {}
                    ended => break ended,
                }
            };
            if let Err(error) = told(network, own, ended) {
                failures.borrow_mut().push((own, error));
            }
        })
    });
    let polled = scripts.iter_mut().map(|script| script.as_mut() as _);
    let mut polled: Vec<Pin<&mut dyn Future<Output = ()>>> = polled.collect();
    let waiting = poll_in_turn(&network, &mut polled);
    let mut failures = failures.take();
    failures.extend(
        waiting
            .into_iter()
            .map(|own| (own, Error::ApiMisuse(STUCK))),
    );
    failures
}

/// Runs parties against each other in memory, to the end of all, in the order of their numbers.
///
/// # Errors
///
/// The error of the party that failed first, or [`Error::ApiMisuse`] where one waits for ever.
pub fn run_in_memory<P: PeerName, const N: usize>(
    parties: [&mut dyn Party<P>; N],
) -> Result<(), Error> {
    let failures = run_through(parties, &mut |_, _, _, _| Ok(()));
    let first = failures.into_iter().next();
    first.map_or(Ok(()), |(_, error)| Err(error))
}

/// How party number `own` of [`run_through`] ended.
#[cfg(test)]
pub(crate) fn end_of(failures: &mut Vec<(usize, Error)>, own: usize) -> Result<(), Error> {
    let failure = failures.iter().position(|failure| failure.0 == own);
    failure.map_or(Ok(()), |number| Err(failures.remove(number).1))
}
