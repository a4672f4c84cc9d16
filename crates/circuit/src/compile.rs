//! The compiler: circuits to programs.
//!
//! Four steps, each linear in the circuit but for a heap of the window's size. *Fold*: constants,
//! copies and gates fed twice by one wire vanish, and INV gates become flags. *Sweep*: gates that
//! no output needs go. *Schedule* (`schedule`): gates are taken in the order in which they are
//! given, and AND gates that are ready at one time make a batch. *Place* (`slots`): a label's
//! slot is taken over by another once nobody reads it any more.
//!
//! No step looks at anything but the circuit; all choices are constants of this module, and a
//! change of one is a change of [`Program::VERSION`].

mod check;
mod fingerprint;
mod interpret;
mod schedule;
mod slots;

use crate::netlist::{Literal, Netlist, Node, fold_and, fold_xor};
use crate::ordering::Orderings;
use crate::xor_levels::Derived;
use crate::{Circuit, Digest, Gate, Output, Program};
use schedule::Schedule;

impl Program {
    /// Compiles a circuit.
    ///
    /// Takes about 34 bytes of memory a gate in addition to the circuit and the program, and time
    /// linear in the number of gates.
    #[must_use]
    pub fn compile(circuit: &Circuit) -> Self {
        Self::compile_known(circuit, circuit.digest())
    }

    /// The same for a caller who has the circuit's digest already.
    pub(crate) fn compile_known(circuit: &Circuit, digest: Digest) -> Self {
        let (mut netlist, mut roots) = fold(circuit);
        netlist.retain_live(&mut roots);
        let schedule = Schedule::of(&netlist, &roots);
        let output = |root: &Literal| match root.as_constant() {
            Some(value) => Output::Constant(value),
            None => Output::Slot {
                slot: schedule.slots.slot(root.node()),
                negated: root.is_negated(),
            },
        };
        let outputs = roots.iter().map(output).collect();
        Self {
            digest,
            slots: schedule.slots.count(),
            inputs: netlist.inputs(),
            xors: schedule.xors,
            ands: schedule.ands,
            batches: schedule.batches,
            segments: schedule.segments,
            outputs,
            xor_levels: Derived::default(),
            orderings: Orderings::default(),
        }
    }
}

/// The circuit's gates without constants, copies and negations, and its outputs.
fn fold(circuit: &Circuit) -> (Netlist, Vec<Literal>) {
    let mut netlist = Netlist::with_capacity(circuit.wire_count());
    let mut wires = Vec::with_capacity(circuit.wire_count());
    wires.extend((0..circuit.input_bits()).map(|_| netlist.push_input()));
    for gate in circuit.gates() {
        let literal = match gate {
            Gate::Xor(a, b) => netlist.push_folded(fold_xor(wires[a as usize], wires[b as usize])),
            Gate::And(a, b) => netlist.push_folded(fold_and(wires[a as usize], wires[b as usize])),
            Gate::Inv(a) => !wires[a as usize],
        };
        wires.push(literal);
    }
    let roots = circuit
        .output_wires()
        .iter()
        .map(|&wire| wires[wire as usize])
        .collect();
    (netlist, roots)
}

/// The two literals that a gate reads.
fn operands(gate: Node) -> [Literal; 2] {
    match gate {
        Node::Xor(a, b) | Node::And(a, b) => [a, b],
        Node::Input(_) => unreachable!("an input reads nothing"),
    }
}
