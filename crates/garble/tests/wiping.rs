//! What garbling leaves in memory: no label that was not given away.

use tacit_circuit::{Circuit, Program};
use tacit_garble::{Evaluator, Garbler, LADDER, Scheme, SchemeVisitor, WholeGarbling, with_scheme};
use tacit_kernels::leftovers::{Watching, on_own_stack, watch};
use tacit_kernels::{Block, Prg};
use tacit_testkit::garbling::circuits;
use zeroize::Zeroizing;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

const START: Block = Block::from_u128(0x5ea1);

fn delta() -> Block {
    Prg::new(Block::from_u128(1))
        .next_block()
        .with_lsb(1.into())
}

/// Labels that input wires have, and of which the slots hold copies.
fn labels(count: usize) -> Vec<Block> {
    let mut labels = vec![Block::ZERO; count];
    Prg::new(Block::from_u128(2)).fill_blocks(&mut labels);
    labels
}

/// Garbles and evaluates, with everything wiped that the caller of the schemes holds.
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

fn small() -> [Circuit; 3] {
    [
        circuits::named("every kind of gate"),
        circuits::named("wide layers"),
        circuits::random(78, 6, 50),
    ]
}

/// The slots of garbler and evaluator are freed without a label in them.
#[test]
fn slots_are_wiped_under_every_scheme() {
    for circuit in small() {
        let program = Program::compile(&circuit);
        let active = labels(program.inputs());
        for rung in &LADDER {
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

/// Two instances side by side, whose vectors take Δ from the stack.
struct SideBySide<'a>(&'a Program, &'a [Block]);

impl SchemeVisitor for SideBySide<'_> {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
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
        let garblings = garblers
            .into_iter()
            .zip(&wires)
            .zip(rooms.chunks_exact_mut(size));
        let garblings = garblings.map(|((garbler, inputs), tables)| WholeGarbling {
            garbler,
            inputs,
            tables,
        });
        let mut garblings: Vec<_> = garblings.collect();
        scheme.garble_side_by_side(0, program, &mut garblings);
    }
}

#[test]
fn garbling_side_by_side_leaves_delta_nowhere() {
    let program = Program::compile(&circuits::chain(40));
    let active = labels(program.inputs());
    for rung in LADDER
        .iter()
        .filter(|rung| rung.id.to_string().starts_with("half-gates"))
    {
        let mut memory = None;
        let stack = on_own_stack(|| {
            let run = || with_scheme(rung.id, SideBySide(&program, &active));
            memory = Some(watch(run).1);
        });
        let memory = memory.expect("the work ran");
        let on_stack = |secret: &[u8]| stack.as_ref().map_or(0, |stack| stack.count(secret));
        for secret in active.iter().chain([&delta()]) {
            let secret = secret.to_bytes();
            assert_eq!(memory.freed(&secret), 0, "{}", rung.id);
            assert_eq!(on_stack(&secret), 0, "{} left it on the stack", rung.id);
        }
    }
}
