//! Layers: the messages of a circuit over XOR shares, and their order.
//!
//! In GMW (Goldreich, Micali, Wigderson, STOC 1987), XOR and negation are local. An AND of bits of
//! two parties takes *crosses*, one for each mixed product. All ANDs of a layer are opened at once.
//! ANDs of a layer with a common operand share its crosses (vector gates: Heath, Kolesnikov,
//! Peceny, "MOTIF", ASIACRYPT 2020). Both parties compute the same layers from the circuit and the
//! owners of its ports. `vectors/gmw-schedule.txt` freezes them.
//!
//! 1. An *operand* is the wire under `Inv` gates and ANDs of a wire with itself, with a parity.
//! 2. The layer of an input is 0. The layer of an XOR or a local AND is the greatest of its
//!    operands' layers. The layer of any other AND is one more than that.
//! 3. Each AND of a layer joins the group of the operand that more ANDs of the layer have, or of
//!    the lower wire if both have equally many. The groups are in order of that wire and their ANDs
//!    in order of their own wires. Groups are cut into pieces of 128.
//! 4. In a piece, the cross in which the garbler chooses comes first, then the one in which the
//!    evaluator chooses. A cross without gates is left out.
//!
//! Time is linear in the circuit, except for sorting the ANDs of each layer. Memory is 17 bytes a
//! wire and 12 an AND.

mod group;

use crate::{Circuit, Gate, Owners, Role, Wire};
pub(crate) use group::LayerAnd;

/// The greatest number of ANDs of a cross.
pub const CROSS_GATES: usize = 128;

/// A wire and whether it is negated, in four bytes. The constant 0 has the number after the
/// circuit's wires.
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

    /// Returns the wire and the parity as bits.
    pub(crate) fn to_bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// The layers of a circuit for given owners of its ports.
#[derive(Clone, Debug)]
pub struct Layers {
    /// For each wire, and for the constant 0, the literal of the wire that it stands for.
    under: Vec<Literal>,
    owners: Vec<Owners>,
    layer: Vec<u32>,
    /// The ANDs that need crosses, in order of layers and pieces.
    ands: Vec<LayerAnd>,
    /// The end of each piece's ANDs in `ands`.
    pieces: Vec<u32>,
    /// The end of each layer's pieces in `pieces`, from layer 0 on.
    ends: Vec<u32>,
    live: usize,
}

/// A hashed correlated OT by which the parties multiply a bit of the choosing party by bits of the
/// other party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cross {
    /// The OT's receiver. It opens one bit, and the other party opens one bit for each gate.
    pub chooser: Role,
    /// The common operand of the gates.
    pub common: Wire,
    /// The gates, at most [`CROSS_GATES`].
    pub gates: Vec<CrossGate>,
}

/// An AND of a [`Cross`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossGate {
    /// The wire of the AND.
    pub gate: Wire,
    /// The AND's other operand.
    pub other: Wire,
    /// Whether the other operand is negated.
    pub negated: bool,
}

/// The amount that one instance of a circuit exchanges in a layer. Arrays are indexed by the number
/// of a [`Role`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerOutline {
    /// The number of OTs, by their sender.
    pub ots: [u64; 2],
    /// The number of OTs with one gate, which `ots` includes.
    pub narrow_ots: [u64; 2],
    /// The number of opened bits, by their sender.
    pub opened_bits: [u64; 2],
}

impl Circuit {
    /// Computes the layers of the circuit over XOR shares, where `owners_of_ports` own its input
    /// ports.
    ///
    /// # Panics
    ///
    /// If the number of owners is not the number of input ports.
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
        // The constant 0 is no operand before the last gate exists, so it is recognized by its
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

    /// Returns the layer and the owners of an operand. Works for the constant 0 even while gates
    /// are missing.
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

    /// Returns the greatest number of wires that are live after a layer. Such a wire is of this
    /// layer or an earlier one, and a gate of a later layer reads it or a result stands for it.
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

    /// Returns the literal of the wire that `wire` stands for.
    pub(crate) fn under(&self, wire: Wire) -> Literal {
        self.under[wire as usize]
    }

    /// Returns the number of the constant 0, which follows the circuit's wires.
    pub(crate) fn zero(&self) -> Wire {
        self.under.len() as Wire - 1
    }

    /// Whether `wire`'s own gate computes it, so that it stands for no other wire.
    pub(crate) fn computes(&self, wire: Wire) -> bool {
        self.under(wire).wire() == wire
    }

    pub(crate) fn owners(&self, wire: Wire) -> Owners {
        self.owners[wire as usize]
    }

    pub(crate) fn layer(&self, wire: Wire) -> u32 {
        self.layer[wire as usize]
    }

    /// Iterates over the pieces of a layer, from 1 on, and yields the ANDs of each.
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

    /// Returns the number of layers that exchange messages.
    pub fn depth(&self) -> u32 {
        self.ends.len() as u32 - 1
    }

    /// Returns the greatest number of wires that are live after any layer, including public ones.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Iterates over the crosses of a layer, from 1 to [`Self::depth`], in order.
    pub fn crosses(&self, layer: u32) -> impl Iterator<Item = Cross> {
        self.pieces(layer).flat_map(|ands| {
            let crosses = Role::BOTH.map(|chooser| self.cross(chooser, ands));
            crosses.into_iter().filter(|cross| !cross.gates.is_empty())
        })
    }

    /// Returns the cross with the gates of a piece whose common operand `chooser` owns and whose
    /// other operand the other party owns.
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

/// The latest layer whose gates read each wire, and the constant 0.
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
