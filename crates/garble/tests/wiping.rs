//! The memory after garbling: it contains no label that was not handed out.

use std::collections::BTreeMap;

use tacit_circuit::Program;
use tacit_components::library;
use tacit_garble::{
    Evaluator, Garbler, Hash, SCHEMES, Scheme, SchemeId, SchemeVisitor, WholeGarbling, with_scheme,
    with_scheme_on,
};
use tacit_kernels::leftovers::{Stack, Watching, on_own_stack, watch};
use tacit_kernels::{Block, Cpu, Prg};
use zeroize::Zeroizing;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

const START: Block = Block::from_u128(0x5ea1);

fn delta() -> Block {
    Prg::new(Block::from_u128(1))
        .next_block()
        .with_lsb(1.into())
}

/// Returns labels of input wires, of which the slots hold copies.
fn labels(count: usize) -> Vec<Block> {
    let mut labels = vec![Block::ZERO; count];
    Prg::new(Block::from_u128(2)).fill_blocks(&mut labels);
    labels
}

/// Garbles and evaluates, and wipes everything that the caller of the schemes holds.
struct Run<'a> {
    program: &'a Program,
    active: &'a [Block],
}

impl SchemeVisitor for Run<'_> {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let program = self.program;
        let mut garbler = scheme.garbler([7; 32], START, delta());
        let wires = self.active.iter();
        let wires = wires.map(|&label| garbler.wire_with_active(label, false));
        let wires = Zeroizing::new(wires.collect::<Vec<_>>());
        garbler.begin(0, program, &wires);
        let mut evaluator = scheme.evaluator(START);
        evaluator.begin(0, program, self.active);
        for segment in 0..program.segments().len() {
            let mut tables = vec![0; scheme.table_bytes(program, segment)];
            garbler.garble(program, segment, &mut tables);
            evaluator.evaluate(program, segment, &tables);
        }
    }
}

fn component(name: &str) -> Program {
    let circuit = library::find(name, &BTreeMap::new());
    Program::compile(&circuit.expect("the library has it"))
}

/// The slots of garbler and evaluator contain no label when they are freed.
#[test]
fn slots_are_wiped_under_every_scheme() {
    for program in ["adder", "comparator"].map(component) {
        let active = labels(program.inputs());
        for rung in &SCHEMES {
            let run = Run {
                program: &program,
                active: &active,
            };
            let (result, memory) = watch(|| with_scheme(rung.id, run));
            result.expect("it is a scheme");
            for secret in active.iter().chain([&delta()]) {
                let found = memory.freed(&secret.to_bytes());
                assert_eq!(found, 0, "{}, {secret:?}", rung.id);
            }
        }
    }
}

/// One garbling, whose gates take Δ and labels from the stack. Its slots are set up before.
struct Alone<'a>(&'a Program, &'a [Block]);

impl SchemeVisitor for Alone<'_> {
    /// The garbler's stack, if it can be read.
    type Output = Option<Stack>;

    fn visit<S: Scheme>(self, scheme: S) -> Option<Stack> {
        let Self(program, active) = self;
        let mut garbler = scheme.garbler([7; 32], START, delta());
        let wires = active.iter();
        let wires = wires.map(|&label| garbler.wire_with_active(label, false));
        let wires = Zeroizing::new(wires.collect::<Vec<_>>());
        garbler.begin(0, program, &wires);
        let tables = |segment| vec![0; scheme.table_bytes(program, segment)];
        let mut tables: Vec<_> = (0..program.segments().len()).map(tables).collect();
        on_own_stack(|| {
            for (segment, tables) in tables.iter_mut().enumerate() {
                garbler.garble(program, segment, tables);
            }
        })
    }
}

/// The adder's gates are alone in their batches; those of AES fill vectors.
#[test]
fn garbling_alone_leaves_no_secret_on_the_stack() {
    for program in ["adder", "aes-128"].map(component) {
        let active = labels(program.inputs());
        for id in SCHEMES.iter().map(|rung| rung.id) {
            for cpu in Cpu::available() {
                let stack = with_scheme_on(cpu, id, Alone(&program, &active));
                let Some(stack) = stack.expect("it is a scheme") else {
                    return;
                };
                for secret in active.iter().take(8).chain([&delta()]) {
                    let found = stack.count(&secret.to_bytes());
                    assert_eq!(found, 0, "{id} on {cpu:?} left a secret on the stack");
                }
            }
        }
    }
}

/// The tags for decoding outputs, of wires with these labels of 0.
struct Decoding<'a>(&'a [Block]);

impl SchemeVisitor for Decoding<'_> {
    type Output = (Vec<u8>, Option<Stack>);

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let mut garbler = scheme.garbler([7; 32], START, delta());
        let wires = self.0.iter();
        let wires = wires.map(|&label| garbler.wire_with_active(label, false));
        let wires = Zeroizing::new(wires.collect::<Vec<_>>());
        let mut tags = Vec::with_capacity(64 * wires.len());
        let stack = on_own_stack(|| garbler.decoding(0, &wires, &mut tags));
        (tags, stack)
    }
}

/// A tag is a part of a hash of a label; the whole hash is wiped before it is freed.
#[test]
fn decoding_leaves_no_secret() {
    let wires = labels(33);
    for id in free_xor() {
        for cpu in Cpu::available() {
            let (made, memory) = watch(|| with_scheme_on(cpu, id, Decoding(&wires)));
            let (tags, stack) = made.expect("it is a scheme");
            for tag in tags.chunks_exact(tags.len() / 66) {
                assert_eq!(memory.freed(tag), 0, "{id} on {cpu:?}");
            }
            for secret in wires.iter().chain([&delta()]) {
                let found = stack.as_ref().map_or(0, |s| s.count(&secret.to_bytes()));
                assert_eq!(found, 0, "{id} on {cpu:?} left a secret on the stack");
            }
        }
    }
}

/// Returns the schemes under a hash with public keys, whose garblers hold Δ for every gate.
fn free_xor() -> impl Iterator<Item = SchemeId> {
    let rungs = SCHEMES.iter().filter(|rung| rung.hash != Hash::Prf);
    rungs.map(|rung| rung.id)
}

/// Three instances side by side, whose vectors take Δ and labels from the stack.
struct SideBySide<'a>(&'a Program, &'a [Block]);

impl SchemeVisitor for SideBySide<'_> {
    /// The stack of the walk, if it can be read.
    type Output = Option<Stack>;

    fn visit<S: Scheme>(self, scheme: S) -> Option<Stack> {
        let Self(program, active) = self;
        let tables = |segment| scheme.table_bytes(program, segment);
        let size: usize = (0..program.segments().len()).map(tables).sum();
        let mut garblers = [1, 2, 3].map(|i| scheme.garbler([i; 32], START, delta()));
        let wires = garblers.each_mut().map(|garbler| {
            let wires = active.iter();
            let wires = wires.map(|&label| garbler.wire_with_active(label, false));
            Zeroizing::new(wires.collect::<Vec<_>>())
        });
        let mut rooms = vec![0; 3 * size];
        let rooms = rooms.chunks_exact_mut(size);
        let garblings = garblers.into_iter().zip(&wires).zip(rooms);
        let garblings = garblings.map(|((garbler, inputs), tables)| WholeGarbling {
            garbler,
            inputs,
            tables,
        });
        let mut garblings: Vec<_> = garblings.collect();
        on_own_stack(|| scheme.garble_side_by_side(0, program, &mut garblings))
    }
}

#[test]
fn garbling_side_by_side_leaves_delta_nowhere() {
    let program = component("adder");
    let active = labels(program.inputs());
    for id in [SchemeId::HALF_GATES_TWO_CALL, SchemeId::HALF_GATES_REKEYED] {
        for cpu in Cpu::available() {
            let work = SideBySide(&program, &active);
            let (stack, memory) = watch(|| with_scheme_on(cpu, id, work));
            let stack = stack.expect("it is a scheme");
            for secret in active.iter().chain([&delta()]) {
                let secret = secret.to_bytes();
                assert_eq!(memory.freed(&secret), 0, "{id} on {cpu:?}");
                let on_stack = stack.as_ref().map_or(0, |stack| stack.count(&secret));
                assert_eq!(on_stack, 0, "{id} on {cpu:?} left a secret on the stack");
            }
        }
    }
}
