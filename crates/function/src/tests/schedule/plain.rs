//! An evaluation of both parties' shares by a schedule, bit by bit, with ideal crosses.

use std::collections::HashMap;

use tacit_circuit::{NO_SLOT, Piece, RowAction, RowGate};

use crate::Role;
use crate::samples::Sample;
use crate::schedule::{Block, Group, LastRead, Schedule};

/// Both parties' shares of a bit.
type Shares = [bool; 2];

/// For each instance, the shares in each slot.
type Rows = Vec<Vec<Shares>>;

struct Plain<'s> {
    schedule: &'s Schedule,
    /// For each block, the bits of each instance.
    blocks: HashMap<Block, Vec<Vec<Shares>>>,
    at_work: HashMap<u32, Rows>,
    draws: u64,
}

/// Returns the results, computed from shares of both parties that follow the schedule.
pub(in crate::tests) fn results(sample: &Sample, schedule: &Schedule) -> Vec<bool> {
    let mut plain = Plain {
        schedule,
        blocks: HashMap::new(),
        at_work: HashMap::new(),
        draws: 1,
    };
    let mut shares = sample.shares.iter().copied();
    for (number, input) in (0..).zip(schedule.inputs()) {
        let mut element = || (0..input.rows).map(|_| shares.next().unwrap()).collect();
        let elements = (0..input.instances).map(|_| element()).collect();
        plain.blocks.insert(Block::Input(number), elements);
    }
    plain.begin(0);
    for step in schedule.steps() {
        for at_work in &step.at_work {
            plain.advance(schedule.group(at_work.group), at_work.layer);
        }
        plain.begin(step.number + 1);
    }
    let mut results = Vec::new();
    for output in 0..sample.function.outputs().len() {
        for span in schedule.output(output) {
            for row in span.row..span.row + span.bits {
                let [a, b] = plain.read(span.block, span.instance, row);
                let is_public = schedule.owners(span.block, row).is_public();
                assert!(!is_public || a == b, "both hold a public bit");
                results.push(a ^ (b && !is_public));
            }
        }
    }
    results
}

impl Plain<'_> {
    fn read(&self, block: Block, instance: u32, row: u32) -> Shares {
        if let Block::Constants(number) = block {
            return [self.schedule.constants(number).bit(row, instance); 2];
        }
        let instances = self
            .blocks
            .get(&block)
            .expect("nothing is read after its last reading");
        instances[instance as usize][row as usize]
    }

    fn begin(&mut self, step: u32) {
        for group in self.schedule.starts().filter(|group| group.start() == step) {
            let mut rows = self.arguments(&group);
            operate(&group, 0, &mut rows);
            self.at_work.insert(group.number(), rows);
            if group.program().depth() == 0 {
                self.finish(&group);
            }
        }
        let (schedule, done) = (self.schedule, LastRead::Step(step));
        let last_read = |block: &Block| match *block {
            Block::Input(number) => schedule.inputs()[number as usize].last_read,
            Block::Group(number) => schedule.group(number).last_read(),
            Block::Constants(_) => LastRead::Outputs,
        };
        self.blocks.retain(|block, _| last_read(block) > done);
    }

    fn arguments(&self, group: &Group<'_>) -> Rows {
        let program = group.program();
        let mut rows = vec![vec![[false; 2]; program.slots()]; group.instances()];
        let mut slots = program.inputs();
        for argument in group.arguments() {
            let (these, after) = slots.split_at(argument.bits as usize);
            slots = after;
            let runs: Vec<_> = argument.runs().collect();
            for (instance, into) in (0..).zip(&mut rows) {
                let run = runs.iter().rfind(|run| run.first <= instance).unwrap();
                let at = i64::from(run.instance)
                    + i64::from(run.stride) * i64::from(instance - run.first);
                for (row, slot) in (run.row..).zip(these).filter(|(_, slot)| **slot != NO_SLOT) {
                    let shares = self.read(run.block, at as u32, row);
                    let public = self.schedule.owners(run.block, row).is_public();
                    into[*slot as usize] = Role::BOTH.map(|role| {
                        shares[role as usize] && (!public || argument.owners.adds_public(role))
                    });
                }
            }
        }
        assert!(slots.is_empty(), "a source for each input bit");
        rows
    }

    fn advance(&mut self, group: Group<'_>, layer: u32) {
        let mut rows = self.at_work.remove(&group.number()).unwrap();
        for piece in group.program().pieces(layer) {
            for instance in &mut rows {
                for gate in piece.gates {
                    instance[gate.result()] = self.and(&piece, *gate, instance);
                }
            }
        }
        operate(&group, layer, &mut rows);
        self.at_work.insert(group.number(), rows);
        if layer == group.program().depth() {
            self.finish(&group);
        }
    }

    /// Computes shares of an AND: what each party computes alone, and random shares of the rest.
    fn and(&mut self, piece: &Piece<'_>, gate: RowGate, slots: &[Shares]) -> Shares {
        let x = slots[piece.common as usize];
        let y =
            Role::BOTH.map(|role| slots[gate.other()][role as usize] ^ gate.inverts_other(role));
        let mut product = [0, 1].map(|i| (x[i] ^ gate.negates_common()) && y[i]);
        for chooser in Role::BOTH
            .into_iter()
            .filter(|chooser| gate.is_chosen_by(*chooser))
        {
            self.draws = self
                .draws
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let share = self.draws >> 63 == 1;
            product[chooser as usize] ^=
                share ^ (x[chooser as usize] && y[chooser.other() as usize]);
            product[chooser.other() as usize] ^= share;
        }
        product
    }

    fn finish(&mut self, group: &Group<'_>) {
        let program = group.program();
        let rows = self.at_work.remove(&group.number()).unwrap();
        let results = program.results().iter().zip(program.owners_of_results());
        let instance = |slots: Vec<Shares>| {
            let bits = results.clone().map(|(result, owners)| {
                let share = slots[result.slot as usize];
                Role::BOTH
                    .map(|role| share[role as usize] ^ (result.negated && owners.adds_public(role)))
            });
            bits.collect()
        };
        let results = rows.into_iter().map(instance).collect();
        self.blocks.insert(Block::Group(group.number()), results);
    }
}

fn operate(group: &Group<'_>, layer: u32, rows: &mut Rows) {
    for operation in group.program().operations(layer) {
        for slots in &mut *rows {
            let [first, second] = operation.operands().map(|slot| slots[slot]);
            slots[operation.result()] = Role::BOTH.map(|role| {
                let (a, b) = (first[role as usize], second[role as usize]);
                match operation.action(role) {
                    RowAction::And {
                        invert_first,
                        invert_second,
                    } => (a ^ invert_first) && (b ^ invert_second),
                    RowAction::Xor {
                        first,
                        second,
                        invert,
                    } => (first && a) ^ (second && b) ^ invert,
                }
            });
        }
    }
}
