//! What is compared with computes the circuit, and its tables are those that can be had by hand.

use tacit_circuit::{Circuit, Gate, Port, Type};
use tacit_kernels::{Aes128, Prg};
use tacit_testkit::garbling::circuits;

use super::*;

const KEY: Block = Block::from_u128(0x6b65_795f_6b65_795f_6b65_795f_6b65_795f);

/// Tables and the outputs' labels of value 0, given the inputs'.
fn garble<C: Comparison>(
    what: C,
    mut party: Party,
    program: &Program,
    delta: Block,
    zeros: &[Block],
) -> (Vec<u8>, Vec<Block>) {
    let (mut tables, mut outputs) = (vec![0; table_bytes(what, program)], Vec::new());
    party.garble(what, delta, program, zeros, &mut tables, &mut outputs);
    (tables, outputs)
}

fn computes<C: Comparison>(what: C) {
    for case in &circuits::all() {
        let (name, circuit) = (case.name, &case.circuit);
        let program = Program::compile(circuit);
        for cpu in Cpu::available() {
            let mut prg = Prg::new(Block::ONES);
            let delta = prg.next_block().with_lsb(1.into());
            let zeros = (0..program.inputs()).map(|_| prg.next_block());
            let zeros: Vec<Block> = zeros.collect();
            let bits = zeros.iter().map(|_| prg.next_block().lsb().into());
            let bits: Vec<bool> = bits.collect();
            let party = || Party::new(cpu, KEY, 7);
            let (tables, out_zeros) = garble(what, party(), &program, delta, &zeros);
            let active =
                |(zero, bit): (&Block, &bool)| *zero ^ delta.and_bit(u8::from(*bit).into());
            let labels: Vec<Block> = zeros.iter().zip(&bits).map(active).collect();
            let mut outputs = Vec::new();
            party().evaluate(what, &program, &labels, &tables, &mut outputs);
            let expected = circuit.evaluate(&bits);
            let expected: Vec<Block> = out_zeros.iter().zip(&expected).map(active).collect();
            assert!(outputs == expected, "{name} on {cpu:?}");
        }
    }
}

#[test]
fn fixed_key_half_gates_compute_the_circuit_on_every_backend() {
    computes(FixedKeyHalfGates);
}

#[test]
fn fixed_key_three_rows_compute_the_circuit_on_every_backend() {
    computes(FixedKeyAnd3);
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

fn garble_one_gate<C: Comparison>(what: C) -> (Vec<u8>, Vec<Block>) {
    let party = Party::new(Cpu::portable(), KEY, 0);
    let inputs = [A, B].map(Block::from_u128);
    garble(what, party, &one_gate(), Block::from_u128(DELTA), &inputs)
}

#[test]
fn one_gate_of_fixed_key_half_gates_is_as_by_hand() {
    let aes = Aes128::new(Cpu::portable(), KEY);
    let hash = |x: u128, half: u128| {
        // The tweak: use AND, half, gate 0 of instance 0.
        let whitened = sigma(x) ^ 1 ^ half << 8;
        aes.encrypt(Block::from_u128(whitened)).to_u128() ^ whitened
    };
    let t_g = hash(A, 0) ^ hash(A ^ DELTA, 0) ^ DELTA;
    let t_e = hash(B, 1) ^ hash(B ^ DELTA, 1) ^ A;
    let zero = hash(A, 0) ^ hash(B, 1) ^ t_e ^ A;
    let (tables, outputs) = garble_one_gate(FixedKeyHalfGates);
    assert_eq!(tables[..16], t_g.to_le_bytes());
    assert_eq!(tables[16..], t_e.to_le_bytes());
    assert!(outputs == [Block::from_u128(zero)]);
}

#[test]
fn one_gate_of_fixed_key_three_rows_is_as_by_hand() {
    let aes = Aes128::new(Cpu::portable(), KEY);
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
    let (tables, outputs) = garble_one_gate(FixedKeyAnd3);
    assert_eq!(tables, rows.map(u128::to_le_bytes).concat());
    assert!(outputs == [Block::from_u128(zero)]);
}
