//! The meeting of the links of runs of three, and the turns at a chain of kept values.
//!
//! A server has the links of many runs at once. The cloud's link **waits** at the generator under
//! its fingerprint and its run's ticket until the thread that has the evaluator's link **claims**
//! it, runs, and gives it back. Runs of one chain take **turns**, since one run at a time uses a
//! chain. Turns come in the order of arrival, except that a client without a turn in the queue goes
//! before another client's second turn. So the others wait only once for a client that stalls,
//! however often it comes.
//!
//! Every wait has an end, and all end when the service stops.

use std::collections::{HashMap, VecDeque};
use std::ops::DerefMut;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tacit::Fingerprint;
use tacit::outsourced::RunTicket;

/// The number of turns that a client may have at one chain: one that ends, and one that waits.
const MAX_TURNS: usize = 2;

/// A chain: the other server and the chain's name.
pub(crate) type ChainKey = (Fingerprint, String);

/// The owner of a link and its run. A generator with several clouds does not use another cloud's
/// link for a run.
pub(crate) type LinkKey = (Fingerprint, RunTicket);

/// Waiting links of type `L`, and turns.
pub(crate) struct Lobby<L> {
    state: Mutex<LobbyState<L>>,
    changed: Condvar,
}

struct LobbyState<L> {
    places: HashMap<LinkKey, LentLink<L>>,
    turns: HashMap<ChainKey, VecDeque<(u64, Fingerprint)>>,
    next: u64,
    stopped: bool,
}

/// A lent link, while the lending thread waits.
enum LentLink<L> {
    Waiting(L),
    Claimed,
    Back(Option<L>),
}

/// The outcome of lending a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lent<L> {
    /// Its run is over, and the link is usable.
    Back(L),
    /// Its run failed.
    Spent,
    /// No run claimed it.
    Unclaimed(L),
}

/// A claimed link. Dropping it means that the link is spent, unless it is given back.
pub(crate) struct Loan<'a, L> {
    lobby: &'a Lobby<L>,
    key: LinkKey,
    link: Option<L>,
}

/// The right to use a chain, given up on drop.
pub(crate) struct Turn<'a, L> {
    lobby: &'a Lobby<L>,
    chain: ChainKey,
    number: u64,
}

/// The reason why there is no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTurn {
    /// The client has as many runs of the chain as it may.
    TooMany,
    /// Its turn did not come in time.
    Late,
}

impl<L> Default for Lobby<L> {
    fn default() -> Self {
        Self {
            state: Mutex::new(LobbyState {
                places: HashMap::new(),
                turns: HashMap::new(),
                next: 0,
                stopped: false,
            }),
            changed: Condvar::new(),
        }
    }
}

impl<L> Lobby<L> {
    /// Ends all waits, present and future.
    pub(crate) fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, LobbyState<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `found` finds something. The wait ends at `end`, if there is one, and when the
    /// service stops.
    fn wait<T>(
        &self,
        end: Option<Instant>,
        mut found: impl FnMut(&mut LobbyState<L>) -> Option<T>,
    ) -> Option<T> {
        let mut state = self.state();
        loop {
            if let Some(found) = found(&mut state) {
                return Some(found);
            }
            let Some(end) = end else {
                let waited = self.changed.wait(state);
                state = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || state.stopped {
                return None;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Lends `link` to the run of `key`. Waits at most `within` for the run's evaluator, and then
    /// for the end of the run.
    pub(crate) fn lend(&self, key: LinkKey, link: L, within: Duration) -> Lent<L> {
        let mut state = self.state();
        if state.stopped || state.places.contains_key(&key) {
            return Lent::Unclaimed(link);
        }
        state.places.insert(key, LentLink::Waiting(link));
        drop(state);
        self.changed.notify_all();
        let is_claimed = |state: &mut LobbyState<L>| match state.places.get(&key) {
            Some(LentLink::Waiting(_)) => None,
            _ => Some(()),
        };
        if self
            .wait(Some(Instant::now() + within), is_claimed)
            .is_none()
            && let Some(LentLink::Waiting(link)) = self.take_unclaimed(&key)
        {
            return Lent::Unclaimed(link);
        }
        // The run that claimed the link gives it back or drops it when it ends; its time is
        // bounded.
        let back = self.wait(None, |state| match state.places.remove(&key) {
            Some(LentLink::Back(link)) => Some(link),
            Some(other) => {
                state.places.insert(key, other);
                None
            }
            None => Some(None),
        });
        match back.flatten() {
            Some(link) => Lent::Back(link),
            None => Lent::Spent,
        }
    }

    /// Takes the link under `key`, if it is still unclaimed.
    fn take_unclaimed(&self, key: &LinkKey) -> Option<LentLink<L>> {
        let mut state = self.state();
        match state.places.get(key) {
            Some(LentLink::Waiting(_)) => state.places.remove(key),
            _ => None,
        }
    }

    /// Claims the link that was lent to the run of `key`; waits for it for at most `within`.
    pub(crate) fn claim(&self, key: LinkKey, within: Duration) -> Option<Loan<'_, L>> {
        let end = Instant::now() + within;
        let link = self.wait(Some(end), |state| {
            let place = state.places.get_mut(&key)?;
            match std::mem::replace(place, LentLink::Claimed) {
                LentLink::Waiting(link) => Some(link),
                other => {
                    *place = other;
                    None
                }
            }
        })?;
        self.changed.notify_all();
        let (lobby, link) = (self, Some(link));
        Some(Loan { lobby, key, link })
    }

    /// Waits for the next free turn of `client` at `chain`, for at most `within`. Calls `waits`
    /// with the number of earlier turns: at first, if there are any, and whenever it falls.
    pub(crate) fn turn(
        &self,
        chain: ChainKey,
        client: Fingerprint,
        within: Duration,
        waits: &mut dyn FnMut(usize),
    ) -> Result<Turn<'_, L>, NoTurn> {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let queue = state.turns.entry(chain.clone()).or_default();
        let place = match queue.iter().filter(|turn| turn.1 == client).count() {
            0 => first_second(queue),
            MAX_TURNS.. => return Err(NoTurn::TooMany),
            _ => queue.len(),
        };
        queue.insert(place, (number, client));
        drop(state);
        let lobby = self;
        // Dropping the turn removes it from the queue, whether it came or not.
        let turn = Turn {
            lobby,
            chain,
            number,
        };
        let end = Instant::now() + within;
        let mut last = usize::MAX;
        loop {
            let came_closer = |state: &mut LobbyState<L>| {
                let mut queue = state.turns.get(&turn.chain)?.iter();
                let before = queue.position(|waiting| waiting.0 == number)?;
                (before < last).then_some(before)
            };
            last = self.wait(Some(end), came_closer).ok_or(NoTurn::Late)?;
            if last == 0 {
                return Ok(turn);
            }
            waits(last);
        }
    }
}

/// Returns the place of the first turn whose client has another turn before it; the end if there is
/// none.
fn first_second(queue: &VecDeque<(u64, Fingerprint)>) -> usize {
    let is_second = |place: &usize| {
        let mut before = queue.range(..*place);
        before.any(|turn| turn.1 == queue[*place].1)
    };
    (0..queue.len()).find(is_second).unwrap_or(queue.len())
}

impl<L> Loan<'_, L> {
    /// Returns the link.
    pub(crate) fn link(&mut self) -> Option<&mut L> {
        self.link.as_mut()
    }

    /// Takes the link for good; the lender learns that it is spent.
    pub(crate) fn keep(mut self) -> Option<L> {
        self.link.take()
    }

    /// Gives the link back in a usable state.
    pub(crate) fn give_back(mut self) {
        let link = self.link.take();
        self.end(link);
    }

    fn end(&self, link: Option<L>) {
        let mut state = self.lobby.state();
        if let Some(place) = state.places.get_mut(&self.key)
            && let LentLink::Claimed = place
        {
            *place = LentLink::Back(link);
        }
        drop(state);
        self.lobby.changed.notify_all();
    }
}

impl<L> Drop for Loan<'_, L> {
    fn drop(&mut self) {
        // After `give_back` the place is no longer claimed.
        self.link = None;
        self.end(None);
    }
}

impl<L> Drop for Turn<'_, L> {
    fn drop(&mut self) {
        let mut state = self.lobby.state();
        let state = state.deref_mut();
        if let Some(queue) = state.turns.get_mut(&self.chain) {
            queue.retain(|turn| turn.0 != self.number);
            if queue.is_empty() {
                state.turns.remove(&self.chain);
            }
        }
        self.lobby.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use tacit::outsourced::OutsourcedRole;

    /// Far longer than any wait in these tests.
    const LONG: Duration = Duration::from_secs(60);

    fn key(number: u8) -> LinkKey {
        let ticket = RunTicket {
            number: [number; 16],
            evaluator: [7; 32],
            to: OutsourcedRole::Generator,
        };
        (Fingerprint([9; 32]), ticket)
    }

    fn chain() -> ChainKey {
        (Fingerprint([1; 32]), "friends".to_owned())
    }

    #[test]
    fn a_link_meets_its_own_run_and_comes_back() {
        let lobby = Lobby::<&str>::default();
        thread::scope(|scope| {
            let lent = [1, 2, 3].map(|number| {
                let (lobby, link) = (&lobby, ["one", "two", "three"][usize::from(number) - 1]);
                scope.spawn(move || lobby.lend(key(number), link, LONG))
            });
            let mut loan = lobby.claim(key(2), LONG).expect("the second");
            assert_eq!(loan.link(), Some(&mut "two"));
            loan.give_back();
            drop(lobby.claim(key(1), LONG).expect("the first"));
            let kept = lobby.claim(key(3), LONG).expect("the third").keep();
            assert_eq!(kept, Some("three"));
            let ends = lent.map(|lent| lent.join().expect("no panic"));
            assert_eq!(ends, [Lent::Spent, Lent::Back("two"), Lent::Spent]);
        });
        assert!(lobby.state().places.is_empty());
    }

    #[test]
    fn the_link_of_another_cloud_is_not_taken_for_a_run() {
        let lobby = Lobby::<&str>::default();
        let (cloud, ticket) = key(1);
        let other = Fingerprint([8; 32]);
        thread::scope(|scope| {
            let lent = [(other, "other"), (cloud, "own")].map(|(from, link)| {
                let before = lobby.state().places.len();
                let lent = {
                    let lobby = &lobby;
                    scope.spawn(move || lobby.lend((from, ticket), link, LONG))
                };
                // The other cloud's link is there first.
                while lobby.state().places.len() == before && !lent.is_finished() {
                    thread::yield_now();
                }
                lent
            });
            let mut loan = lobby.claim((cloud, ticket), LONG).expect("its own");
            assert_eq!(loan.link(), Some(&mut "own"));
            drop(loan);
            lobby.stop();
            let ends = lent.map(|lent| lent.join().expect("no panic"));
            assert_eq!(ends, [Lent::Unclaimed("other"), Lent::Spent]);
        });
    }

    #[test]
    fn waits_end() {
        let lobby = Lobby::<&str>::default();
        let none = Duration::ZERO;
        assert_eq!(lobby.lend(key(1), "one", none), Lent::Unclaimed("one"));
        assert!(lobby.claim(key(1), none).is_none());
        thread::scope(|scope| {
            let lent = scope.spawn(|| lobby.lend(key(1), "one", LONG));
            let claimed = scope.spawn(|| lobby.claim(key(2), LONG).is_some());
            let turn = lobby.turn(chain(), Fingerprint([2; 32]), LONG, &mut |_| ());
            let waiting = scope.spawn(|| {
                let turn = lobby.turn(chain(), Fingerprint([3; 32]), LONG, &mut |_| ());
                turn.map(drop)
            });
            lobby.stop();
            assert_eq!(lent.join().expect("no panic"), Lent::Unclaimed("one"));
            assert!(!claimed.join().expect("no panic"));
            assert_eq!(waiting.join().expect("no panic"), Err(NoTurn::Late));
            assert!(turn.is_ok());
        });
        let state = lobby.state();
        assert!(state.places.is_empty() && state.turns.is_empty());
    }

    #[test]
    fn turns_come_in_order_and_one_client_has_not_all() {
        let lobby = Lobby::<()>::default();
        let [one, other] = [2, 3].map(|client| Fingerprint([client; 32]));
        let first = lobby.turn(chain(), one, LONG, &mut |_| ());
        let elsewhere = (Fingerprint([1; 32]), "others".to_owned());
        assert!(lobby.turn(elsewhere, one, LONG, &mut |_| ()).is_ok());
        thread::scope(|scope| {
            let second = scope.spawn(|| lobby.turn(chain(), one, LONG, &mut |_| ()).map(drop));
            let queued = |count: usize| {
                while lobby.state().turns[&chain()].len() < count {
                    thread::yield_now();
                }
            };
            queued(2);
            let crowded = lobby.turn(chain(), one, LONG, &mut |_| ()).map(drop);
            assert_eq!(crowded, Err(NoTurn::TooMany));
            let late = lobby
                .turn(chain(), other, Duration::ZERO, &mut |_| ())
                .map(drop);
            assert_eq!(late, Err(NoTurn::Late));
            assert!(!second.is_finished());
            drop(first);
            assert_eq!(second.join().expect("no panic"), Ok(()));
        });
        assert!(lobby.turn(chain(), other, LONG, &mut |_| ()).is_ok());
    }

    #[test]
    fn who_has_no_turn_goes_before_the_second_of_who_has_one() {
        let lobby = Lobby::<()>::default();
        let [one, two, three] = [2, 3, 4].map(|client| Fingerprint([client; 32]));
        let first = lobby.turn(chain(), one, LONG, &mut |_| ());
        let clients = || {
            let state = lobby.state();
            let queue = state.turns.get(&chain()).into_iter().flatten();
            queue.map(|turn| turn.1).collect::<Vec<_>>()
        };
        thread::scope(|scope| {
            for (count, client) in (2..).zip([one, two, three, two]) {
                let lobby = &lobby;
                scope.spawn(move || lobby.turn(chain(), client, LONG, &mut |_| ()).map(drop));
                let end = Instant::now() + LONG;
                while clients().len() < count {
                    assert!(Instant::now() < end, "turn {count} is not in the queue");
                    thread::yield_now();
                }
            }
            assert_eq!(clients(), [one, two, three, one, two]);
            drop(first);
        });
        assert!(clients().is_empty());
    }
}
