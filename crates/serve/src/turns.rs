//! Turns at preparing: few peers prepare at once, no peer twice, and a peer that had its turn does
//! not take the next while others wait.
//!
//! A peer that finds no room is told to come later, and keeps its place in a queue for
//! [`PLACE_TIME`] after each of its requests. Free room is for the first in the queue. So a peer
//! waits for at most one preparation of each other peer, even if they misbehave, and each of these
//! has a time limit.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tacit::Fingerprint;

/// The time for which a peer's place is kept. A peer that is told that the service is busy asks
/// again sooner, and after this time unclaimed room goes to others.
pub(crate) const PLACE_TIME: Duration = Duration::from_secs(60);

/// The peers that prepare, and those that wait to.
#[derive(Default)]
pub(crate) struct Turns {
    preparing: BTreeSet<Fingerprint>,
    /// The peers that found no room, in the order of their first request, with the time of their
    /// last one.
    waiting: Vec<(Fingerprint, Instant)>,
}

impl Turns {
    /// Starts a preparation with `peer` if it has none, if one of `most` at once is left for it,
    /// and if its memory `fits`. Returns whether it did.
    pub(crate) fn start(
        &mut self,
        peer: Fingerprint,
        most: usize,
        fits: bool,
        now: Instant,
    ) -> bool {
        let is_kept = |asked: &Instant| now.saturating_duration_since(*asked) < PLACE_TIME;
        self.waiting.retain(|(_, asked)| is_kept(asked));
        if self.preparing.contains(&peer) {
            return false;
        }
        let place = self.waiting.iter().position(|waiting| waiting.0 == peer);
        let ahead = place.unwrap_or(self.waiting.len());
        if fits && self.preparing.len().saturating_add(ahead) < most {
            self.waiting.retain(|waiting| waiting.0 != peer);
            return self.preparing.insert(peer);
        }
        match place {
            Some(place) => self.waiting[place].1 = now,
            None => self.waiting.push((peer, now)),
        }
        false
    }

    /// Ends the preparation with `peer`.
    pub(crate) fn end(&mut self, peer: &Fingerprint) {
        self.preparing.remove(peer);
    }

    /// Removes waiting peers that are not in `known`.
    pub(crate) fn retain(&mut self, known: &[Fingerprint]) {
        self.waiting.retain(|(peer, _)| known.contains(peer));
    }

    /// Returns the number of peers that prepare.
    pub(crate) fn count(&self) -> usize {
        self.preparing.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 2;

    fn peer(number: u8) -> Fingerprint {
        Fingerprint([number; 32])
    }

    /// Two peers that start again as soon as they end would otherwise have both turns forever.
    #[test]
    fn whoever_waits_goes_before_those_who_had_their_turn() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        let [one, two, third, fourth] = [1, 2, 3, 4].map(peer);
        assert!(turns.start(one, MOST, true, now) && turns.start(two, MOST, true, now));
        assert!(!turns.start(third, MOST, true, now) && !turns.start(fourth, MOST, true, now));
        turns.end(&one);
        assert!(!turns.start(one, MOST, true, now), "it had its turn");
        assert!(!turns.start(fourth, MOST, true, now), "it is not the next");
        assert!(turns.start(third, MOST, true, now));
        turns.end(&two);
        assert!(!turns.start(two, MOST, true, now), "it had its turn");
        assert!(turns.start(fourth, MOST, true, now));
        turns.end(&third);
        assert!(turns.start(one, MOST, true, now));
        assert_eq!(turns.count(), 2);
    }

    #[test]
    fn a_peer_has_one_turn_at_once() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        assert!(turns.start(peer(1), MOST, true, now) && !turns.start(peer(1), MOST, true, now));
        assert!(turns.waiting.is_empty());
        assert!(turns.start(peer(2), MOST, true, now));
    }

    /// Peers with small preparations would otherwise keep out forever one that needs much memory.
    #[test]
    fn a_peer_that_lacks_memory_keeps_its_place() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        let [large, small] = [1, 2].map(peer);
        assert!(!turns.start(large, 1, false, now));
        assert!(!turns.start(small, 1, true, now), "it is not the next");
        assert!(!turns.start(large, 1, false, now));
        assert!(turns.start(large, 1, true, now));
    }

    #[test]
    fn a_place_is_for_whoever_comes_for_it() {
        let (mut turns, now) = (Turns::default(), Instant::now());
        assert!(turns.start(peer(1), 1, true, now) && !turns.start(peer(2), 1, true, now));
        turns.end(&peer(1));
        assert!(!turns.start(peer(1), 1, true, now + PLACE_TIME / 2));
        // The second peer does not come, and the first has asked since.
        assert!(turns.start(peer(1), 1, true, now + PLACE_TIME));
        turns.end(&peer(1));
        assert!(!turns.start(peer(2), 0, true, now + PLACE_TIME));
        turns.retain(&[peer(1)]);
        assert!(turns.start(peer(1), 1, true, now + PLACE_TIME));
    }
}
