//! Gates in three or four bytes each. Most gates read wires that were made shortly before.
//!
//! A gate has one byte for its shape. A second array holds, for each input, the distance to it less
//! one, in as few bytes as possible, the least significant first:
//!
//! | bits of the shape | field |
//! |---|---|
//! | 0–1 | kind, as in [`PackedGate`] |
//! | 2–3 | bytes of the first distance, less one |
//! | 4–6 | bytes of the second; 0 for INV |

use super::PackedGate;

/// A list of gates. Gate `i` drives wire `first + i` and reads wires before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gates {
    first: u32,
    shapes: Vec<u8>,
    distances: Vec<u8>,
}

/// The greatest number of bytes that the distances of a gate take.
const MOST_BYTES: usize = 8;

impl Gates {
    /// Creates an empty list whose first gate will drive wire `first`.
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
        let (b, b_bytes) = if gate.is_inv() {
            (0, 0)
        } else {
            (last - b, bytes(last - b))
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
            shapes: self.shapes.iter(),
            distances: &self.distances,
            front: Cursor {
                wire: self.first,
                at: 0,
            },
            back: Cursor {
                wire: self.first + self.shapes.len() as u32,
                at: self.distances.len(),
            },
        }
    }
}

/// Returns the number of bytes that a distance takes.
fn bytes(distance: u32) -> usize {
    (u32::BITS - (distance | 1).leading_zeros()).div_ceil(8) as usize
}

/// The fields of a gate's shape, looked up by the seven bits of the shape.
#[derive(Clone, Copy)]
struct GateEncoding {
    /// The mask of the first distance within a word.
    first: u32,
    /// The start of the second distance within a word, in bits.
    shift: u8,
    /// The number of bytes of both distances.
    length: u8,
    kind: u8,
    /// The mask of the second distance within a word.
    second: u32,
    /// All ones for a gate of two inputs, zero for a gate of one.
    has_second: u32,
}

static ENCODINGS: [GateEncoding; 128] = {
    let mut shapes = [GateEncoding::of(0); 128];
    let mut number = 1;
    while number < shapes.len() {
        shapes[number] = GateEncoding::of(number as u8);
        number += 1;
    }
    shapes
};

impl GateEncoding {
    const fn of(shape: u8) -> Self {
        let (first, second) = ((shape >> 2 & 3) + 1, shape >> 4);
        Self {
            first: bits(first),
            shift: 8 * first,
            length: first + second,
            kind: shape & 3,
            second: bits(second),
            has_second: if second == 0 { 0 } else { u32::MAX },
        }
    }

    #[inline(always)]
    fn get(shape: u8) -> &'static Self {
        &ENCODINGS[usize::from(shape & 127)]
    }
}

/// Returns a mask of `bytes` bytes, at most four.
const fn bits(bytes: u8) -> u32 {
    match bytes {
        0..4 => (1 << (8 * bytes)) - 1,
        _ => u32::MAX,
    }
}

/// A gate's wire and the position of its distances.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    wire: u32,
    at: usize,
}

/// An iterator over the gates, in order, from either end.
#[derive(Clone, Debug)]
pub(super) struct Iter<'a> {
    shapes: core::slice::Iter<'a, u8>,
    distances: &'a [u8],
    front: Cursor,
    back: Cursor,
}

impl Iter<'_> {
    /// Returns the gate with this encoding, wire and distances.
    #[inline(always)]
    fn gate(&self, encoding: &GateEncoding, Cursor { wire, at }: Cursor) -> PackedGate {
        let word = match self.distances.get(at..at + MOST_BYTES) {
            Some(bytes) => u64::from_le_bytes(bytes.try_into().expect("a word")),
            None => last_word(&self.distances[at..]),
        };
        let last = wire - 1;
        let a = last - (word as u32 & encoding.first);
        let b = (last & encoding.has_second) - ((word >> encoding.shift) as u32 & encoding.second);
        PackedGate::of_parts(encoding.kind, [a, b])
    }
}

/// Returns the last distances, which are too few to fill a word.
#[cold]
fn last_word(distances: &[u8]) -> u64 {
    let bytes = distances.iter().rev();
    bytes.fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Iterator for Iter<'_> {
    type Item = PackedGate;

    #[inline(always)]
    fn next(&mut self) -> Option<PackedGate> {
        let encoding = GateEncoding::get(*self.shapes.next()?);
        let gate = self.gate(encoding, self.front);
        self.front.wire += 1;
        self.front.at += usize::from(encoding.length);
        Some(gate)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.shapes.size_hint()
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<PackedGate> {
        let encoding = GateEncoding::get(*self.shapes.next_back()?);
        self.back.wire -= 1;
        self.back.at -= usize::from(encoding.length);
        Some(self.gate(encoding, self.back))
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
