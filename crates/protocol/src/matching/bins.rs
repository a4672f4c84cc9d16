//! The placement of keys into bins: at most one key in a bin, and three possible places for each
//! key.
//!
//! A key is placed by a random walk: it takes a free place, or the place of another key, which then
//! walks on, for at most 60 steps. After that a breadth-first search looks for an augmenting path,
//! which finds a placement whenever one exists. There is no stash. Times depend on the places.

use std::collections::{HashMap, VecDeque};

use tacit_kernels::{Prg, WipedVec};

/// The mark of a bin without a key.
pub(crate) const EMPTY: u32 = u32::MAX;

const STEPS: usize = 60;

/// A place that no key has: none is to be avoided.
const ANY: usize = 3;

/// The error that no placement exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPlacement;

/// Returns the key in each of `bins` bins, or [`EMPTY`]. `places` has the three bins of each key.
pub(crate) fn place_vartime(
    places: &[[u32; 3]],
    bins: usize,
    prg: &mut Prg,
) -> Result<WipedVec<u32>, NoPlacement> {
    let mut table = WipedVec::zeros(bins);
    table.fill(EMPTY);
    let mut steps = Steps {
        prg,
        bits: 0,
        left: 0,
    };
    for key in 0..places.len() as u32 {
        if let Some(homeless) = walk(places, &mut table, key, &mut steps) {
            augment(places, &mut table, homeless)?;
        }
    }
    Ok(table)
}

/// A source of random choices among three.
struct Steps<'p> {
    prg: &'p mut Prg,
    bits: u128,
    left: u32,
}

impl Steps<'_> {
    /// Returns 0, 1 or 2, each equally likely, but never `not` if that is one of them.
    fn choose(&mut self, not: usize) -> usize {
        loop {
            if self.left == 0 {
                (self.bits, self.left) = (self.prg.next_block().to_u128(), 64);
            }
            let drawn = self.bits as usize & 3;
            self.bits >>= 2;
            self.left -= 1;
            match not {
                0..3 => return (not + 1 + drawn % 2) % 3,
                _ if drawn < 3 => return drawn,
                _ => {}
            }
        }
    }
}

/// Places `key`, and the keys that it displaces. Returns the key that remains after all steps, if
/// one does.
fn walk(
    places: &[[u32; 3]],
    table: &mut [u32],
    mut key: u32,
    steps: &mut Steps<'_>,
) -> Option<u32> {
    let mut last = EMPTY;
    for _ in 0..STEPS {
        let own = &places[key as usize];
        // If a key took its first free place, a peer could guess in which of its places it is.
        let begin = steps.choose(ANY);
        let mut bins = (begin..begin + 3).map(|place| own[place % 3]);
        if let Some(free) = bins.find(|bin| table[*bin as usize] == EMPTY) {
            table[free as usize] = key;
            return None;
        }
        let not = own.iter().position(|bin| *bin == last).unwrap_or(ANY);
        last = own[steps.choose(not)];
        core::mem::swap(&mut key, &mut table[last as usize]);
    }
    Some(key)
}

/// Places `key` by moving the keys along a shortest path to an empty bin.
fn augment(places: &[[u32; 3]], table: &mut [u32], key: u32) -> Result<(), NoPlacement> {
    let mut came_from: HashMap<u32, u32> = HashMap::new();
    let mut queue = VecDeque::new();
    for bin in places[key as usize] {
        if came_from.insert(bin, EMPTY).is_none() {
            queue.push_back(bin);
        }
    }
    while let Some(mut bin) = queue.pop_front() {
        if table[bin as usize] == EMPTY {
            while came_from[&bin] != EMPTY {
                let from = came_from[&bin];
                table[bin as usize] = table[from as usize];
                bin = from;
            }
            table[bin as usize] = key;
            return Ok(());
        }
        for next in places[table[bin as usize] as usize] {
            came_from.entry(next).or_insert_with(|| {
                queue.push_back(next);
                bin
            });
        }
    }
    Err(NoPlacement)
}

#[cfg(test)]
mod tests {
    use tacit_kernels::Block;

    use super::*;
    use crate::matching::sizes;

    /// A peer programs a value for one place of each key, and then learns of a third of its keys.
    #[test]
    fn a_key_is_in_each_of_its_places_equally_often() {
        for keys in [1, 10, 100] {
            let bins = sizes::bins(keys);
            let third = bins as u32 / 3;
            let mut prg = Prg::new(Block::from_u128(u128::from(keys)));
            let mut counts = [0_u32; 3];
            let rounds = 6000 / keys;
            for _ in 0..rounds {
                let places: Vec<[u32; 3]> = (0..keys)
                    .map(|_| {
                        let drawn = prg.next_block().to_u128();
                        let within = |part: u32| (drawn >> (32 * part)) as u32 % third;
                        [0, 1, 2].map(|part| part * third + within(part))
                    })
                    .collect();
                let Ok(table) = place_vartime(&places, bins as usize, &mut prg) else {
                    continue;
                };
                for (key, own) in places.iter().enumerate() {
                    let place = own
                        .iter()
                        .position(|bin| table[*bin as usize] == key as u32);
                    counts[place.expect("a place")] += 1;
                }
            }
            let all: u32 = counts.iter().sum();
            assert!(
                counts
                    .iter()
                    .all(|count| 3 * count.abs_diff(all / 3) < all / 8),
                "{counts:?}"
            );
        }
    }
}
