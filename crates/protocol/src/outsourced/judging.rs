//! The cloud's work on a circuit's body. It makes the circuit again and evaluates the one that
//! arrived, segment by segment, so that it holds the tables of neither.

use tacit_circuit::Program;
use tacit_garble::Scheme;
use tacit_kernels::Block;
use zeroize::{DefaultIsZeroes, Zeroizing};

use super::copy::CopySecrets;
use super::judge::HeldCopy;
use super::work::ServerRun;
use super::{Cheat, cheated};
use crate::Error;
use crate::bits::{differ, select_bits, unpack};
use crate::malicious::commitment::{Committing, Differences, PAIR_BYTES};
use crate::malicious::oracle::{Domain, Oracle};
use crate::malicious::walk::{Evaluating, Garbling, InputLabels, MaskedWalk, Walker};
use crate::saved::{EvaluatorHalf as CloudValue, SavedCopy, follow_gates};

/// A label of the circuit that is made again and a label of the circuit that arrived. If the
/// circuit is checked they are the same label. If it is evaluated the first is of no circuit, and
/// the two are unrelated.
#[derive(Clone, Copy, Default)]
pub(super) struct Labels {
    made: Block,
    came: Block,
}

impl DefaultIsZeroes for Labels {}

/// Combines `made` and `came`, wire by wire.
fn both(made: &[Block], came: &[Block]) -> Zeroizing<Vec<Labels>> {
    let both = made.iter().zip(came);
    let both = both.map(|(made, came)| Labels {
        made: *made,
        came: *came,
    });
    Zeroizing::new(both.collect())
}

fn made(labels: &[Labels]) -> Zeroizing<Vec<Block>> {
    Zeroizing::new(labels.iter().map(|labels| labels.made).collect())
}

fn came(labels: &[Labels]) -> Zeroizing<Vec<Block>> {
    Zeroizing::new(labels.iter().map(|labels| labels.came).collect())
}

/// A walker that makes a circuit again, compares its tables, and evaluates those that arrived.
struct Comparing<S: Scheme> {
    making: Garbling<S>,
    evaluating: Evaluating<S>,
    /// The tables of the segment that is made.
    tables: Vec<u8>,
    /// Whether the tables of any segment differ.
    differs: bool,
}

impl<S: Scheme<Wire = Block>> Walker for Comparing<S> {
    type Wire = Labels;
    type Tables<'t> = &'t [u8];

    fn constant(&mut self, active: Block, bit: bool) -> Labels {
        Labels {
            made: self.making.constant(active, bit),
            came: self.evaluating.constant(active, bit),
        }
    }

    fn begin(&mut self, number: u32, program: &Program, inputs: &[Labels]) {
        self.making.begin(number, program, &made(inputs));
        self.evaluating.begin(number, program, &came(inputs));
    }

    fn table_bytes(&self, program: &Program, segment: usize) -> usize {
        self.making.table_bytes(program, segment)
    }

    fn segment(&mut self, program: &Program, segment: usize, tables: &[u8]) {
        self.tables.resize(tables.len(), 0);
        self.making.segment(program, segment, &mut self.tables);
        self.differs |= differ(tables, &self.tables);
        self.evaluating.segment(program, segment, tables);
    }

    fn finish(&mut self, program: &Program, outputs: &mut Vec<Labels>) {
        let width = program.outputs().len();
        let (mut made, mut came) = (
            Zeroizing::new(Vec::with_capacity(width)),
            Zeroizing::new(Vec::with_capacity(width)),
        );
        self.making.finish(program, &mut made);
        self.evaluating.finish(program, &mut came);
        outputs.extend_from_slice(&both(&made, &came));
    }
}

/// The verdict on a circuit.
pub(super) struct Judged {
    /// Its masked results, if it is evaluated.
    pub(super) masked: Option<Zeroizing<Vec<bool>>>,
    /// The values that are saved of it.
    pub(super) saved: SavedCopy,
}

/// A circuit whose body is arriving. The body comes in pieces: the part before the tables, the
/// tables of each segment, and the part after them.
pub(super) struct Judging<'f, S: Scheme<Wire = Block>> {
    copy: usize,
    delta: Zeroizing<Block>,
    is_evaluated: bool,
    /// Whether the labels of the evaluator's input open their commitments.
    opened: bool,
    /// Whether commitments differ, and whether partial-input gates differ.
    differ: [bool; 2],
    walk: MaskedWalk<'f, Comparing<S>>,
}

impl<'f, S: Scheme<Wire = Block>> Judging<'f, S> {
    /// Starts with the part before the tables. `encoded` are the labels of the evaluator's encoded
    /// input, if the circuit is evaluated.
    pub(super) fn begin(
        work: &ServerRun<'f, S>,
        oracle: &Oracle,
        held: &HeldCopy,
        encoded: Option<&[Block]>,
        loads: &[CloudValue],
        before_tables: &[u8],
    ) -> Self {
        let copy = held.copy;
        let loaded = || loads.iter().map(|value| &value.0.copies[copy]);
        let secrets = CopySecrets::derive(work, oracle, copy, &held.seed);
        let mut expected_gates = Vec::new();
        secrets.write_gates(loaded(), &mut expected_gates);
        let (own, active) = match encoded {
            Some(encoded) => (&held.own[..], encoded),
            None => (&secrets.own[..], &secrets.encoded[..]),
        };
        let (commitments, gates) = before_tables.split_at(PAIR_BYTES * work.transfers());
        let committing = Committing::new(oracle, Domain::EvaluatorInput, copy as u32);
        let mut found = Differences::default();
        let made = (&secrets.encoded[..], secrets.delta);
        committing.compare_by_select_bits(0, made, active, commitments, &mut found);
        let [start, link_start] = held.starts;
        let material = secrets.material();
        let comparing = Comparing {
            making: Garbling::new(work.scheme, &material),
            evaluating: Evaluating::new(work.scheme, start),
            tables: Vec::new(),
            differs: false,
        };
        let chosen = Zeroizing::new(work.encoding.decode_blocks(active));
        let inputs = InputLabels {
            garbler: &both(&secrets.own, own)[..work.garbled_bits],
            evaluator: &both(&secrets.chosen(work), &chosen),
            loaded: &both(&secrets.loaded, &follow_gates(link_start, loaded(), gates)),
        };
        Self {
            copy,
            delta: Zeroizing::new(secrets.delta),
            is_evaluated: encoded.is_some(),
            opened: !found.differ_from_opened(),
            differ: [found.differ_from_made(), differ(gates, &expected_gates)],
            walk: MaskedWalk::new(work.whole(), comparing, start, inputs),
        }
    }

    /// Returns the number of bytes of the tables of the next segment, or `None` after the last.
    pub(super) fn next_bytes(&self) -> Option<usize> {
        self.walk.next_bytes()
    }

    /// Takes the tables of a segment.
    pub(super) fn segment(&mut self, tables: &[u8]) {
        self.walk.segment(tables);
    }

    /// Takes the part after the tables, and judges the circuit. All of its parts were compared in
    /// full, so that an evaluated circuit takes as long as a checked one.
    pub(super) fn finish(self, work: &ServerRun<'_, S>, decoding: &[u8]) -> Result<Judged, Error> {
        let tables_differ = self.walk.walker().differs;
        let labels = self.walk.outputs();
        let (masked, saved) = labels.split_at(work.all_masked_bits());
        let [commitments_differ, gates_differ] = self.differ;
        let differing = [
            (commitments_differ, "commitments to labels"),
            (gates_differ, "partial-input gates"),
            (tables_differ, "tables"),
            (
                differ(decoding, &select_bits(&made(masked))),
                "decoding of results",
            ),
        ];
        let decoding = unpack(decoding, masked.len());
        let values = masked.iter().zip(decoding.iter());
        let values = values.map(|(labels, bit)| bool::from(labels.came.lsb()) ^ bit);
        let values = Zeroizing::new(values.collect::<Vec<_>>());
        let [made, came] = [made(saved), came(saved)];
        let found = differing.iter().find(|(differs, _)| *differs);
        let (masked, mut labels) = match (self.is_evaluated, found) {
            (true, _) if !self.opened => return Err(cheated(Cheat::DeliveredLabel(self.copy))),
            (false, Some((_, part))) => return Err(cheated(Cheat::CheckedCopy(self.copy, part))),
            (true, _) => (Some(values), came),
            (false, None) => (None, made),
        };
        let (delta, labels) = (*self.delta, core::mem::take(&mut *labels));
        let saved = SavedCopy { delta, labels };
        Ok(Judged { masked, saved })
    }
}
