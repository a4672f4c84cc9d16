//! Runs of XOR gates that do not wait for each other.

use tacit_circuit::XorGate;

use super::TOGETHER;

/// An order of a batch's XOR gates in runs, each of gates that do not wait for each other.
///
/// A run's gates may be computed together, if their outputs are then written in order: no gate
/// reads what an earlier one of its run writes. The result is that of computing the gates one by
/// one as they are given.
/// Which order it is shows in no table, since each gate has its own number and place.
///
/// # Invariants
///
/// A gate's level is above the levels of the gates that write what it reads, and not below the
/// levels of earlier gates that read or write the slot that it writes. Gates of one level keep
/// their order.
#[derive(Default)]
pub(super) struct Runs {
    /// For each slot, what this batch did with it so far.
    slots: Vec<Levels>,
    /// Which batch it is.
    batch: u64,
    /// The level of each gate.
    levels: Vec<u32>,
    /// The gates, level by level.
    order: Vec<u32>,
    /// How many gates the levels up to each have.
    ends: Vec<u32>,
}

/// The highest levels of gates that read and that wrote a slot, 0 where there was none.
#[derive(Clone, Copy, Default)]
struct Levels {
    batch: u64,
    read: u32,
    written: u32,
}

impl Runs {
    /// Makes room for a program with so many slots.
    pub(super) fn reserve(&mut self, slots: usize) {
        if self.slots.len() < slots {
            self.slots.resize(slots, Levels::default());
        }
    }

    /// Puts a batch's gates in order.
    pub(super) fn schedule(&mut self, gates: &[XorGate]) {
        self.batch += 1;
        self.levels.clear();
        self.ends.clear();
        for gate in gates {
            let inputs = self.slot(gate.a).written.max(self.slot(gate.b).written);
            let out = self.slot(gate.out);
            let level = (inputs + 1).max(out.read).max(out.written);
            out.written = level;
            for input in [gate.a, gate.b] {
                let input = self.slot(input);
                input.read = input.read.max(level);
            }
            self.levels.push(level);
            if self.ends.len() < level as usize {
                self.ends.resize(level as usize, 0);
            }
            self.ends[level as usize - 1] += 1;
        }
        self.sort();
    }

    /// Sorts the gates by level: a counting sort, which keeps the order of equals.
    fn sort(&mut self) {
        let mut starts = Vec::with_capacity(self.ends.len());
        let mut sum = 0;
        for end in &mut self.ends {
            starts.push(sum);
            sum += *end;
            *end = sum;
        }
        self.order.clear();
        self.order.resize(self.levels.len(), 0);
        for (gate, level) in (0..).zip(&self.levels) {
            let place = &mut starts[*level as usize - 1];
            self.order[*place as usize] = gate;
            *place += 1;
        }
    }

    /// What this batch did with `slot` so far.
    fn slot(&mut self, slot: u32) -> &mut Levels {
        let levels = &mut self.slots[slot as usize];
        if levels.batch != self.batch {
            *levels = Levels {
                batch: self.batch,
                ..Levels::default()
            };
        }
        levels
    }

    /// The runs, in the order in which they must be computed: the indices of their gates, at most
    /// [`TOGETHER`] in one.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let starts = core::iter::once(&0).chain(&self.ends);
        let levels = starts
            .zip(&self.ends)
            .map(|(start, end)| *start as usize..*end as usize);
        levels.flat_map(|level| self.order[level].chunks(TOGETHER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(a: u32, b: u32, out: u32) -> XorGate {
        XorGate { a, b, out }
    }

    fn runs(slots: usize, gates: &[XorGate]) -> Vec<Vec<u32>> {
        let mut runs = Runs::default();
        runs.reserve(slots);
        // An earlier batch leaves no trace.
        runs.schedule(&[gate(0, 1, 2), gate(2, 1, 0)]);
        runs.schedule(gates);
        runs.iter().map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn gates_move_ahead_of_those_that_they_do_not_wait_for() {
        let gates = [
            gate(0, 1, 2),
            gate(2, 1, 3),
            gate(0, 4, 5),
            gate(3, 5, 6),
            gate(4, 1, 7),
        ];
        assert_eq!(runs(8, &gates), [vec![0, 2, 4], vec![1], vec![3]]);
        assert_eq!(runs(8, &[]), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn a_slot_is_not_written_before_it_has_been_read() {
        // Gate 2 writes what gate 1 reads, and gate 3 reads what gate 2 writes.
        let gates = [gate(0, 1, 2), gate(2, 3, 4), gate(0, 1, 3), gate(3, 0, 5)];
        assert_eq!(runs(6, &gates), [vec![0], vec![1, 2], vec![3]]);
        // Gate 1 writes the slot again that gate 0 writes.
        let gates = [gate(0, 1, 2), gate(0, 3, 2), gate(2, 1, 4)];
        assert_eq!(runs(6, &gates), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn runs_compute_what_the_gates_do_one_by_one() {
        let mut state = 1_u32;
        let mut below = |bound| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % bound
        };
        for slots in [3, 8, 60] {
            let gates: Vec<_> = (0..700)
                .map(|_| gate(below(slots), below(slots), below(slots)))
                .collect();
            let start: Vec<u64> = (0..u64::from(slots))
                .map(|i| i * i * 0x9e37_79b9_7f4a)
                .collect();
            let at = |values: &[u64], slot: u32| values[slot as usize];
            let mut expected = start.clone();
            for gate in &gates {
                // Rotated, so that the order of the operations shows.
                let value = at(&expected, gate.a).rotate_left(1) ^ at(&expected, gate.b);
                expected[gate.out as usize] = value;
            }
            let mut found = start;
            for run in runs(slots as usize, &gates) {
                assert!(run.len() <= TOGETHER);
                let gates: Vec<_> = run.iter().map(|index| gates[*index as usize]).collect();
                let values: Vec<_> = gates
                    .iter()
                    .map(|gate| at(&found, gate.a).rotate_left(1) ^ at(&found, gate.b))
                    .collect();
                for (gate, value) in gates.iter().zip(values) {
                    found[gate.out as usize] = value;
                }
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_run_is_bounded() {
        let gates: Vec<_> = (2..2 + 2 * TOGETHER as u32 + 3)
            .map(|out| gate(0, 1, out))
            .collect();
        let lengths: Vec<_> = runs(3 * TOGETHER, &gates).iter().map(Vec::len).collect();
        assert_eq!(lengths, [TOGETHER, TOGETHER, 3]);
    }
}
