//! Gates in three or four bytes each: most read what was made shortly before.
//!
//! A gate has a byte for its shape and, in another array, for each input the distance to it, less
//! one, in as few bytes as it takes, the least significant first:
//!
//! | bits of the shape | field |
//! |---|---|
//! | 0–1 | kind, as in [`PackedGate`] |
//! | 2–3 | bytes of the first distance, less one |
//! | 4–6 | bytes of the second; 0 for INV |

use super::PackedGate;

/// Gates, of which gate `i` drives wire `first + i` and reads wires before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gates {
    first: u32,
    shapes: Vec<u8>,
    distances: Vec<u8>,
}

/// Most bytes of a gate's distances.
const MOST_BYTES: usize = 8;

impl Gates {
    /// No gates yet; the first will drive wire `first`.
    pub(super) fn new(first: u32) -> Self {
        Self {
            first,
            shapes: Vec::new(),
            distances: Vec::new(),
        }
    }

    pub(super) fn reserve(&mut self, gates: usize) {
        self.shapes.reserve(gates);
    }

    pub(super) fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Appends a gate that reads wires below the one that it drives.
    #[inline]
    pub(super) fn push(&mut self, gate: PackedGate) {
        let last = self.first + self.shapes.len() as u32 - 1;
        let [a, b] = gate.wires();
        let a = last - a;
        let a_bytes = bytes(a);
        let (b, b_bytes) = match gate.is_inv() {
            true => (0, 0),
            false => (last - b, bytes(last - b)),
        };
        self.shapes
            .push(gate.kind() | (a_bytes as u8 - 1) << 2 | (b_bytes as u8) << 4);
        let both = u64::from(a) | u64::from(b) << (8 * a_bytes);
        let length = self.distances.len() + a_bytes + b_bytes;
        self.distances.extend_from_slice(&both.to_le_bytes());
        self.distances.truncate(length);
    }

    pub(super) fn iter(&self) -> Iter<'_> {
        Iter {
            gates: self,
            front: Cursor::default(),
            back: Cursor {
                gate: self.shapes.len(),
                at: self.distances.len(),
            },
        }
    }

    /// The gate of this number, whose distances are at `at`.
    #[inline(always)]
    fn gate(&self, Cursor { gate, at }: Cursor) -> PackedGate {
        let shape = self.shapes[gate];
        let [a_bytes, b_bytes] = lengths(shape);
        let word = match self.distances[at..].first_chunk::<MOST_BYTES>() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => self.last_word(at),
        };
        let part = |word: u64, bytes: usize| (word & ((1 << (8 * bytes)) - 1)) as u32;
        let last = self.first + gate as u32 - 1;
        let a = last - part(word, a_bytes);
        let b = last - part(word >> (8 * a_bytes), b_bytes);
        PackedGate::of_parts(shape & 3, a, if b_bytes == 0 { 0 } else { b })
    }

    /// The distances at `at`, fewer than fill a word.
    #[cold]
    fn last_word(&self, at: usize) -> u64 {
        let rest = self.distances[at..].iter().rev();
        rest.fold(0, |word, byte| word << 8 | u64::from(*byte))
    }
}

/// How many bytes a distance takes.
fn bytes(distance: u32) -> usize {
    (u32::BITS - (distance | 1).leading_zeros()).div_ceil(8) as usize
}

/// Bytes of a gate's distances.
fn lengths(shape: u8) -> [usize; 2] {
    [usize::from(shape >> 2 & 3) + 1, usize::from(shape >> 4)]
}

/// A gate's number, and where its distances are.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    gate: usize,
    at: usize,
}

/// The gates, in order, from either end.
#[derive(Clone, Debug)]
pub(super) struct Iter<'a> {
    gates: &'a Gates,
    front: Cursor,
    back: Cursor,
}

impl Iterator for Iter<'_> {
    type Item = PackedGate;

    #[inline(always)]
    fn next(&mut self) -> Option<PackedGate> {
        if self.front.gate == self.back.gate {
            return None;
        }
        let gate = self.gates.gate(self.front);
        let lengths = lengths(self.gates.shapes[self.front.gate]);
        self.front.gate += 1;
        self.front.at += lengths[0] + lengths[1];
        Some(gate)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.back.gate - self.front.gate;
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<PackedGate> {
        if self.front.gate == self.back.gate {
            return None;
        }
        self.back.gate -= 1;
        let lengths = lengths(self.gates.shapes[self.back.gate]);
        self.back.at -= lengths[0] + lengths[1];
        Some(self.gates.gate(self.back))
    }
}

impl ExactSizeIterator for Iter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Gate;

    #[test]
    fn distances_of_every_length_come_out_from_either_end() {
        let first = (1 << 30) - 40;
        let mut gates = Gates::new(first);
        let mut given = Vec::new();
        let distances = [
            0,
            1,
            0xff,
            0x100,
            0xffff,
            0x1_0000,
            0xff_ffff,
            0x100_0000,
            first - 1,
        ];
        for (i, a) in distances.into_iter().enumerate() {
            for b in [a, distances[distances.len() - 1 - i]] {
                let last = first + given.len() as u32 - 1;
                let (a, b) = (last - a, last - b);
                given.push([Gate::Xor(a, b), Gate::And(a, b), Gate::Inv(a)][given.len() % 3]);
                gates.push(PackedGate::pack(given[given.len() - 1]));
            }
        }
        assert_eq!(gates.len(), given.len());
        assert!(
            gates
                .iter()
                .map(PackedGate::unpack)
                .eq(given.iter().copied())
        );
        let backwards = gates.iter().rev().map(PackedGate::unpack);
        assert!(backwards.eq(given.iter().rev().copied()));
        let mut ends = gates.iter();
        assert_eq!(
            (ends.next(), ends.len()),
            (gates.iter().next(), given.len() - 1)
        );
        assert_eq!(ends.next_back(), gates.iter().next_back());
        assert_eq!(ends.by_ref().count(), given.len() - 2);
    }
}
