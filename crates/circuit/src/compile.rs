//! The compiler: circuits to programs.
//!
//! Compilation has four steps, each linear in the circuit:
//!
//! - *Fold* removes constants, copies and gates whose two inputs are one wire, and turns INV gates
//!   into flags.
//! - *Sweep* removes gates that no output needs.
//! - *Schedule* (`schedule`) takes gates in the given order and batches AND gates that are ready at
//!   one time.
//! - *Place* (`place`) reuses the slot of a label once nothing reads the label any more.
//!
//! Each step depends on the circuit alone. All choices are constants of this module, and a changed
//! choice requires a new [`Program::VERSION`].

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

/// Whether there are threads, and computing the circuit's digest takes longer than starting one.
fn is_large(circuit: &Circuit) -> bool {
    cfg!(not(target_family = "wasm")) && circuit.gate_count() >= 1 << 16
}

impl Program {
    /// Compiles a circuit.
    ///
    /// Takes four bytes of memory a wire in addition to the circuit and the program. Takes time
    /// linear in the number of gates. A large circuit takes three threads, if the platform has
    /// threads: one orders gates, one places them, and one computes the digest.
    ///
    /// # Panics
    ///
    /// If the circuit has more than 2^29 wires and outputs, whose places would not fit four bytes
    /// each. Such files are refused.
    pub fn compile(circuit: &Circuit) -> Self {
        Self::compile_with(circuit, || circuit.digest())
    }

    /// Compiles a circuit whose digest the caller may already have.
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

    /// Returns the program without the circuit's digest.
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
