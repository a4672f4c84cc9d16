//! Runs of XOR gates that do not wait for each other.

use tacit_circuit::XorGate;

use super::TOGETHER;

/// Cuts a sequence of XOR gates into runs in which no gate reads what an earlier one writes.
///
/// A run's gates may then be computed together: all inputs are read first, and the outputs are
/// written last and in order.
#[derive(Default)]
pub(super) struct Runs {
    /// For each slot the last run that wrote it.
    written_in: Vec<u64>,
    /// The present run. Never zero once there is one.
    run: u64,
}

impl Runs {
    /// Makes room for a program with so many slots.
    pub(super) fn reserve(&mut self, slots: usize) {
        if self.written_in.len() < slots {
            self.written_in.resize(slots, 0);
        }
    }

    /// The length of the run that `gates` begin with: at least 1 if there is a gate, and at most
    /// [`TOGETHER`].
    pub(super) fn next_len(&mut self, gates: &[XorGate]) -> usize {
        self.run += 1;
        let gates = &gates[..gates.len().min(TOGETHER)];
        for (len, gate) in gates.iter().enumerate() {
            let waits = |slot: u32| self.written_in[slot as usize] == self.run;
            if waits(gate.a) || waits(gate.b) {
                return len;
            }
            self.written_in[gate.out as usize] = self.run;
        }
        gates.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(a: u32, b: u32, out: u32) -> XorGate {
        XorGate { a, b, out }
    }

    #[test]
    fn a_run_ends_where_a_gate_waits_for_one_of_it() {
        let mut runs = Runs::default();
        runs.reserve(8);
        let gates = [
            gate(0, 1, 2),
            gate(0, 3, 0),
            gate(1, 3, 2),
            gate(4, 0, 5),
            gate(4, 1, 6),
        ];
        assert_eq!(runs.next_len(&gates), 3);
        assert_eq!(runs.next_len(&gates[3..]), 2);
        assert_eq!(runs.next_len(&gates[3..]), 2);
        assert_eq!(runs.next_len(&[]), 0);
    }

    #[test]
    fn a_run_is_bounded() {
        let mut runs = Runs::default();
        runs.reserve(3 * TOGETHER);
        let gates: Vec<_> = (2..2 + 2 * TOGETHER as u32)
            .map(|out| gate(0, 1, out))
            .collect();
        assert_eq!(runs.next_len(&gates), TOGETHER);
    }
}
