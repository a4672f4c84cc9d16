//! Layers: what a circuit over XOR shares exchanges, and in which order.
//!
//! Goldreich, Micali, Wigderson (STOC 1987): XOR and negation are local, and an AND of bits of two
//! parties takes *crosses*, one for each mixed product. All ANDs of a layer are opened at once.
//! ANDs of a layer with a common operand share its crosses (vector gates: Heath, Kolesnikov,
//! Peceny, "MOTIF", ASIACRYPT 2020). Both parties compute the same layers from the circuit and the
//! owners of its ports; `vectors/gmw-schedule.txt` freezes them.
//!
//! 1. An *operand* is the wire under `Inv` gates and ANDs of a wire with itself, with a parity.
//! 2. The layer of an input is 0; of an XOR and a local AND the greatest of the operands'; of
//!    another AND one more.
//! 3. In a layer each AND goes to the operand that more of its ANDs have, the lower wire if both
//!    have as many. The groups stand in order of that wire, their ANDs in order of their own, and
//!    are cut into pieces of 128.
//! 4. A piece has first the cross that the garbler chooses, then the one that the evaluator
//!    chooses. A cross without gates is left out.
//!
//! Time is linear in the circuit, but for sorting the ANDs of each layer; memory is 17 bytes a wire
//! and 12 an AND.

mod group;

use crate::{Circuit, Gate, Owners, Role, Wire};
pub(crate) use group::LayerAnd;

/// Most ANDs of a cross.
pub const CROSS_GATES: usize = 128;

/// A wire, and whether it is negated, in four bytes. What is always 0 stands behind the circuit's
/// wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Literal(u32);

impl Literal {
    fn of(wire: Wire) -> Self {
        Self(wire << 1)
    }

    fn negated_if(self, negated: bool) -> Self {
        Self(self.0 ^ u32::from(negated))
    }

    pub(crate) fn wire(self) -> Wire {
        self.0 >> 1
    }

    pub(crate) fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    /// The wire, and behind it the parity.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// The layers of a circuit for some owners of its ports.
#[derive(Clone, Debug)]
pub struct Layers {
    /// For each wire, and what is always 0, the wire that it stands for.
    under: Vec<Literal>,
    owners: Vec<Owners>,
    layer: Vec<u32>,
    /// ANDs that need crosses, in order of layers and pieces.
    ands: Vec<LayerAnd>,
    /// For each piece where its ANDs end.
    pieces: Vec<u32>,
    /// For each layer, from 0, where its pieces end.
    ends: Vec<u32>,
    live: usize,
}

/// A correlated OT, hashed, by which the parties multiply a bit of the party that chooses by bits
/// of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cross {
    /// The OT's receiver. It opens one bit, the other party as many as there are gates.
    pub chooser: Role,
    /// The operand that the gates have in common.
    pub common: Wire,
    /// The gates, at most [`CROSS_GATES`].
    pub gates: Vec<CrossGate>,
}

/// An AND of a [`Cross`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossGate {
    /// The AND's own wire.
    pub gate: Wire,
    /// Its other operand.
    pub other: Wire,
    /// Whether that is negated.
    pub negated: bool,
}

/// What one instance of a circuit exchanges in a layer. Arrays have an entry a [`Role`], by its
/// number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerOutline {
    /// OTs, by their sender.
    pub ots: [u64; 2],
    /// Of these the ones with one gate.
    pub narrow_ots: [u64; 2],
    /// Bits opened, by who sends them.
    pub opened_bits: [u64; 2],
}

impl Circuit {
    /// What the circuit exchanges over XOR shares, where `owners_of_ports` own its input ports.
    ///
    /// # Panics
    ///
    /// If there are not as many owners as input ports.
    #[must_use]
    pub fn layers(&self, owners_of_ports: &[Owners]) -> Layers {
        let ports = self.inputs().iter();
        assert_eq!(ports.len(), owners_of_ports.len(), "owners for each port");
        let widths = ports.zip(owners_of_ports);
        let owners =
            widths.flat_map(|(port, owners)| std::iter::repeat_n(*owners, port.ty.width()));
        Layers::new(self, owners)
    }
}

impl Layers {
    fn new(circuit: &Circuit, owners_of_inputs: impl Iterator<Item = Owners>) -> Self {
        let wires = circuit.wire_count();
        let mut owners = Vec::with_capacity(wires + 1);
        owners.extend(owners_of_inputs);
        let mut layers = Self {
            under: (0..owners.len() as Wire).map(Literal::of).collect(),
            layer: vec![0; owners.len()],
            owners,
            ands: Vec::new(),
            pieces: Vec::new(),
            ends: Vec::new(),
            live: 0,
        };
        layers.under.reserve_exact(wires + 1 - layers.under.len());
        layers.layer.reserve_exact(wires + 1 - layers.layer.len());
        let zero = Literal::of(wires as Wire);
        // What is always 0 is no operand before the last gate is there, so it is found by its
        // number.
        let mut reads = Reads::new(wires);
        for gate in circuit.gates() {
            layers.push(gate, zero, &mut reads);
        }
        layers.under.push(zero);
        layers.owners.push(Owners::PUBLIC);
        layers.layer.push(0);
        let depth = layers.layer.iter().copied().max().unwrap_or_default();
        layers.live = layers.count_live(circuit, depth, &reads);
        drop(reads);
        layers.group(circuit, depth);
        layers
    }

    /// The layer and the owners of an operand, also of what is always 0 while gates are missing.
    fn at(&self, operand: Literal) -> (u32, Owners) {
        let wire = operand.wire() as usize;
        let found = self.layer.get(wire).zip(self.owners.get(wire));
        found.map_or((0, Owners::PUBLIC), |(layer, owners)| (*layer, *owners))
    }

    fn push(&mut self, gate: Gate, zero: Literal, reads: &mut Reads) {
        let under = |wire: Wire| self.under[wire as usize];
        let (is_and, x, y) = match gate {
            Gate::Inv(a) => return self.stand_for(under(a).negated_if(true)),
            Gate::And(a, b) => (true, under(a), under(b)),
            Gate::Xor(a, b) => (false, under(a), under(b)),
        };
        if is_and && x.wire() == y.wire() {
            return self.stand_for(if x == y { x } else { zero });
        }
        let ((layer_x, owners_x), (layer_y, owners_y)) = (self.at(x), self.at(y));
        let crosses = is_and && owners_x.need_crosses(owners_y);
        let layer = layer_x.max(layer_y) + u32::from(crosses);
        self.under.push(Literal::of(self.under.len() as Wire));
        self.owners.push(owners_x.union(owners_y));
        self.layer.push(layer);
        reads.read(x, layer);
        reads.read(y, layer);
    }

    fn stand_for(&mut self, operand: Literal) {
        let (layer, owners) = self.at(operand);
        self.under.push(operand);
        self.layer.push(layer);
        self.owners.push(owners);
    }

    /// Most wires that are live behind a layer: of it or an earlier one, and read by a gate of a
    /// later one, or under a result.
    fn count_live(&self, circuit: &Circuit, depth: u32, reads: &Reads) -> usize {
        let mut kept = vec![false; self.under.len()];
        for wire in circuit.output_wires() {
            kept[self.under(*wire).wire() as usize] = true;
        }
        let depth = depth as usize;
        let mut change = vec![0_i64; depth + 2];
        for (wire, under) in self.under[..circuit.wire_count()].iter().enumerate() {
            if under.wire() as usize != wire {
                continue;
            }
            let first = self.layer[wire] as usize;
            let end = if kept[wire] {
                depth + 1
            } else {
                reads.last(wire)
            };
            if first < end {
                change[first] += 1;
                change[end] -= 1;
            }
        }
        let mut live = 0;
        let counts = change.iter().map(|change| {
            live += change;
            live
        });
        counts.max().unwrap_or_default() as usize
    }

    /// The wire that `wire` stands for.
    pub(crate) fn under(&self, wire: Wire) -> Literal {
        self.under[wire as usize]
    }

    /// The number behind the circuit's wires, under which stands what is always 0.
    pub(crate) fn zero(&self) -> Wire {
        self.under.len() as Wire - 1
    }

    /// Whether `wire`'s own gate computes it: it stands for no other wire.
    pub(crate) fn computes(&self, wire: Wire) -> bool {
        self.under(wire).wire() == wire
    }

    pub(crate) fn owners(&self, wire: Wire) -> Owners {
        self.owners[wire as usize]
    }

    pub(crate) fn layer(&self, wire: Wire) -> u32 {
        self.layer[wire as usize]
    }

    /// For each piece of a layer, from 1, its ANDs.
    pub(crate) fn pieces(&self, layer: u32) -> impl Iterator<Item = &[LayerAnd]> {
        let first = layer
            .checked_sub(1)
            .map_or(0, |before| self.ends[before as usize]);
        let pieces = first as usize..self.ends[layer as usize] as usize;
        pieces.map(|piece| {
            let start = piece.checked_sub(1).map_or(0, |before| self.pieces[before]);
            &self.ands[start as usize..self.pieces[piece] as usize]
        })
    }

    /// Number of layers that exchange anything.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.ends.len() as u32 - 1
    }

    /// Most wires that are live behind any layer, public ones too.
    #[must_use]
    pub fn live(&self) -> usize {
        self.live
    }

    /// The crosses of a layer, from 1 to [`Self::depth`], in order.
    pub fn crosses(&self, layer: u32) -> impl Iterator<Item = Cross> {
        self.pieces(layer).flat_map(|ands| {
            let crosses = [Role::Garbler, Role::Evaluator].map(|chooser| self.cross(chooser, ands));
            crosses.into_iter().filter(|cross| !cross.gates.is_empty())
        })
    }

    /// The gates of a piece whose common operand `chooser` owns, and the other party the other one.
    fn cross(&self, chooser: Role, ands: &[LayerAnd]) -> Cross {
        let gates = ands.iter().filter(|and| and.is_chosen_by(chooser, self));
        Cross {
            chooser,
            common: ands[0].x.wire(),
            gates: gates
                .map(|and| CrossGate {
                    gate: and.gate,
                    other: and.y.wire(),
                    negated: and.y.is_negated(),
                })
                .collect(),
        }
    }
}

/// For each wire, and what is always 0, the latest layer whose gates read it.
struct Reads(Vec<u32>);

impl Reads {
    fn new(wires: usize) -> Self {
        Self(vec![0; wires + 1])
    }

    fn read(&mut self, operand: Literal, layer: u32) {
        let last = &mut self.0[operand.wire() as usize];
        *last = layer.max(*last);
    }

    fn last(&self, wire: usize) -> usize {
        self.0[wire] as usize
    }
}
