//! A program's fingerprint: one value that changes whenever the compiler's output changes.

use sha2::{Digest as _, Sha256};

use crate::{Digest, Output, Program};

impl Program {
    /// Returns SHA-256 over the program, after the tag `tacit program 1\0`. Numbers are
    /// little-endian `u32`, except for the version, which is a `u16`.
    ///
    /// | field | bytes |
    /// |---|---|
    /// | [`Program::VERSION`] | 2 |
    /// | digest of the circuit | 32 |
    /// | slots, inputs | 4 each |
    /// | number of XOR gates; for each its two inputs and its output | 4; 12 each |
    /// | number of AND gates; for each the same, negations in bit 31 | 4; 12 each |
    /// | number of batches; for each its XOR and AND gates | 4; 8 each |
    /// | number of segments; for each its batches | 4; 4 each |
    /// | number of outputs; for each 0, slot and negation, or 1, 0 and the constant | 4; 12 each |
    pub fn fingerprint(&self) -> Digest {
        let mut hash = Sha256::new();
        hash.update(b"tacit program 1\0");
        hash.update(Self::VERSION.to_le_bytes());
        hash.update(self.digest.0);
        let mut numbers = |numbers: &[u32]| {
            numbers
                .iter()
                .for_each(|number| hash.update(number.to_le_bytes()));
        };
        numbers(&[self.slots, self.inputs, self.xors.len() as u32]);
        self.xors
            .iter()
            .for_each(|gate| numbers(&[gate.a, gate.b, gate.out]));
        numbers(&[self.ands.len() as u32]);
        self.ands
            .iter()
            .for_each(|gate| numbers(&[gate.a, gate.b, gate.out]));
        numbers(&[self.batches.len() as u32]);
        self.batches
            .iter()
            .for_each(|batch| numbers(&[batch.xors, batch.ands]));
        numbers(&[self.segments.len() as u32]);
        self.segments
            .iter()
            .for_each(|segment| numbers(&[segment.batches.len() as u32]));
        numbers(&[self.outputs.len() as u32]);
        self.outputs.iter().for_each(|output| match *output {
            Output::Slot { slot, negated } => numbers(&[0, slot, negated.into()]),
            Output::Constant(value) => numbers(&[1, 0, value.into()]),
        });
        Digest(hash.finalize().into())
    }
}
