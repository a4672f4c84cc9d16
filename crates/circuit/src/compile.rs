//! The compiler: circuits to programs.
//!
//! Four steps, each linear in the circuit. *Fold*: constants, copies and gates fed twice by one
//! wire vanish, and INV gates become flags. *Sweep*: gates that no output needs go. *Schedule*
//! (`schedule`): gates are taken in the order in which they are given, and AND gates that are ready
//! at one time make a batch. *Place* (`place`): a label's slot is taken over by another once nobody
//! reads it any more.
//!
//! No step looks at anything but the circuit; all choices are constants of this module, and a
//! change of one is a change of [`Program::VERSION`].

mod check;
mod fingerprint;
mod interpret;
mod place;
mod schedule;
mod slots;
mod window;
mod wires;

use std::thread;

use crate::program::Derived;
use crate::{Circuit, Digest, Output, Program};
use schedule::schedule;
use wires::Wires;

/// Whether starting a thread takes less than the circuit's digest does.
fn is_large(circuit: &Circuit) -> bool {
    circuit.gate_count() >= 1 << 16
}

impl Program {
    /// Compiles a circuit.
    ///
    /// Takes four bytes of memory a wire in addition to the circuit and the program, and time
    /// linear in the number of gates. A large circuit takes three threads, where the platform has
    /// threads: one orders gates, one places them, and one computes the digest.
    ///
    /// # Panics
    ///
    /// If the circuit has more than 2^29 wires and outputs: their places would not fit four bytes
    /// each. Files with as many are refused.
    #[must_use]
    pub fn compile(circuit: &Circuit) -> Self {
        Self::compile_with(circuit, || circuit.digest())
    }

    /// The same for a caller who may have the circuit's digest already.
    pub(crate) fn compile_with(circuit: &Circuit, digest: impl Fn() -> Digest + Sync) -> Self {
        thread::scope(|scope| {
            let spawn = || thread::Builder::new().spawn_scoped(scope, &digest);
            let digested = is_large(circuit).then(spawn).and_then(Result::ok);
            let program = Self::compile_gates(circuit);
            let digest = match digested {
                Some(digest) => digest.join().expect("a digest does not panic"),
                None => digest(),
            };
            Self { digest, ..program }
        })
    }

    /// The program, but for the circuit's digest.
    fn compile_gates(circuit: &Circuit) -> Self {
        assert!(
            circuit.wire_count() + circuit.output_wires().len() <= Wires::MOST,
            "a program is of a circuit of at most 2^29 wires and outputs"
        );
        let wires = Wires::of(circuit);
        let placed = schedule(circuit, &wires, is_large(circuit));
        let output = |&wire: &u32| {
            let root = wires.literal(wire);
            match root.as_constant() {
                Some(value) => Output::Constant(value),
                None => Output::Slot {
                    slot: wires.slot(root.node()),
                    negated: root.is_negated(),
                },
            }
        };
        let outputs = circuit.output_wires().iter().map(output).collect();
        Self {
            digest: Digest([0; 32]),
            slots: placed.slots.count(),
            inputs: circuit.input_bits() as u32,
            xors: placed.xors,
            ands: placed.ands,
            batches: placed.batches,
            segments: placed.segments,
            outputs,
            derived: Derived::default(),
        }
    }
}
