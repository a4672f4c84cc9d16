//! No conditional jump and no address in a VAES kernel depends on a secret: see
//! [`tacit_testkit::disassembly`]. (For AES-NI and the portable backend valgrind checks that, in
//! `timing.rs`.) If `objdump` is not installed, or this test was built without debug information,
//! it says so and passes; with `TACIT_REQUIRE_OBJDUMP=1` it fails.
//!
//! It is valid for the profile of tests. In a release build it reports addresses that look like
//! those of slots, whose public numbers passed through the stack, and misses one planted jump: it
//! cannot follow that build's code, and makes no claim about it.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::env;
use std::hint::black_box;

use tacit_circuit::Program;
use tacit_garble::with_scheme;
use tacit_garble::{Evaluator, Garbler, SCHEMES, Scheme, SchemeVisitor, WholeGarbling};
use tacit_kernels::{Block, Cpu, Numbered, Simd, SlotView};
use tacit_testkit::disassembly::{Kernel, kernels};
use tacit_testkit::garbling::{Garbled, Setting, circuits};

/// Parts of the names of kernels that must exist: if one is not found, this test no longer checks
/// anything. (Kernels of several schemes that compile to the same code have the name of one of
/// them.)
const KERNELS: &[&str] = &[
    "free_xor::evaluator::EvaluateSegment<tacit_garble::half_gates::HalfGatesAnds>",
    "free_xor::evaluator::EvaluateSegment<tacit_garble::three_halves::ThreeHalvesAnds>",
    "free_xor::garbler::GarbleSegment<tacit_garble::half_gates::HalfGatesAnds>",
    "free_xor::garbler::GarbleSegment<tacit_garble::three_halves::ThreeHalvesAnds>",
    "tacit_garble::half_gates::side_by_side::SideBySide",
    "tacit_garble::glnp::evaluator::Ands<",
    "tacit_garble::glnp::evaluator::Xors<",
    "tacit_garble::glnp::garbler::Ands<",
    "tacit_garble::glnp::garbler::Xors<",
    "tacit_kernels::aes::Encrypt",
    "tacit_kernels::aes::EncryptEach<1, 2>",
    "tacit_kernels::aes::EncryptEach<2, 1>",
    "tacit_kernels::aes::Expand",
    "tacit_kernels::hash::HashEpoch<1>",
    "tacit_kernels::hash::HashEpoch<2>",
];

/// Kernels that only read the bytes of tables, which are public: two rows have bits next to them,
/// and three halves a byte of control bits that are still encrypted.
const PUBLIC_BYTES: &[&str] = &[
    "free_xor::evaluator::EvaluateSegment<tacit_garble::three_halves::ThreeHalvesAnds>",
    "tacit_garble::glnp::evaluator::Ands<tacit_garble::prf::PrfGates>",
];

const BACKENDS: [&str; 2] = ["Vaes256", "Vaes512"];

/// Returns this program's kernels, if the means to find them exist.
fn own_kernels() -> Option<Vec<Kernel>> {
    // This makes the kernels part of this program.
    for rung in &SCHEMES {
        with_scheme(rung.id, Garbles).expect("it is one of SCHEMES");
    }
    for cpu in Cpu::available() {
        plant(cpu);
    }
    let program = env::current_exe().expect("this program has a path");
    let found = kernels(&program, &BACKENDS).expect("objdump reads this program");
    if let Err(missing) = &found {
        let required = env::var_os("TACIT_REQUIRE_OBJDUMP").is_some();
        assert!(!required, "the disassembly is required, and {missing}");
        eprintln!("SKIPPED: {missing}, so nothing is known of VAES kernels here");
    }
    found.ok()
}

struct Garbles;

impl SchemeVisitor for Garbles {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let program = Program::compile(&circuits::named("majority"));
        let setting = Setting::numbered(1);
        let garbled = Garbled::new(scheme, &setting, &program);
        let labels = garbled.input_labels(&[true, false, true]);
        let mut evaluator = scheme.evaluator(setting.start);
        evaluator.begin(setting.instance, &program, &labels);
        evaluator.evaluate(&program, 0, &garbled.tables[0]);
        let mut outputs = Vec::new();
        evaluator.finish(&program, &mut outputs);
        black_box(outputs);
        garbles_side_by_side(scheme, &program);
    }
}

fn garbles_side_by_side<S: Scheme>(scheme: S, program: &Program) {
    let delta = Block::ONES;
    let inputs = [Block::ZERO; 3];
    let mut tables = vec![vec![0; scheme.table_bytes(program, 0)]; 2];
    let mut garblers = [1, 2].map(|seed| scheme.garbler([seed; 32], Block::ONES, delta));
    let wires = inputs.map(|label| garblers[0].wire_with_active(label, false));
    let each = garblers.into_iter().zip(&mut tables);
    let mut garblings: Vec<_> = each
        .map(|(garbler, tables)| WholeGarbling {
            garbler,
            inputs: &wires,
            tables,
        })
        .collect();
    scheme.garble_side_by_side(0, program, &mut garblings);
    drop(garblings);
    black_box(tables);
}

#[test]
fn no_vaes_kernel_jumps_or_addresses_by_a_secret() {
    let Some(found) = own_kernels() else {
        return;
    };
    for backend in BACKENDS {
        for name in KERNELS {
            let there = |kernel: &&Kernel| kernel.backend == backend && kernel.name.contains(name);
            let kernel = found.iter().find(there);
            let jumps = kernel.map(Kernel::conditional_jumps);
            assert!(jumps.is_some(), "{name} for {backend} is not found");
            println!(
                "{name} for {backend}: {} conditional jumps",
                jumps.unwrap_or(0)
            );
        }
    }
    for kernel in found
        .iter()
        .filter(|kernel| !kernel.name.contains("Planted"))
    {
        let Kernel { name, backend, .. } = kernel;
        // The functions that a kernel calls have its name in theirs.
        let public_bytes = PUBLIC_BYTES.iter().any(|kernel| name.contains(kernel));
        let findings = kernel.findings(public_bytes);
        assert!(findings.is_empty(), "{name} for {backend}: {findings:#?}");
    }
}

#[test]
fn planted_jumps_and_indices_are_found() {
    let Some(found) = own_kernels() else {
        return;
    };
    for backend in BACKENDS {
        for planted in [
            "PlantedBranchOnLabel",
            "PlantedBranchOnVector",
            "PlantedBranchOnTable",
            "PlantedIndex",
        ] {
            let there =
                |kernel: &&Kernel| kernel.backend == backend && kernel.name.ends_with(planted);
            let kernel = found.iter().find(there);
            let kernel = kernel.unwrap_or_else(|| panic!("{planted} is part of this program"));
            let findings = kernel.findings(false);
            println!("{planted} for {backend}: {findings:?}");
            assert!(!findings.is_empty(), "{planted} for {backend} is found");
        }
    }
}

/// Gates that read slots, as a scheme's kernel does.
struct Gates<'a> {
    slots: SlotView<'a>,
    gates: &'a [[u32; 3]],
}

impl<'a> Gates<'a> {
    fn new(blocks: &'a mut [Block], gates: &'a [[u32; 3]]) -> Self {
        let slots = SlotView::new(blocks);
        Self { slots, gates }
    }
}

/// Branches on the select bit of a label.
struct PlantedBranchOnLabel<'a>(Gates<'a>);
/// Branches on the select bit of a label that is in a vector.
struct PlantedBranchOnVector<'a>(Gates<'a>);
/// Sums table rows that select bits choose, by branches.
struct PlantedBranchOnTable<'a>(Gates<'a>);
/// Reads a row by a select bit.
struct PlantedIndex<'a>(Gates<'a>);

impl tacit_kernels::Kernel for PlantedBranchOnLabel<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u64 {
        let Gates { slots, gates } = self.0;
        let mut ones = 0;
        for gate in gates {
            if bool::from(slots.at(gate[0] as usize).lsb()) {
                ones = black_box(ones + 1);
            }
        }
        ones
    }
}

impl tacit_kernels::Kernel for PlantedBranchOnVector<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> u64 {
        let Gates { slots, gates } = self.0;
        let mut ones = 0;
        for gate in gates {
            let label = simd.gather(&slots, |_| gate[0] as usize);
            let other = simd.gather(&slots, |_| gate[1] as usize);
            let mut sum = [Block::ZERO; 4];
            simd.store(simd.xor(label, other), &mut sum);
            if bool::from(sum[0].lsb()) {
                ones = black_box(ones + 1);
            }
        }
        ones
    }
}

impl tacit_kernels::Kernel for PlantedBranchOnTable<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> u64 {
        let Gates { mut slots, gates } = self.0;
        let delta = simd.splat(*slots.at(0));
        for gate in gates {
            let mut label = simd.gather(&slots, |_| gate[0] as usize);
            if bool::from(slots.at(gate[1] as usize).lsb()) {
                label = black_box(simd.xor(label, delta));
            }
            simd.scatter(label, &mut slots, |_| gate[2] as usize);
        }
        slots.at(1).to_u128() as u64
    }
}

impl tacit_kernels::Kernel for PlantedIndex<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> u64 {
        let Gates { mut slots, gates } = self.0;
        for gate in gates {
            let label = slots.at(gate[0] as usize).to_u128();
            let row = simd.gather(&slots, |_| gate[1] as usize ^ (label & 1) as usize);
            simd.scatter(row, &mut slots, |_| gate[2] as usize);
        }
        slots.at(1).to_u128() as u64
    }
}

/// Makes the planted kernels part of this program.
fn plant(cpu: Cpu) {
    let gates = black_box([[1, 2, 3], [2, 3, 1]]);
    let mut blocks = black_box([Block::ONES; 4]);
    black_box(cpu.dispatch(PlantedBranchOnLabel(Gates::new(&mut blocks, &gates))));
    black_box(cpu.dispatch(PlantedBranchOnVector(Gates::new(&mut blocks, &gates))));
    black_box(cpu.dispatch(PlantedBranchOnTable(Gates::new(&mut blocks, &gates))));
    black_box(cpu.dispatch(PlantedIndex(Gates::new(&mut blocks, &gates))));
}
