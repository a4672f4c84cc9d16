//! Fixed-key garbling computes the circuit, and its tables are those that can be had by hand.

use tacit_circuit::{Circuit, Gate, Port, Program, Type};
use tacit_garble::hazmat::and3::{
    FixedKeyAnd3Evaluator, FixedKeyAnd3Garbler, fixed_key_and3_table_bytes,
};
use tacit_garble::hazmat::{FixedKeyEvaluator, FixedKeyGarbler, fixed_key_table_bytes};
use tacit_kernels::{Aes128, Block, Cpu, Prg};
use tacit_testkit::garbling::circuits;

const KEY: Block = Block::from_u128(0x6b65_795f_6b65_795f_6b65_795f_6b65_795f);

/// A way to garble: tables and the outputs' labels of zero, given the inputs'.
type Garble = fn(Cpu, &Program, Block, &[Block]) -> (Vec<u8>, Vec<Block>);
/// Its way to evaluate.
type Evaluate = fn(Cpu, &Program, &[Block], &[u8]) -> Vec<Block>;

fn garble_half_gates(
    cpu: Cpu,
    program: &Program,
    delta: Block,
    zeros: &[Block],
) -> (Vec<u8>, Vec<Block>) {
    let mut tables = vec![0; fixed_key_table_bytes(program)];
    let mut outputs = Vec::new();
    FixedKeyGarbler::new(cpu, KEY, delta).garble(program, zeros, &mut tables, &mut outputs);
    (tables, outputs)
}

fn evaluate_half_gates(cpu: Cpu, program: &Program, labels: &[Block], tables: &[u8]) -> Vec<Block> {
    let mut outputs = Vec::new();
    FixedKeyEvaluator::new(cpu, KEY).evaluate(program, labels, tables, &mut outputs);
    outputs
}

fn garble_and3(
    cpu: Cpu,
    program: &Program,
    delta: Block,
    zeros: &[Block],
) -> (Vec<u8>, Vec<Block>) {
    let mut tables = vec![0; fixed_key_and3_table_bytes(program)];
    let mut outputs = Vec::new();
    FixedKeyAnd3Garbler::new(cpu, KEY, delta).garble(program, zeros, &mut tables, &mut outputs);
    (tables, outputs)
}

fn evaluate_and3(cpu: Cpu, program: &Program, labels: &[Block], tables: &[u8]) -> Vec<Block> {
    let mut outputs = Vec::new();
    FixedKeyAnd3Evaluator::new(cpu, KEY).evaluate(program, labels, tables, &mut outputs);
    outputs
}

#[test]
fn half_gates_compute_the_circuit_on_every_backend() {
    computes_every_circuit(garble_half_gates, evaluate_half_gates);
}

#[test]
fn three_rows_compute_the_circuit_on_every_backend() {
    computes_every_circuit(garble_and3, evaluate_and3);
}

fn computes_every_circuit(garble: Garble, evaluate: Evaluate) {
    for cpu in Cpu::available() {
        for case in &circuits::all() {
            let program = Program::compile(&case.circuit);
            let mut prg = Prg::new(Block::ONES);
            let delta = prg.next_block().with_lsb(1.into());
            let zeros: Vec<Block> = (0..program.inputs()).map(|_| prg.next_block()).collect();
            let bits: Vec<bool> = zeros
                .iter()
                .map(|_| prg.next_block().lsb().into())
                .collect();
            let (tables, out_zeros) = garble(cpu, &program, delta, &zeros);
            let active =
                |(zero, bit): (&Block, &bool)| *zero ^ delta.and_bit(u8::from(*bit).into());
            let labels: Vec<Block> = zeros.iter().zip(&bits).map(active).collect();
            let outputs = evaluate(cpu, &program, &labels, &tables);
            let expected = case.circuit.evaluate(&bits);
            let expected: Vec<Block> = out_zeros.iter().zip(&expected).map(active).collect();
            assert!(outputs == expected, "{} on {cpu:?}", case.name);
        }
    }
}

/// A circuit of one AND gate.
fn one_gate() -> Program {
    let bit = |name: &str| Port::new(name, Type::bits(1));
    let circuit = Circuit::new(
        vec![bit("a"), bit("b")],
        vec![bit("c")],
        [Gate::And(0, 1)],
        vec![2],
    );
    Program::compile(&circuit.expect("one gate is a circuit"))
}

/// σ(x).
fn sigma(x: u128) -> u128 {
    let (low, high) = (x & u128::from(u64::MAX), x >> 64);
    (low ^ high) << 64 | high
}

// Bit 0 of B is set, of A not.
const A: u128 = 0xa1 << 64 | 0xa0;
const B: u128 = 0xb1 << 64 | 0xb3;
const DELTA: u128 = 0xd1 << 64 | 0xd1;

#[test]
fn one_gate_of_half_gates_is_as_by_hand() {
    let cpu = Cpu::portable();
    let aes = Aes128::new(cpu, KEY);
    let hash = |x: u128, half: u128| {
        // The tweak: use AND, half, gate 0 of instance 0.
        let whitened = sigma(x) ^ 1 ^ half << 8;
        aes.encrypt(Block::from_u128(whitened)).to_u128() ^ whitened
    };
    let t_g = hash(A, 0) ^ hash(A ^ DELTA, 0) ^ DELTA;
    let t_e = hash(B, 1) ^ hash(B ^ DELTA, 1) ^ A;
    let zero = hash(A, 0) ^ hash(B, 1) ^ t_e ^ A;
    let inputs = [A, B].map(Block::from_u128);
    let (tables, outputs) = garble_half_gates(cpu, &one_gate(), Block::from_u128(DELTA), &inputs);
    assert_eq!(tables[..16], t_g.to_le_bytes());
    assert_eq!(tables[16..], t_e.to_le_bytes());
    assert!(outputs == [Block::from_u128(zero)]);
}

#[test]
fn one_gate_of_three_rows_is_as_by_hand() {
    let cpu = Cpu::portable();
    let aes = Aes128::new(cpu, KEY);
    let pad = |a: u128, b: u128| {
        let k = sigma(a) ^ sigma(sigma(b)) ^ 1;
        aes.encrypt(Block::from_u128(k)).to_u128() ^ k
    };
    // Select bits 0 stand for a = 0 and b = 1: row 00 is 0, and so are 01 and 11; 10 is 1.
    let (b_0, b_1) = (B ^ DELTA, B);
    let zero = pad(A, b_0);
    let rows = [
        pad(A, b_1) ^ zero,
        pad(A ^ DELTA, b_0) ^ zero ^ DELTA,
        pad(A ^ DELTA, b_1) ^ zero,
    ];
    let inputs = [A, B].map(Block::from_u128);
    let (tables, outputs) = garble_and3(cpu, &one_gate(), Block::from_u128(DELTA), &inputs);
    assert_eq!(tables, rows.map(u128::to_le_bytes).concat());
    assert!(outputs == [Block::from_u128(zero)]);
}
