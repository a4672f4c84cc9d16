//! Row programs: circuits over XOR shares, for many instances at once.
//!
//! A *row* holds one wire's shares of all instances, bit i of instance i; a program says what to do
//! with rows, layer by layer. Rows stand in *slots*, which are taken over once nobody reads them
//! any more. Nothing that is sent depends on slots.
//!
//! Layer 0 has only local operations, on inputs. Each layer from 1 on first has pieces: ANDs whose
//! masked operands are opened ([`Layers`](crate::Layers)). Then come its local operations.
//! Negations and public bits are folded into them by the rule of [`Owners::adds_public`]. What
//! nobody reads is left out unless it is opened.
//!
//! A program takes 12 bytes an XOR or local AND and 8 another AND; making it takes 25 bytes a wire
//! and 12 such an AND besides, and time linear in the circuit but for [`Layers`](crate::Layers).

mod place;

use crate::{Circuit, LayerOutline, Owners, Role};

/// The slot of a wire that has none, since nobody reads it.
pub const NO_SLOT: u32 = u32::MAX;

/// A circuit compiled for rows, for some owners of its ports.
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
    /// For each layer, from 0, where its pieces, its gates and its operations end.
    ends: Vec<[u32; 3]>,
    outlines: Vec<LayerOutline>,
}

/// The common operand of a piece, and its number of gates.
#[derive(Clone, Copy, Debug)]
struct PieceShape {
    common: u32,
    gates: u8,
    /// Gates of the cross that each party chooses.
    widths: [u8; 2],
}

/// ANDs of a layer with a common operand x, at most [`CROSS_GATES`](crate::CROSS_GATES), and their
/// one or two crosses.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'p> {
    /// The slot of x.
    pub common: u32,
    /// Gates of the cross that each party chooses, by its number; 0 where it is left out. The
    /// garbler's cross comes first.
    pub widths: [usize; 2],
    /// The gates, in order.
    pub gates: &'p [RowGate],
}

/// An AND of a [`Piece`], in eight bytes.
#[derive(Clone, Copy, Debug)]
pub struct RowGate {
    /// The slot of y, and bits: x is negated; the garbler, the evaluator inverts its share of y.
    other: u32,
    /// The result's slot, and a bit for each party that chooses a cross with this gate.
    result: u32,
}

impl RowGate {
    /// The slot of the other operand, y.
    #[must_use]
    pub fn other(self) -> usize {
        (self.other >> 3) as usize
    }

    /// The slot of the result. It may be that of an operand that nobody reads any more.
    #[must_use]
    pub fn result(self) -> usize {
        (self.result >> 2) as usize
    }

    /// Whether the common operand is negated: each party then adds its share of y, with y's
    /// negation, to its product.
    #[must_use]
    pub fn negates_common(self) -> bool {
        self.other & 1 == 1
    }

    /// Whether `role` inverts its share of y.
    #[must_use]
    pub fn inverts_other(self, role: Role) -> bool {
        self.other >> (1 + role as u32) & 1 == 1
    }

    /// Whether the gate is in the cross that `role` chooses.
    #[must_use]
    pub fn is_chosen_by(self, role: Role) -> bool {
        self.result >> role as u32 & 1 == 1
    }
}

/// What a party does without a message to make a row of one or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowAction {
    /// The exclusive or of those of the two rows that count, inverted or not.
    Xor {
        /// Whether the first row counts.
        first: bool,
        /// Whether the second row counts.
        second: bool,
        /// Whether the result is inverted.
        invert: bool,
    },
    /// The conjunction of the two rows, each inverted or not.
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
    /// The slots of the operands, each with three bits for a party: what it does.
    operands: [u32; 2],
    /// The result's slot, and whether it is a conjunction.
    result: u32,
}

impl RowOperation {
    /// The slots of both operands.
    #[must_use]
    pub fn operands(self) -> [usize; 2] {
        self.operands.map(|operand| (operand >> 3) as usize)
    }

    /// The slot of the result. It may be that of an operand that nobody reads any more.
    #[must_use]
    pub fn result(self) -> usize {
        (self.result >> 1) as usize
    }

    /// What `role` does.
    #[must_use]
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

/// Where a bit of a result is after the last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowResult {
    /// The slot.
    pub slot: u32,
    /// Whether the bit is the negation of the wire in that slot; who inverts its share of it says
    /// [`Owners::adds_public`].
    pub negated: bool,
}

impl RowProgram {
    /// The circuit's program, where `owners_of_ports` own its input ports.
    ///
    /// # Panics
    ///
    /// If there are not as many owners as input ports, or more than 2^29 rows are live at once.
    #[must_use]
    pub fn compile(circuit: &Circuit, owners_of_ports: &[Owners]) -> Self {
        place::place(circuit, &circuit.layers(owners_of_ports))
    }

    /// Number of layers that exchange anything.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.ends.len() as u32 - 1
    }

    /// Most wires that are live behind any layer, public ones too:
    /// [`Layers::live`](crate::Layers::live).
    #[must_use]
    pub fn live(&self) -> usize {
        self.live
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots as usize
    }

    /// The slot that holds only zeros, from before layer 0 to the end, if one has to.
    #[must_use]
    pub fn zero_slot(&self) -> Option<u32> {
        self.zero
    }

    /// The slot of each input bit before layer 0, in port order, [`NO_SLOT`] if nobody reads it.
    #[must_use]
    pub fn inputs(&self) -> &[u32] {
        &self.inputs
    }

    /// Where each bit of the results is after the last layer, in port order.
    #[must_use]
    pub fn results(&self) -> &[RowResult] {
        &self.results
    }

    /// Who owns each bit of the results, in port order.
    #[must_use]
    pub fn owners_of_results(&self) -> &[Owners] {
        &self.owners_of_results
    }

    /// The pieces of a layer, in the order in which their bits are opened.
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

    /// The local operations of a layer, in order. They come after its pieces.
    #[must_use]
    pub fn operations(&self, layer: u32) -> &[RowOperation] {
        &self.operations[self.begin(layer)[2]..self.ends[layer as usize][2] as usize]
    }

    /// What one instance exchanges in a layer.
    #[must_use]
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
