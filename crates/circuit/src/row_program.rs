//! Row programs: circuits over XOR shares, for many instances at once.
//!
//! A *row* holds one wire's shares in all instances, where bit i belongs to instance i. A program
//! lists the operations on rows, layer by layer. Rows are in *slots*, which are reused once nothing
//! reads them any more. No message depends on slots.
//!
//! Layer 0 has only local operations, on inputs. Each layer from 1 on starts with pieces: ANDs
//! whose masked operands are opened ([`Layers`](crate::Layers)). Its local operations follow.
//! Negations and public bits are folded into them by the rule of [`Owners::adds_public`]. A value
//! that nothing reads is left out unless it is opened.
//!
//! A program takes 12 bytes for each XOR or local AND and 8 for each other AND. Making it takes
//! another 25 bytes a wire and 12 for each of these ANDs. The time is linear in the circuit, except
//! for [`Layers`](crate::Layers).

mod place;

use crate::{Circuit, LayerOutline, Owners, Role};

/// The slot of a wire that has none because nothing reads it.
pub const NO_SLOT: u32 = u32::MAX;

/// A circuit compiled for rows, for given owners of its ports.
#[derive(Clone, Debug)]
pub struct RowProgram {
    live: usize,
    slots: u32,
    zero: Option<u32>,
    inputs: Vec<u32>,
    results: Vec<RowResult>,
    owners_of_results: Vec<Owners>,
    pieces: Vec<PieceShape>,
    gates: Vec<RowGate>,
    operations: Vec<RowOperation>,
    /// The ends of each layer's pieces, gates and operations, from layer 0 on.
    ends: Vec<[u32; 3]>,
    outlines: Vec<LayerOutline>,
}

/// The common operand of a piece and the number of its gates.
#[derive(Clone, Copy, Debug)]
struct PieceShape {
    common: u32,
    gates: u8,
    /// The number of gates of the cross that each party chooses.
    widths: [u8; 2],
}

/// ANDs of a layer with a common operand x, at most [`CROSS_GATES`](crate::CROSS_GATES), with their
/// one or two crosses.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'p> {
    /// The slot of x.
    pub common: u32,
    /// The number of gates of the cross that each party chooses, by the party's number. It is 0 for
    /// a cross that is left out. The garbler's cross comes first.
    pub widths: [usize; 2],
    /// The gates, in order.
    pub gates: &'p [RowGate],
}

/// An AND of a [`Piece`], in eight bytes.
#[derive(Clone, Copy, Debug)]
pub struct RowGate {
    /// The slot of y, and three bits: x is negated; the garbler inverts its share of y; the
    /// evaluator does.
    other: u32,
    /// The slot of the result, and a bit for each party that chooses a cross with this gate.
    result: u32,
}

impl RowGate {
    /// Returns the slot of the other operand, y.
    pub fn other(self) -> usize {
        (self.other >> 3) as usize
    }

    /// Returns the slot of the result. It may be that of an operand that nothing reads any more.
    pub fn result(self) -> usize {
        (self.result >> 2) as usize
    }

    /// Whether the common operand is negated. If so, each party adds its share of y, with y's
    /// negation, to its product.
    pub fn negates_common(self) -> bool {
        self.other & 1 == 1
    }

    /// Whether `role` inverts its share of y.
    pub fn inverts_other(self, role: Role) -> bool {
        self.other >> (1 + role as u32) & 1 == 1
    }

    /// Whether the gate is in the cross that `role` chooses.
    pub fn is_chosen_by(self, role: Role) -> bool {
        self.result >> role as u32 & 1 == 1
    }
}

/// A local action that makes a row from one or two rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAction {
    /// The exclusive or of the selected rows, optionally inverted.
    Xor {
        /// Whether the first row is included.
        first: bool,
        /// Whether the second row is included.
        second: bool,
        /// Whether the result is inverted.
        invert: bool,
    },
    /// The conjunction of the two rows, each optionally inverted.
    And {
        /// Whether the first row is inverted.
        invert_first: bool,
        /// Whether the second row is inverted.
        invert_second: bool,
    },
}

/// A local operation, in twelve bytes.
#[derive(Clone, Copy, Debug)]
pub struct RowOperation {
    /// The slots of the operands. Each also holds three bits with the action of one party.
    operands: [u32; 2],
    /// The slot of the result, and whether the operation is a conjunction.
    result: u32,
}

impl RowOperation {
    /// Returns the slots of both operands.
    pub fn operands(self) -> [usize; 2] {
        self.operands.map(|operand| (operand >> 3) as usize)
    }

    /// Returns the slot of the result. It may be that of an operand that nothing reads any more.
    pub fn result(self) -> usize {
        (self.result >> 1) as usize
    }

    /// Returns the action of `role`.
    pub fn action(self, role: Role) -> RowAction {
        let bits = self.operands[role as usize];
        let bit = |n: u32| bits >> n & 1 == 1;
        if self.result & 1 == 1 {
            RowAction::And {
                invert_first: bit(0),
                invert_second: bit(1),
            }
        } else {
            RowAction::Xor {
                first: bit(0),
                second: bit(1),
                invert: bit(2),
            }
        }
    }
}

/// The location of a result bit after the last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// The slot of the wire.
    pub slot: u32,
    /// Whether the bit is the negation of the wire in that slot. [`Owners::adds_public`] tells
    /// which party inverts its share.
    pub negated: bool,
}

impl RowProgram {
    /// Compiles a circuit whose input ports are owned by `owners_of_ports`.
    ///
    /// # Panics
    ///
    /// If the number of owners is not the number of input ports, or more than 2^29 rows are live at
    /// once.
    pub fn compile(circuit: &Circuit, owners_of_ports: &[Owners]) -> Self {
        place::place(circuit, &circuit.layers(owners_of_ports))
    }

    /// Returns the number of layers that exchange messages.
    pub fn depth(&self) -> u32 {
        self.ends.len() as u32 - 1
    }

    /// Returns the greatest number of wires that are live after any layer, including public ones,
    /// as [`Layers::live`](crate::Layers::live) does.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Returns the number of slots.
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// Returns the slot that holds only zeros, from before layer 0 to the end, if there is one.
    pub fn zero_slot(&self) -> Option<u32> {
        self.zero
    }

    /// Returns the slot of each input bit before layer 0, in port order, or [`NO_SLOT`] if nothing
    /// reads it.
    pub fn inputs(&self) -> &[u32] {
        &self.inputs
    }

    /// Returns the location of each result bit after the last layer, in port order.
    pub fn results(&self) -> &[RowResult] {
        &self.results
    }

    /// Returns the owners of each result bit, in port order.
    pub fn owners_of_results(&self) -> &[Owners] {
        &self.owners_of_results
    }

    /// Iterates over the pieces of a layer, in the order in which their bits are opened.
    pub fn pieces(&self, layer: u32) -> impl Iterator<Item = Piece<'_>> {
        let [pieces, gates, _] = self.begin(layer);
        let mut gate = gates;
        let pieces = &self.pieces[pieces..self.ends[layer as usize][0] as usize];
        pieces.iter().map(move |piece| {
            let first = gate;
            gate += usize::from(piece.gates);
            Piece {
                common: piece.common,
                widths: piece.widths.map(usize::from),
                gates: &self.gates[first..gate],
            }
        })
    }

    /// Returns the local operations of a layer, in order. They follow its pieces.
    pub fn operations(&self, layer: u32) -> &[RowOperation] {
        &self.operations[self.begin(layer)[2]..self.ends[layer as usize][2] as usize]
    }

    /// Returns the amount that one instance exchanges in a layer.
    pub fn outline(&self, layer: u32) -> LayerOutline {
        self.outlines[layer as usize]
    }

    fn begin(&self, layer: u32) -> [usize; 3] {
        let before = layer
            .checked_sub(1)
            .map(|before| self.ends[before as usize]);
        before.unwrap_or_default().map(|end| end as usize)
    }
}
