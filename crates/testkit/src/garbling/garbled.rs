//! A program garbled as a whole, in memory.

use tacit_circuit::Program;
use tacit_garble::{Evaluator, Garbler, Scheme, StartPoint};
use tacit_kernels::{Block, Prg};

/// The arguments that determine a garbling, besides the program.
#[derive(Clone, Copy)]
pub struct Setting {
    /// The garbler's seed.
    pub seed: [u8; 32],
    /// The public start point.
    pub start: StartPoint,
    /// The offset of the garbler's correlated OTs.
    pub delta: Block,
    /// The instance.
    pub instance: u32,
    /// The number of the first output.
    pub first_output: u64,
}

impl Setting {
    /// Returns a pseudorandom setting, a different one for each number.
    pub fn numbered(number: u32) -> Self {
        let mut prg = Prg::new(Block::from_u128(u128::from(number)));
        let mut seed = [0; 32];
        prg.fill_bytes(&mut seed);
        Self {
            seed,
            start: prg.next_block(),
            delta: prg.next_block().with_lsb(1.into()),
            instance: 100 + number,
            first_output: 1000,
        }
    }

    /// Returns the garbler's value of the correlated OT of input `input`.
    fn cot(&self, input: usize) -> Block {
        Prg::new(self.start ^ Block::from_u128(input as u128)).next_block()
    }
}

/// A program garbled with every input from a correlated OT.
pub struct Garbled<S: Scheme> {
    scheme: S,
    setting: Setting,
    /// The garbler, after it has finished.
    pub garbler: S::Garbler,
    /// The input wires.
    pub inputs: Vec<S::Wire>,
    /// The tables of each segment.
    pub tables: Vec<Vec<u8>>,
    /// The output wires.
    pub outputs: Vec<S::Wire>,
    /// The outputs' decoding information.
    pub decoding: Vec<u8>,
}

impl<S: Scheme> Garbled<S> {
    /// Garbles `program`.
    pub fn new(scheme: S, setting: &Setting, program: &Program) -> Self {
        let mut garbler = scheme.garbler(setting.seed, setting.start, setting.delta);
        let inputs: Vec<S::Wire> = (0..program.inputs())
            .map(|input| garbler.wire_from_cot(input as u64, setting.cot(input)))
            .collect();
        let tables = garble(scheme, &mut garbler, setting, program, &inputs);
        let (mut outputs, mut decoding) = (Vec::new(), Vec::new());
        garbler.finish(program, &mut outputs);
        garbler.decoding(setting.first_output, &outputs, &mut decoding);
        Self {
            scheme,
            setting: *setting,
            garbler,
            inputs,
            tables,
            outputs,
            decoding,
        }
    }

    /// Returns the evaluator's labels for these input bits, from its side of the correlated OTs.
    pub fn input_labels(&self, bits: &[bool]) -> Vec<Block> {
        assert_eq!(bits.len(), self.inputs.len(), "a bit for each input");
        let evaluator = self.scheme.evaluator(self.setting.start);
        let label = |(input, bit): (usize, &bool)| {
            let offset = self.setting.delta.and_bit(u8::from(*bit).into());
            evaluator.label_from_cot(input as u64, self.setting.cot(input) ^ offset, *bit)
        };
        bits.iter().enumerate().map(label).collect()
    }
}

/// Garbles `program` with `garbler`. Returns the tables of each segment.
pub(super) fn garble<S: Scheme>(
    scheme: S,
    garbler: &mut S::Garbler,
    setting: &Setting,
    program: &Program,
    inputs: &[S::Wire],
) -> Vec<Vec<u8>> {
    garbler.begin(setting.instance, program, inputs);
    let tables = |segment| {
        // The memory has a pattern, so that an unwritten byte is noticed.
        let mut tables = vec![0xa5; scheme.table_bytes(program, segment)];
        garbler.garble(program, segment, &mut tables);
        tables
    };
    (0..program.segments().len()).map(tables).collect()
}

/// Evaluates `program`. Returns the outputs' labels.
pub(super) fn evaluate<S: Scheme>(
    scheme: S,
    setting: &Setting,
    program: &Program,
    tables: &[Vec<u8>],
    labels: &[Block],
) -> Vec<Block> {
    let mut evaluator = scheme.evaluator(setting.start);
    evaluator.begin(setting.instance, program, labels);
    for (segment, tables) in tables.iter().enumerate() {
        evaluator.evaluate(program, segment, tables);
    }
    let mut outputs = Vec::new();
    evaluator.finish(program, &mut outputs);
    outputs
}

/// Returns both labels of a wire, by value.
pub(super) fn labels<G: Garbler>(garbler: &G, wire: &G::Wire) -> [u128; 2] {
    let [(first, value), (second, _)] =
        [false, true].map(|select| garbler.label_with_select(wire, select));
    let mut labels = [first.to_u128(), second.to_u128()];
    labels.swap(0, usize::from(value));
    labels
}

/// Returns all tables and then the decoding information of `program` under a fixed setting: a
/// frozen vector has the digest of these bytes.
pub fn bytes_of<S: Scheme>(scheme: S, setting: &Setting, program: &Program) -> Vec<u8> {
    let garbled = Garbled::new(scheme, setting, program);
    let mut bytes = garbled.tables.concat();
    bytes.extend(garbled.decoding);
    bytes
}
