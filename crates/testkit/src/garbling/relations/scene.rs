//! Garblings with all of the garbler's values visible.

use tacit_circuit::Program;
use tacit_garble::{Garbler, Scheme, SchemeId};
use tacit_kernels::{Block, Prg};
use tacit_reference::{Circuit, Gate, Output, Pin};

use super::{ExaminedCircuit, OpenWire, examined_circuits};
use crate::garbling::garbled::{self, Setting, labels};
use crate::garbling::textbook;

/// The arrangement of garblings of one circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// One garbling alone.
    Once,
    /// Two instances that read the same wires.
    TwiceOnOneInput,
    /// Two instances of one garbler, each with inputs of its own.
    TwiceUnderOneOffset,
    /// Two instances, the first input wires of the second linked to the first's first output.
    Linked,
}

/// The number of garblings for each combination of the inputs' permute bits: the permute bits of
/// AND gates' outputs are as random as the labels.
const RUNS: u32 = 3;

/// Checks that an evaluator of `scheme` cannot compute a secret by adding up known values.
///
/// # Panics
///
/// If it can. The message has the relation.
pub fn no_relation<S: Scheme>(scheme: S) {
    for examined in &examined_circuits() {
        for arrangement in examined.arrangements {
            let inputs = examined.circuit.input_bits();
            for permute in 0..1 << inputs {
                for run in 0..RUNS {
                    let scene = Scene::new(scheme, examined, *arrangement, permute, run);
                    for bits in 0..1 << inputs {
                        scene.check(examined, bits);
                    }
                }
            }
        }
    }
}

/// One garbling in a scene.
pub(super) struct Part {
    pub(super) instance: u32,
    pub(super) circuit: Circuit,
    /// The numbers in the scene of the wires with which it was started.
    pub(super) inputs: Vec<usize>,
    /// The number in the scene of each of the circuit's wires. An input that is translated first
    /// has another number here.
    pub(super) wires: Vec<usize>,
    /// The numbers in the scene of its outputs, each with its negation.
    pub(super) outputs: Vec<(usize, bool)>,
    pub(super) first_output: u64,
    pub(super) tables: Vec<u8>,
    pub(super) decoding: Vec<u8>,
}

/// The source of the value of a wire in the scene.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Bit `0` of the inputs.
    Input(usize),
    /// Another wire, perhaps negated: by a link, or a translation of an input.
    Copy(usize, bool),
    /// A gate of a part.
    Gate,
    Constant(bool),
}

/// Garblings, and everything that the garbler knows about them.
pub(super) struct Scene {
    pub(super) id: SchemeId,
    pub(super) description: String,
    pub(super) start: Block,
    pub(super) wires: Vec<([u128; 2], Source)>,
    pub(super) parts: Vec<Part>,
    /// The wires from which the links lead, and the links' bytes.
    pub(super) linked: Vec<usize>,
    pub(super) links: Vec<u8>,
}

impl Scene {
    fn new<S: Scheme>(
        scheme: S,
        examined: &ExaminedCircuit,
        arrangement: Arrangement,
        permute: usize,
        run: u32,
    ) -> Self {
        let setting = Setting::numbered(1000 + run);
        let program = Program::compile(&examined.circuit);
        let mut garbler = scheme.garbler(setting.seed, setting.start, setting.delta);
        let mut scene = Self {
            id: scheme.id(),
            description: format!(
                "{}: {}, {arrangement:?}, permute bits {permute:b}, run {run}",
                scheme.id(),
                examined.name
            ),
            start: setting.start,
            wires: Vec::new(),
            parts: Vec::new(),
            linked: Vec::new(),
            links: Vec::new(),
        };
        let inputs = scene.inputs(&garbler, &program, permute, 0);
        let outputs = scene.garble(scheme, &mut garbler, &setting, &program, &inputs);
        if arrangement == Arrangement::Once {
            return scene;
        }
        let second = match arrangement {
            Arrangement::TwiceOnOneInput => inputs,
            _ => scene.inputs(&garbler, &program, permute ^ run as usize, 1),
        };
        if arrangement == Arrangement::Linked {
            // One output is linked to every input: no two of its links may share a pad.
            let (from, negated) = scene.parts[0].outputs[0];
            let wires: Vec<_> = second.iter().map(|(_, wire)| *wire).collect();
            let outputs = vec![outputs[0]; wires.len()];
            garbler.link(setting.start, 0, &outputs, &wires, &mut scene.links);
            scene.linked = vec![from; wires.len()];
            for (number, _) in &second {
                scene.wires[*number].1 = Source::Copy(from, negated);
            }
        }
        scene.garble(scheme, &mut garbler, &setting, &program, &second);
        scene
    }

    /// Makes input wires with these permute bits, and returns their numbers in the scene.
    fn inputs<G: Garbler>(
        &mut self,
        garbler: &G,
        program: &Program,
        permute: usize,
        part: u64,
    ) -> Vec<(usize, G::Wire)> {
        let mut prg = Prg::new(self.start ^ Block::from_u128(u128::from(part)));
        let mut input = |number: usize| {
            let permute = (permute >> number & 1) as u8;
            let q = prg.next_block().with_lsb(permute.into());
            let wire = garbler.wire_from_cot(100 * part + number as u64, q);
            self.wires
                .push((labels(garbler, &wire), Source::Input(number)));
            (self.wires.len() - 1, wire)
        };
        (0..program.inputs()).map(&mut input).collect()
    }

    /// Garbles another instance on these wires. Returns its output wires.
    fn garble<S: Scheme>(
        &mut self,
        scheme: S,
        garbler: &mut S::Garbler,
        setting: &Setting,
        program: &Program,
        inputs: &[(usize, S::Wire)],
    ) -> Vec<S::Wire> {
        let number = self.parts.len() as u32;
        let setting = Setting {
            instance: setting.instance + number,
            first_output: setting.first_output + 50 * u64::from(number),
            ..*setting
        };
        let wires: Vec<_> = inputs.iter().map(|(_, wire)| *wire).collect();
        let tables = garbled::garble(scheme, garbler, &setting, program, &wires).concat();
        let (mut outputs, mut decoding) = (Vec::new(), Vec::new());
        garbler.finish(program, &mut outputs);
        garbler.decoding(setting.first_output, &outputs, &mut decoding);
        let labels: Vec<_> = wires.iter().map(|wire| labels(garbler, wire)).collect();
        // The textbook has the labels of inner wires; its tables must be the scheme's.
        let book = textbook::garble(scheme.id(), &setting, program, &labels);
        assert!(book.garbled.tables == tables, "tables as in the textbook");
        assert!(book.decoding == decoding, "decoding as in the textbook");
        let given: Vec<_> = inputs.iter().map(|(number, _)| *number).collect();
        let mut numbers = Vec::new();
        for (wire, open) in book.garbled.wires.iter().enumerate() {
            let source = match given.get(wire) {
                Some(number) if labels[wire] == *open => {
                    numbers.push(*number);
                    continue;
                }
                Some(number) => Source::Copy(*number, false),
                None => Source::Gate,
            };
            numbers.push(self.wires.len());
            self.wires.push((*open, source));
        }
        let mut output = |(output, labels): (&Output, &[u128; 2])| match *output {
            Output::Wire(Pin { wire, negated }) => (numbers[wire], negated),
            Output::Constant(bit) => {
                self.wires.push((*labels, Source::Constant(bit)));
                (self.wires.len() - 1, false)
            }
        };
        let pairs = book.circuit.outputs.iter().zip(&book.garbled.outputs);
        let output_numbers = pairs.map(&mut output).collect();
        self.parts.push(Part {
            instance: setting.instance,
            circuit: book.circuit,
            inputs: given,
            wires: numbers,
            outputs: output_numbers,
            first_output: setting.first_output,
            tables,
            decoding,
        });
        outputs
    }

    /// Returns the wires, with their values for these inputs.
    pub(super) fn values(&self, bits: usize) -> Vec<OpenWire> {
        let mut wires: Vec<OpenWire> = Vec::new();
        for (labels, source) in &self.wires {
            let value = match *source {
                Source::Input(number) => bits >> number & 1 == 1,
                Source::Constant(bit) => bit,
                // The loop below sets these, in the order in which parts are evaluated.
                Source::Copy(..) | Source::Gate => false,
            };
            let labels = *labels;
            wires.push(OpenWire { labels, value });
        }
        for part in &self.parts {
            for number in part.inputs.iter().chain(&part.wires[..part.circuit.inputs]) {
                if let Source::Copy(from, negated) = self.wires[*number].1 {
                    wires[*number].value = wires[from].value ^ negated;
                }
            }
            for (gate, out) in part
                .circuit
                .gates
                .iter()
                .zip(&part.wires[part.circuit.inputs..])
            {
                let value = |pin: Pin| wires[part.wires[pin.wire]].value ^ pin.negated;
                wires[*out].value = match *gate {
                    Gate::Xor(a, b) => wires[part.wires[a]].value ^ wires[part.wires[b]].value,
                    Gate::And(a, b) => value(a) & value(b),
                };
            }
        }
        wires
    }
}
