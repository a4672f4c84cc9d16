//! The data that each party keeps of an instance.
//!
//! The data consists of blocks of 16 bytes. M is the MAC of the party's own bit, and K' = K ⊕ bΔ,
//! with K its key of the other party's bit and b its own bit. These parts add up as masks do. So
//! the masks of wires within the component, and the parts that a gate takes of them, are computed
//! again when the instance is linked.
//!
//! | | garbler | evaluator |
//! |---|---|---|
//! | first | Δ; the instance's number in the epoch (4 bytes), the size of a row (1) | the same |
//! | of each input | M, K', the label of masked value 0 | M, K' |
//! | of each AND gate | | T_0, T_1, M and K' of λ_o and of p |
//! | of each output | M, K', the label of masked value 0 | |
//! | of each AND gate | | its rows |
//!
//! λ_o is the mask of a gate's output, and p = λ_iλ_j ⊕ λ_o. The table's select bit is added to the
//! evaluator's M of p.

use tacit_circuit::Component;
use tacit_function::Role;
use tacit_kernels::Block;
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::super::epoch::is_of_role;
use super::super::garbling::label_rules;
use super::super::gates::OpenGates;
use super::super::parameters::SecurityBits;
use super::super::rows::{GATE_ROWS, row_bytes};
use super::super::share::Share;
use super::super::walk::{Rules, Wire};
use crate::Error;

/// The number of blocks before those of inputs.
const HEADER: usize = 2;

/// The number of blocks that a party keeps for an input, an AND gate and an output.
#[derive(Clone, Copy, Default)]
pub(super) struct Layout {
    pub(super) input: usize,
    pub(super) and: usize,
    output: usize,
    /// The bytes of the rows of an AND gate, which follow all blocks.
    pub(super) row_bytes: usize,
}

impl Layout {
    pub(super) fn of(role: Role, ordered_at: SecurityBits) -> Self {
        let (input, and, output, row_bytes) = match role {
            Role::Garbler => (3, 0, 3, 0),
            Role::Evaluator => (2, 6, 0, GATE_ROWS * row_bytes(ordered_at)),
        };
        Self {
            input,
            and,
            output,
            row_bytes,
        }
    }
}

/// Returns the size in bytes of the data that `role` keeps of an instance of `component`.
pub fn instance_bytes(role: Role, component: &Component, ordered_at: SecurityBits) -> u64 {
    let layout = Layout::of(role, ordered_at);
    let circuit = component.circuit();
    let inputs = (layout.input * circuit.input_bits()) as u64;
    let outputs = (layout.output * circuit.output_bits()) as u64;
    let gates = component.program().ands().len();
    let (ands, rows) = (
        (layout.and * gates) as u64,
        (layout.row_bytes * gates) as u64,
    );
    (HEADER as u64 + inputs + ands + outputs) * Block::BYTES as u64 + rows
}

/// The data that a party keeps of an instance. Secret; used once.
#[derive(Default)]
pub(crate) struct KeptInstance {
    bytes: Zeroizing<Vec<u8>>,
    layout: Layout,
    /// The number of blocks before those of AND gates, and before those of outputs.
    ands: usize,
    outputs: usize,
    /// The number of AND gates already opened.
    gates: usize,
    /// The number of bytes before the rows.
    rows: usize,
}

impl KeptInstance {
    /// Parses the data that `role` keeps of an instance of `component`.
    pub(super) fn parse(
        role: Role,
        component: &Component,
        ordered_at: SecurityBits,
        bytes: Zeroizing<Vec<u8>>,
    ) -> Result<Self, Error> {
        if bytes.len() as u64 != instance_bytes(role, component, ordered_at) {
            return Err(broken());
        }
        let layout = Layout::of(role, ordered_at);
        let ands = HEADER + layout.input * component.circuit().input_bits();
        let outputs = ands + layout.and * component.program().ands().len();
        let blocks = outputs + layout.output * component.circuit().output_bits();
        let kept = Self {
            layout,
            ands,
            outputs,
            gates: 0,
            rows: blocks * Block::BYTES,
            bytes,
        };
        let due = header(Block::ZERO, kept.number(), ordered_at)[1];
        let has_rows = kept.blocks()[1] == due.to_bytes();
        if is_of_role(kept.delta(), role) && has_rows {
            return Ok(kept);
        }
        Err(broken())
    }

    fn blocks(&self) -> &[[u8; Block::BYTES]] {
        self.bytes.as_chunks().0
    }

    /// Returns the party's Δ.
    pub(super) fn delta(&self) -> Block {
        Block::from_bytes(self.blocks()[0])
    }

    /// Returns the instance's number in the epoch.
    pub(super) fn number(&self) -> u32 {
        self.blocks()
            .get(1)
            .map_or(0, |block| Block::from_bytes(*block).to_u128() as u32)
    }

    /// Returns the contents of the inputs, in order.
    pub(super) fn inputs<S: Side>(&self) -> impl Iterator<Item = S::Wire> {
        let inputs = self.blocks()[HEADER..self.ands].chunks_exact(self.layout.input);
        inputs.map(S::input)
    }

    /// Returns the contents of the outputs, in order, if they are kept.
    pub(super) fn outputs<S: Side>(&self) -> Option<impl Iterator<Item = S::Wire>> {
        let blocks = self.bytes.get(Block::BYTES * self.outputs..self.rows)?;
        let outputs = (self.layout.output > 0).then_some(blocks.as_chunks().0);
        outputs.map(|outputs| outputs.chunks_exact(self.layout.output).map(S::input))
    }

    /// Adds the next `count` AND gates, whose inputs carry `inputs`, to `piece`. Appends the
    /// contents of their outputs to `outputs`.
    pub(super) fn open<S: Side>(
        &mut self,
        inputs: impl Iterator<Item = [S::Wire; 2]>,
        count: usize,
        piece: &mut S::Piece,
        outputs: &mut Vec<S::Wire>,
    ) {
        let Layout { and, row_bytes, .. } = self.layout;
        let gates = self.gates..self.gates + count;
        self.gates = gates.end;
        let rows = self.rows + row_bytes * gates.start..self.rows + row_bytes * gates.end;
        S::add_rows(piece, &self.bytes[rows], row_bytes);
        let blocks = self.ands + and * gates.start..self.ands + and * gates.end;
        let ands = self.blocks()[blocks].chunks_exact(and);
        outputs.extend(
            ands.zip(inputs)
                .map(|(and, inputs)| S::and(piece, inputs, and)),
        );
    }
}

/// Returns the blocks with which an instance starts.
pub(super) fn header(delta: Block, number: u32, ordered_at: SecurityBits) -> [Block; HEADER] {
    let rows = row_bytes(ordered_at) as u128;
    [
        delta,
        Block::from_u128(u128::from(number) | rows << u32::BITS),
    ]
}

/// A party's side of the kept data, with the contents of its wires during the walk that computes
/// links.
pub(crate) trait Side {
    const ROLE: Role;
    type Wire: Wire;
    /// A number of gates that are opened together.
    type Piece;

    /// Returns the content of an input.
    fn input(blocks: &[[u8; Block::BYTES]]) -> Self::Wire;

    /// Returns the content of the function's input bit whose first wire carries `wire`.
    fn given(wire: Self::Wire) -> Self::Wire;

    /// Returns the parts of a wire's mask.
    fn mask(wire: Self::Wire) -> Share;

    /// Returns the contents for constants and negations.
    fn rules(delta: Block) -> Rules<Self::Wire>;

    /// Returns an empty piece with room for `capacity` gates.
    fn piece(capacity: usize) -> Self::Piece;

    /// Adds an AND gate. Returns the content of its output.
    fn and(
        piece: &mut Self::Piece,
        inputs: [Self::Wire; 2],
        kept: &[[u8; Block::BYTES]],
    ) -> Self::Wire;

    /// Adds the rows of AND gates, `row_bytes` bytes for each gate.
    fn add_rows(_piece: &mut Self::Piece, _rows: &[u8], _row_bytes: usize) {}
}

/// The content of a wire at the garbler.
#[derive(Clone, Copy, Default)]
pub(crate) struct GarblerWire {
    mask: Share,
    /// The label of masked value 0.
    pub(super) label: Block,
}

impl zeroize::DefaultIsZeroes for GarblerWire {}

impl std::ops::BitXor for GarblerWire {
    type Output = Self;
    fn bitxor(self, other: Self) -> Self {
        Self {
            mask: self.mask ^ other.mask,
            label: self.label ^ other.label,
        }
    }
}

/// The garbler's side.
pub(crate) struct GarblerSide;

fn room(capacity: usize) -> Outputs {
    Zeroizing::new(Vec::with_capacity(capacity))
}

impl Side for GarblerSide {
    const ROLE: Role = Role::Garbler;
    type Wire = GarblerWire;
    type Piece = ();

    fn input(blocks: &[[u8; Block::BYTES]]) -> GarblerWire {
        GarblerWire {
            mask: share(blocks),
            label: Block::from_bytes(blocks[2]),
        }
    }

    /// The label of a function's input is public, and not that of any instance.
    fn given(wire: GarblerWire) -> GarblerWire {
        GarblerWire {
            label: Block::ZERO,
            ..wire
        }
    }

    fn mask(wire: GarblerWire) -> Share {
        wire.mask
    }

    fn rules(delta: Block) -> Rules<GarblerWire> {
        let mac = |mac| Share {
            mac,
            key: Block::ZERO,
        };
        let labels = label_rules(delta);
        Rules {
            constant: GarblerWire {
                mask: Share::default(),
                label: labels.constant(true),
            },
            negation: GarblerWire {
                mask: mac(Block::from_u128(1)),
                label: Block::ZERO,
            },
        }
    }

    fn piece(_capacity: usize) {}

    /// Never called: the garbler's instances keep the contents of their outputs, so it enters no
    /// AND gate.
    fn and(_piece: &mut (), [first, _]: [GarblerWire; 2], _kept: &[[u8; 16]]) -> GarblerWire {
        first
    }
}

/// Gates at the evaluator: its parts for the tables, its parts for the garbler's proof, tables and
/// rows.
pub(crate) struct EvaluatorPiece {
    pub(super) parts: [Outputs; 3],
    pub(super) proof: [Outputs; 3],
    pub(super) tables: Vec<[u8; Block::BYTES]>,
    pub(super) rows: Vec<u8>,
}

/// The evaluator's side.
pub(crate) struct EvaluatorSide;

impl Side for EvaluatorSide {
    const ROLE: Role = Role::Evaluator;
    type Wire = Share;
    type Piece = EvaluatorPiece;

    fn input(blocks: &[[u8; Block::BYTES]]) -> Share {
        share(blocks)
    }

    fn given(wire: Share) -> Share {
        wire
    }

    fn mask(wire: Share) -> Share {
        wire
    }

    fn rules(delta: Block) -> Rules<Share> {
        Rules {
            constant: Share::default(),
            negation: Share {
                mac: Block::ZERO,
                key: delta ^ Block::from_u128(1),
            },
        }
    }

    fn piece(capacity: usize) -> EvaluatorPiece {
        EvaluatorPiece {
            parts: [(); 3].map(|()| room(capacity)),
            proof: [(); 3].map(|()| room(capacity)),
            tables: Vec::with_capacity(2 * capacity),
            rows: Vec::new(),
        }
    }

    fn add_rows(piece: &mut EvaluatorPiece, rows: &[u8], row_bytes: usize) {
        if piece.rows.is_empty() {
            let room = row_bytes * piece.parts[0].capacity();
            piece.rows.reserve_exact(room);
        }
        piece.rows.extend_from_slice(rows);
    }

    fn and(
        piece: &mut EvaluatorPiece,
        [first, second]: [Share; 2],
        kept: &[[u8; Block::BYTES]],
    ) -> Share {
        let product = share(&kept[4..]);
        for (i, share) in [first, second, product].into_iter().enumerate() {
            piece.parts[i].push(share.mac);
            piece.proof[i].push(share.key);
        }
        piece.tables.extend_from_slice(&kept[..2]);
        share(&kept[2..])
    }
}

fn share(blocks: &[[u8; Block::BYTES]]) -> Share {
    let [mac, key] = [0, 1].map(|i| Block::from_bytes(blocks[i]));
    Share { mac, key }
}

impl EvaluatorPiece {
    /// Returns the gates, their tables and their rows.
    pub(super) fn open(self, delta: Block) -> (OpenGates, Vec<[u8; Block::BYTES]>, Vec<u8>) {
        let one = delta ^ Block::from_u128(1);
        let gates = OpenGates::of_kept(self.parts, self.proof, one);
        (gates, self.tables, self.rows)
    }
}

pub(super) fn broken() -> Error {
    Error::DamagedMaterial(
        "instances in the stock are not of one lot, this role and these components".to_owned(),
    )
}
