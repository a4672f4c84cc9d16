//! Keys by number that only move forward: the tree of Goldreich, Goldwasser and Micali (1986).
//!
//! The keys of a kind's instances are the leaves of a binary tree of height 32. Each child is a
//! hash of its parent. A cover holds the roots of the largest subtrees that cover the numbers not
//! yet spent. There are at most 32 of them, and no earlier key follows from them. Moving forward by
//! any distance costs at most 32 hashes, and so does the key of any number ahead. Consecutive keys
//! cost two hashes each.
//!
//! Assumption: SHA-256 of a tag, a secret key and a bit is a PRF in that key. Both hashes are one
//! compression.

use sha2::{Digest, Sha256};

use crate::seal::Key;
use crate::{Span, StockError};

/// The number of levels of the tree.
pub(crate) const HEIGHT: u32 = 32;
/// The numbers of a kind in an epoch.
pub(crate) const NUMBERS: u64 = 1 << HEIGHT;
/// The most nodes in a cover of everything from some number on.
pub(crate) const MAX_NODES: usize = HEIGHT as usize;

/// The root of a subtree.
#[derive(Clone)]
struct Node {
    first: u64,
    height: u32,
    key: Key,
}

impl Node {
    fn end(&self) -> u64 {
        self.first + (1 << self.height)
    }

    fn children(&self) -> [Self; 2] {
        let height = self.height - 1;
        [0, 1].map(|bit| {
            let hash = Sha256::new()
                .chain_update(b"tacit stock tree")
                .chain_update(*self.key)
                .chain_update([bit]);
            let mut key = Key::default();
            hash.finalize_into((&mut *key).into());
            Self {
                first: self.first + (u64::from(bit) << height),
                height,
                key,
            }
        })
    }
}

/// The keys of consecutive numbers.
#[derive(Clone)]
pub(crate) struct Cover {
    nodes: Vec<Node>,
}

impl Cover {
    /// Returns a cover of all numbers of a kind.
    pub(crate) fn from_root(key: Key) -> Self {
        let node = Node {
            first: 0,
            height: HEIGHT,
            key,
        };
        Self { nodes: vec![node] }
    }

    /// Returns the first number whose key is held, or [`NUMBERS`] if there is none.
    pub(crate) fn mark(&self) -> u64 {
        self.nodes.first().map_or(NUMBERS, |node| node.first)
    }

    /// Returns a cover of exactly `span`.
    pub(crate) fn part(&self, span: Span) -> Result<Self, StockError> {
        if span.first < self.mark() || span.end() > NUMBERS {
            return Err(StockError::misuse(format!(
                "keys of {span} where those from {} on are held",
                self.mark()
            )));
        }
        let mut nodes = Vec::new();
        // In reverse order, so that the lowest numbers are popped first.
        let mut open: Vec<Node> = self.nodes.iter().rev().cloned().collect();
        while let Some(node) = open.pop() {
            if node.end() <= span.first || node.first >= span.end() {
                continue;
            }
            if node.first >= span.first && node.end() <= span.end() {
                nodes.push(node);
            } else {
                let [low, high] = node.children();
                open.extend([high, low]);
            }
        }
        Ok(Self { nodes })
    }

    /// Returns a cover of everything from `mark` on. This must be a cover of everything from an
    /// earlier number on.
    pub(crate) fn forward(&self, mark: u64) -> Result<Self, StockError> {
        self.part(Span {
            first: mark,
            count: NUMBERS.saturating_sub(mark),
        })
    }

    /// Calls `visit` with each number of `span` and its key, in order.
    pub(crate) fn visit<E: From<StockError>>(
        &self,
        span: Span,
        mut visit: impl FnMut(u64, &Key) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut open = self.part(span)?.nodes;
        open.reverse();
        let mut next = span.first;
        while let Some(node) = open.pop() {
            if node.height == 0 {
                visit(node.first, &node.key)?;
                next += 1;
            } else {
                let [low, high] = node.children();
                open.extend([high, low]);
            }
        }
        if next != span.end() {
            return Err(
                StockError::misuse(format!("keys of {span} where {next} is not held")).into(),
            );
        }
        Ok(())
    }

    /// Iterates over the keys of the nodes, in order. This must be a cover of everything from a
    /// mark on.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.nodes.iter().map(|node| &node.key)
    }

    /// Inverts [`Cover::keys`] for a cover of everything from `mark` on. Calls `key` for each node
    /// in order.
    pub(crate) fn from_mark(mark: u64, mut key: impl FnMut() -> Option<Key>) -> Option<Self> {
        let mut nodes = Vec::new();
        let mut first = mark;
        while first < NUMBERS {
            let height = first.trailing_zeros().min(HEIGHT);
            nodes.push(Node {
                first,
                height,
                key: key()?,
            });
            first += 1 << height;
        }
        (first == NUMBERS).then_some(Self { nodes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(first: u64, count: u64) -> Span {
        Span { first, count }
    }

    fn leaf(cover: &Cover, number: u64) -> [u8; 32] {
        let mut found = None;
        cover
            .visit(span(number, 1), |_, key| {
                found = Some(**key);
                Ok::<(), StockError>(())
            })
            .expect("a key");
        found.expect("visited")
    }

    fn root() -> Cover {
        Cover::from_root(Key::new([5; 32]))
    }

    #[test]
    fn a_number_has_one_key_however_it_is_reached() {
        let keys: Vec<[u8; 32]> = (0..70).map(|number| leaf(&root(), number)).collect();
        for (number, key) in keys.iter().enumerate() {
            assert!(!keys[..number].contains(key));
        }
        let forward = root()
            .forward(13)
            .expect("forward")
            .forward(37)
            .expect("forward");
        assert_eq!(forward.mark(), 37);
        let mut visited = Vec::new();
        forward
            .visit(span(37, 20), |_, key| {
                visited.push(**key);
                Ok::<(), StockError>(())
            })
            .expect("keys");
        assert_eq!(visited, keys[37..57]);
        let part = forward.part(span(40, 9)).expect("a part");
        assert_eq!(leaf(&part, 48), keys[48]);
    }

    #[test]
    fn spent_keys_are_not_there() {
        let forward = root().forward(37).expect("forward");
        assert!(forward.part(span(36, 1)).is_err());
        assert!(forward.forward(36).is_err());
        let part = forward.part(span(40, 9)).expect("a part");
        assert!(
            part.visit(span(47, 3), |_, _| Ok::<(), StockError>(()))
                .is_err()
        );
    }

    #[test]
    fn the_last_number_is_the_end() {
        let last = root().forward(NUMBERS - 1).expect("forward");
        leaf(&last, NUMBERS - 1);
        let none = last.forward(NUMBERS).expect("forward");
        assert_eq!((none.mark(), none.keys().count()), (NUMBERS, 0));
        assert!(none.part(span(NUMBERS, 1)).is_err());
    }

    #[test]
    fn keys_are_enough_to_go_on() {
        for mark in [
            0,
            1,
            2,
            3,
            1 << 20,
            NUMBERS - 1,
            NUMBERS - 4,
            NUMBERS,
            0x1234_5679,
        ] {
            let cover = root().forward(mark).expect("forward");
            let mut keys = cover.keys().cloned();
            let again = Cover::from_mark(mark, || keys.next()).expect("enough keys");
            assert!(keys.next().is_none() && cover.keys().count() <= MAX_NODES);
            if mark < NUMBERS {
                let probe = (mark + NUMBERS - 1) / 2;
                assert_eq!(leaf(&again, probe), leaf(&cover, probe));
            }
        }
    }
}
