//! Independent and alike parts of a region, such as the turns of a loop.
//!
//! Over XOR shares, many calls of one component are computed at a time, but the gates of one call
//! one by one. A *part* is a connected set of gates. Inverters of wires from outside do not
//! connect: each part that reads one has its own copy. Parts are alike if they differ only in the
//! wires that they read.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tacit_circuit::{Gate, Wire};

use super::super::cut::Source;
use super::Emitter;

/// The least number of AND gates of a part that becomes a call. A call has its own cost.
const MIN_ANDS: usize = 4;
/// The least number of alike parts.
const MIN_ALIKE: usize = 16;

/// Consecutive lists of gates.
#[derive(Default)]
pub(super) struct Parts {
    gates: Vec<u32>,
    ends: Vec<usize>,
}

impl Parts {
    /// Iterates over the parts, each as its gates in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.gates[start..*end])
    }

    fn push(&mut self, part: impl IntoIterator<Item = u32>) {
        self.gates.extend(part);
        self.ends.push(self.gates.len());
    }
}

impl Emitter<'_, '_> {
    /// Returns the parts of a level's gates that become calls, and its other gates.
    pub(super) fn alike_parts(
        &mut self,
        gates: &[u32],
        read_outside: &[bool],
    ) -> (Parts, Vec<u32>) {
        let parts = self.parts(gates);
        let shapes: Vec<u64> = parts
            .iter()
            .map(|part| match self.and_gates(part) {
                ..MIN_ANDS => 0,
                _ => self.shape(part, read_outside),
            })
            .collect();
        let mut count: HashMap<u64, usize> = HashMap::new();
        for shape in &shapes {
            *count.entry(*shape).or_default() += 1;
        }
        count.remove(&0);
        let is_alike = |shape: &u64| count.get(shape).is_some_and(|count| *count >= MIN_ALIKE);
        if !shapes.iter().any(is_alike) {
            return (Parts::default(), gates.to_vec());
        }
        let (mut alike, mut rest) = (Parts::default(), Vec::new());
        for (part, shape) in parts.iter().zip(&shapes) {
            if is_alike(shape) {
                alike.push(part.iter().copied());
            } else {
                rest.extend_from_slice(part);
            }
        }
        // Add inverters that others read, if only called parts contain them.
        let outside = gates.iter().copied();
        rest.extend(
            outside.filter(|gate| {
                read_outside[*gate as usize] && self.inverts_outside(*gate as usize)
            }),
        );
        rest.sort_unstable();
        rest.dedup();
        (alike, rest)
    }

    /// Whether a gate inverts a wire from outside of its level.
    fn inverts_outside(&self, gate: usize) -> bool {
        match self.traced.gates[gate] {
            Gate::Inv(of) => {
                let source = self.traced.source(of);
                !self.is_inside(source, self.levels.gates[gate])
            }
            _ => false,
        }
    }

    /// Whether a gate of a part gives a result. Inverters of outside wires do not, since they may
    /// be in many parts.
    pub(super) fn exports(&self, gate: u32, read_outside: &[bool]) -> bool {
        read_outside[gate as usize] && !self.inverts_outside(gate as usize)
    }

    fn and_gates(&self, part: &[u32]) -> usize {
        let is_and = |gate: &&u32| matches!(self.traced.gates[**gate as usize], Gate::And(..));
        part.iter().filter(is_and).count()
    }

    /// Returns the gate of the same level that drives this wire, if there is one.
    fn inside(&self, wire: Wire, level: u32) -> Option<usize> {
        let source = self.traced.source(wire);
        match source {
            Source::Gate(gate) if self.is_inside(source, level) => Some(gate),
            _ => None,
        }
    }

    /// Returns the connected sets of a level's gates, ordered by their first gates, with the
    /// inverters that each reads.
    fn parts(&mut self, gates: &[u32]) -> Parts {
        for (place, gate) in (0..).zip(gates) {
            self.wires[*gate as usize] = place;
        }
        let mut joined = Joined::new(gates.len());
        for (place, gate) in (0..).zip(gates) {
            let level = self.levels.gates[*gate as usize];
            for wire in self.traced.reads(*gate as usize) {
                if let Some(read) = self.inside(wire, level)
                    && !self.inverts_outside(read)
                {
                    joined.join(place, self.wires[read]);
                }
            }
        }
        // Sort the places by part.
        let mut sorted: Vec<(u32, u32)> = (0..gates.len() as u32)
            .filter(|place| !self.inverts_outside(gates[*place as usize] as usize))
            .map(|place| (joined.first(place), place))
            .collect();
        sorted.sort_unstable();
        let mut parts = Parts::default();
        for part in sorted.chunk_by(|(one, _), (other, _)| one == other) {
            // Inverters come first, in the order of the wires that they invert, independent of
            // their own order.
            let mut inverters: Vec<(usize, u32)> = Vec::new();
            for (_, place) in part {
                let gate = gates[*place as usize] as usize;
                let level = self.levels.gates[gate];
                for wire in self.traced.reads(gate) {
                    let read = self.inside(wire, level);
                    if let Some(read) = read.filter(|read| self.inverts_outside(*read))
                        && let Some(of) = self.traced.reads(read).next()
                    {
                        inverters.push((self.place(self.traced.source(of)), read as u32));
                    }
                }
            }
            inverters.sort_unstable();
            inverters.dedup();
            let others = part.iter().map(|(_, place)| gates[*place as usize]);
            let inverters = inverters.into_iter().map(|(_, gate)| gate);
            parts.push(inverters.chain(others));
        }
        parts
    }

    /// Returns a number that parts share if they differ only in the wires that they read. Other
    /// parts hardly ever share it. If they do, the only harm is that a few parts become calls.
    fn shape(&mut self, part: &[u32], read_outside: &[bool]) -> u64 {
        let read = self.number_ports(part, false);
        let mut hasher = DefaultHasher::new();
        read.len().hash(&mut hasher);
        for (number, gate) in (0..).zip(part) {
            let gate = *gate as usize;
            self.wires[gate] = number;
            let is_and = match self.traced.gates[gate] {
                Gate::Xor(..) => 0_u32,
                Gate::And(..) => 1,
                Gate::Inv(_) => 2,
            };
            let exported = self.exports(gate as u32, read_outside);
            (is_and << 1 | u32::from(exported)).hash(&mut hasher);
            for wire in self.traced.reads(gate) {
                match (self.ports[wire as usize], self.traced.source(wire)) {
                    (0, Source::Gate(of)) => (self.wires[of] << 1).hash(&mut hasher),
                    (port, _) => (port << 1 | 1).hash(&mut hasher),
                }
            }
        }
        self.forget_ports(&read);
        hasher.finish().max(1)
    }
}

/// Disjoint sets of places. The first place of a set identifies it.
struct Joined(Vec<u32>);

impl Joined {
    fn new(places: usize) -> Self {
        Self((0..places as u32).collect())
    }

    fn first(&mut self, mut place: u32) -> u32 {
        while self.0[place as usize] != place {
            let next = self.0[place as usize];
            self.0[place as usize] = self.0[next as usize];
            place = next;
        }
        place
    }

    fn join(&mut self, one: u32, other: u32) {
        let [one, other] = [one, other].map(|place| self.first(place));
        self.0[one.max(other) as usize] = one.min(other);
    }
}
