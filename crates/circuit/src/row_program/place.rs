//! From layers to a program: the selection, order and slots of the operations.

use super::{NO_SLOT, PieceShape, RowGate, RowOperation, RowProgram, RowResult};
use crate::layers::{LayerAnd, Literal};
use crate::{Circuit, Gate, LayerOutline, Layers, Role, Wire};

/// The greatest number of slots. A slot's number and three bits fit four bytes.
const MOST_SLOTS: u32 = 1 << 29;

pub(super) fn place(circuit: &Circuit, layers: &Layers) -> RowProgram {
    let reads = count_reads(circuit, layers);
    let mut local = local_gates(circuit, layers, &reads);
    let mut placing = RowPlacer::new(circuit, layers, reads);
    let inputs = (0..circuit.input_bits() as Wire).map(|wire| placing.take_if_read(wire));
    placing.program.inputs = inputs.collect();
    let mut begin = 0;
    for (layer, end) in (0..).zip(&local.ends) {
        placing.pieces(layer);
        for gate in &mut local.gates[begin..*end] {
            placing.local(gate);
        }
        begin = *end;
        placing.end_layer(begin);
    }
    placing.program.operations = local.gates;
    placing.finish(circuit)
}

/// Returns how often the program reads each wire, including for results. Local gates that nothing
/// reads do not count as readers.
fn count_reads(circuit: &Circuit, layers: &Layers) -> Vec<u32> {
    let mut reads = vec![0_u32; circuit.wire_count() + 1];
    for wire in circuit.output_wires() {
        reads[layers.under(*wire).wire() as usize] += 1;
    }
    let wires = circuit.input_bits() as Wire..circuit.wire_count() as Wire;
    for (wire, gate) in wires.rev().zip(circuit.gates().rev()) {
        let Some((is_and, x, y)) = operands(layers, wire, gate) else {
            continue;
        };
        if reads[wire as usize] > 0 || is_and && needs_crosses(layers, x, y) {
            reads[x.wire() as usize] += 1;
            reads[y.wire() as usize] += 1;
        }
    }
    reads
}

/// Returns, for a gate that computes, whether it is an AND, and its operands.
fn operands(layers: &Layers, wire: Wire, gate: Gate) -> Option<(bool, Literal, Literal)> {
    let (is_and, a, b) = match gate {
        Gate::Inv(_) => return None,
        Gate::And(a, b) => (true, a, b),
        Gate::Xor(a, b) => (false, a, b),
    };
    let computes = layers.computes(wire);
    computes.then(|| (is_and, layers.under(a), layers.under(b)))
}

fn needs_crosses(layers: &Layers, x: Literal, y: Literal) -> bool {
    let owners = [x, y].map(|operand| layers.owners(operand.wire()));
    owners[0].need_crosses(owners[1])
}

/// The local gates that are read, sorted by layer. Until an operation is placed, it holds the
/// literals of its operands and its own wire in the fields for slots.
struct LocalGates {
    gates: Vec<RowOperation>,
    ends: Vec<usize>,
}

fn local_gates(circuit: &Circuit, layers: &Layers, reads: &[u32]) -> LocalGates {
    let local = || {
        let gates = (circuit.input_bits() as Wire..).zip(circuit.gates());
        let read = gates.filter(|(wire, _)| reads[*wire as usize] > 0);
        read.filter_map(|(wire, gate)| {
            let (is_and, x, y) = operands(layers, wire, gate)?;
            let operation = RowOperation {
                operands: [x.to_bits(), y.to_bits()],
                result: wire << 1 | u32::from(is_and),
            };
            (!(is_and && needs_crosses(layers, x, y))).then_some((wire, operation))
        })
    };
    let mut ends = vec![0_usize; layers.depth() as usize + 1];
    for (wire, _) in local() {
        ends[layers.layer(wire) as usize] += 1;
    }
    let mut total = 0;
    for end in &mut ends {
        // At first the start of the layer's gates. It moves to their end as they are added.
        total += std::mem::replace(end, total);
    }
    let nothing = RowOperation {
        operands: [0; 2],
        result: 0,
    };
    let mut gates = vec![nothing; total];
    for (wire, operation) in local() {
        let at = &mut ends[layers.layer(wire) as usize];
        gates[*at] = operation;
        *at += 1;
    }
    LocalGates { gates, ends }
}

struct RowPlacer<'l> {
    layers: &'l Layers,
    /// The number of remaining reads of each wire.
    reads: Vec<u32>,
    slot: Vec<u32>,
    free: Vec<u32>,
    outline: LayerOutline,
    program: RowProgram,
}

impl<'l> RowPlacer<'l> {
    fn new(circuit: &Circuit, layers: &'l Layers, reads: Vec<u32>) -> Self {
        let program = RowProgram {
            live: layers.live(),
            slots: 0,
            zero: None,
            inputs: Vec::new(),
            results: Vec::with_capacity(circuit.output_bits()),
            owners_of_results: Vec::with_capacity(circuit.output_bits()),
            pieces: Vec::new(),
            gates: Vec::new(),
            operations: Vec::new(),
            ends: Vec::new(),
            outlines: Vec::new(),
        };
        let mut placing = Self {
            layers,
            slot: vec![NO_SLOT; reads.len()],
            reads,
            free: Vec::new(),
            outline: LayerOutline::default(),
            program,
        };
        let zero = layers.zero();
        if placing.reads[zero as usize] > 0 {
            // An extra read keeps the slot to the end.
            placing.reads[zero as usize] += 1;
            placing.program.zero = Some(placing.take_if_read(zero));
        }
        placing
    }

    /// Takes a slot for a new wire if the wire is read.
    fn take_if_read(&mut self, wire: Wire) -> u32 {
        if self.reads[wire as usize] == 0 {
            return NO_SLOT;
        }
        let slot = self.take();
        self.slot[wire as usize] = slot;
        slot
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let slot = self.program.slots;
            assert!(slot < MOST_SLOTS, "a program has at most 2^29 rows live");
            self.program.slots += 1;
            slot
        })
    }

    /// Returns the slot of an operand, which becomes free after its last read.
    fn read(&mut self, operand: Literal) -> u32 {
        let wire = operand.wire() as usize;
        self.reads[wire] -= 1;
        if self.reads[wire] == 0 {
            self.free.push(self.slot[wire]);
        }
        self.slot[wire]
    }

    fn pieces(&mut self, layer: u32) {
        let layers = self.layers;
        for ands in layers.pieces(layer) {
            let common = self.slot[ands[0].x.wire() as usize];
            let mut widths = [0; 2];
            for and in ands {
                self.gate(and, &mut widths);
            }
            let outline = &mut self.outline;
            for chooser in Role::BOTH {
                let (width, sender) = (widths[chooser as usize], chooser.other() as usize);
                outline.ots[sender] += u64::from(width > 0);
                outline.narrow_ots[sender] += u64::from(width == 1);
                outline.opened_bits[chooser as usize] += u64::from(width > 0);
                outline.opened_bits[sender] += u64::from(width);
            }
            self.program.pieces.push(PieceShape {
                common,
                gates: ands.len() as u8,
                widths,
            });
        }
    }

    fn gate(&mut self, and: &LayerAnd, widths: &mut [u8; 2]) {
        let owners = self.layers.owners(and.y.wire());
        let mut other = u32::from(and.x.is_negated());
        let mut choosers = 0;
        for role in Role::BOTH {
            let inverts = and.y.is_negated() && owners.adds_public(role);
            other |= u32::from(inverts) << (1 + role as u32);
            let chosen = and.is_chosen_by(role, self.layers);
            choosers |= u32::from(chosen) << role as u32;
            widths[role as usize] += u8::from(chosen);
        }
        other |= self.read(and.y) << 3;
        self.read(and.x);
        let slot = match self.take_if_read(and.gate) {
            NO_SLOT => {
                // The gate's bits are opened nevertheless. Any free slot takes the result.
                let slot = self.take();
                self.free.push(slot);
                slot
            }
            slot => slot,
        };
        self.program.gates.push(RowGate {
            other,
            result: slot << 2 | choosers,
        });
    }

    fn local(&mut self, operation: &mut RowOperation) {
        let [x, y] = operation.operands.map(Literal::from_bits);
        let (wire, is_and) = (operation.result >> 1, operation.result & 1 == 1);
        let bits = Role::BOTH.map(|role| {
            if is_and {
                self.conjunction(role, x, y)
            } else {
                self.exclusive_or(role, wire, x, y)
            }
        });
        let slots = [self.read(x), self.read(y)];
        operation.operands = core::array::from_fn(|i| slots[i] << 3 | bits[i]);
        operation.result = self.take_if_read(wire) << 1 | u32::from(is_and);
    }

    /// Whether `role` inverts its share of an operand.
    fn inverts(&self, role: Role, operand: Literal) -> bool {
        operand.is_negated() && self.layers.owners(operand.wire()).adds_public(role)
    }

    fn conjunction(&self, role: Role, x: Literal, y: Literal) -> u32 {
        u32::from(self.inverts(role, x)) | u32::from(self.inverts(role, y)) << 1
    }

    fn exclusive_or(&self, role: Role, wire: Wire, x: Literal, y: Literal) -> u32 {
        let adds = self.layers.owners(wire).adds_public(role);
        let [first, second] = [x, y].map(|z| !self.layers.owners(z.wire()).is_public() || adds);
        let inverted = (first && self.inverts(role, x)) != (second && self.inverts(role, y));
        u32::from(first) | u32::from(second) << 1 | u32::from(inverted) << 2
    }

    fn end_layer(&mut self, operations: usize) {
        let program = &mut self.program;
        let ends = [program.pieces.len(), program.gates.len(), operations];
        program.ends.push(ends.map(|end| end as u32));
        program.outlines.push(std::mem::take(&mut self.outline));
    }

    fn finish(mut self, circuit: &Circuit) -> RowProgram {
        for wire in circuit.output_wires() {
            let literal = self.layers.under(*wire);
            let wire = literal.wire();
            self.program.results.push(RowResult {
                slot: self.slot[wire as usize],
                negated: literal.is_negated(),
            });
            let owners = self.layers.owners(wire);
            self.program.owners_of_results.push(owners);
        }
        self.program
    }
}
