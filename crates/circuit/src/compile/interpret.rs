//! A plain interpreter of programs: the oracle for the compiler and for everything that runs
//! programs.

use zeroize::{Zeroize, Zeroizing};

use crate::{Lanes, NEGATED, Output, Program};

impl Program {
    /// Returns the output bits for `inputs`, both in port order. Gives the same result as
    /// [`Circuit::evaluate`], but several times as fast, since slots hold the values.
    ///
    /// # Panics
    ///
    /// If the number of `inputs` is not that of the program.
    ///
    /// [`Circuit::evaluate`]: crate::Circuit::evaluate
    pub fn interpret(&self, inputs: &[bool]) -> Vec<bool> {
        let lanes = inputs.iter().map(|&bit| Lanes::from(bit));
        let outputs = self.interpret_lanes(&Zeroizing::new(lanes.collect::<Vec<_>>()));
        let outputs = Zeroizing::new(outputs);
        outputs.iter().map(|lane| lane & 1 == 1).collect()
    }

    /// Returns the output words for `inputs`, like [`Circuit::evaluate_lanes`]. Computes 64
    /// instances at once: bit k of each word belongs to instance k.
    ///
    /// # Panics
    ///
    /// If the number of `inputs` is not that of the program.
    ///
    /// [`Circuit::evaluate_lanes`]: crate::Circuit::evaluate_lanes
    pub fn interpret_lanes(&self, inputs: &[Lanes]) -> Vec<Lanes> {
        assert_eq!(inputs.len(), self.inputs(), "input bits");
        let mut slots = vec![0; self.slots()];
        slots[..inputs.len()].copy_from_slice(inputs);
        let (mut xors, mut ands) = (self.xors.iter(), self.ands.iter());
        for batch in &self.batches {
            for gate in xors.by_ref().take(batch.xors as usize) {
                slots[gate.out as usize] = slots[gate.a as usize] ^ slots[gate.b as usize];
            }
            for gate in ands.by_ref().take(batch.ands as usize) {
                slots[gate.out as usize] = negatable(&slots, gate.a) & negatable(&slots, gate.b);
            }
        }
        let value = |output: &Output| match *output {
            Output::Slot { slot, negated } => slots[slot as usize] ^ mask(negated),
            Output::Constant(value) => mask(value),
        };
        let outputs = self.outputs.iter().map(value).collect();
        slots.zeroize();
        outputs
    }
}

fn mask(bit: bool) -> Lanes {
    Lanes::from(bit).wrapping_neg()
}

fn negatable(slots: &[Lanes], input: u32) -> Lanes {
    slots[(input & !NEGATED) as usize] ^ mask(input & NEGATED != 0)
}
