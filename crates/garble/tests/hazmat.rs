//! Fixed-key half-gates compute the circuit, and their table is the one that can be had by hand.

use tacit_circuit::{Circuit, Gate, Port, Program, Type};
use tacit_garble::hazmat::{FixedKeyEvaluator, FixedKeyGarbler, fixed_key_table_bytes};
use tacit_kernels::{Aes128, Block, Cpu, Prg};
use tacit_testkit::garbling::circuits;

const KEY: Block = Block::from_u128(0x6b65_795f_6b65_795f_6b65_795f_6b65_795f);

#[test]
fn every_backend_computes_the_circuit() {
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
            let mut tables = vec![0; fixed_key_table_bytes(&program)];
            let (mut out_zeros, mut outputs) = (Vec::new(), Vec::new());
            FixedKeyGarbler::new(cpu, KEY, delta).garble(
                &program,
                &zeros,
                &mut tables,
                &mut out_zeros,
            );
            let active =
                |(zero, bit): (&Block, &bool)| *zero ^ delta.and_bit(u8::from(*bit).into());
            let labels: Vec<Block> = zeros.iter().zip(&bits).map(active).collect();
            FixedKeyEvaluator::new(cpu, KEY).evaluate(&program, &labels, &tables, &mut outputs);
            let expected = case.circuit.evaluate(&bits);
            let expected: Vec<Block> = out_zeros.iter().zip(&expected).map(active).collect();
            assert!(outputs == expected, "{} on {cpu:?}", case.name);
        }
    }
}

#[test]
fn one_gate_is_as_by_hand() {
    let bit = |name: &str| Port::new(name, Type::bits(1));
    let circuit = Circuit::new(
        vec![bit("a"), bit("b")],
        vec![bit("c")],
        [Gate::And(0, 1)],
        vec![2],
    )
    .expect("one gate is a circuit");
    let program = Program::compile(&circuit);
    let (a, b, delta) = (
        0xa1_u128 << 64 | 0xa0,
        0xb1_u128 << 64 | 0xb3,
        0xd1_u128 << 64 | 0xd1,
    );
    let cpu = Cpu::portable();
    let aes = Aes128::new(cpu, KEY);
    let hash = |x: u128, half: u128| {
        let (low, high) = (x & u128::from(u64::MAX), x >> 64);
        // σ(x), and the tweak: use AND, half, gate 0 of instance 0.
        let whitened = ((low ^ high) << 64 | high) ^ 1 ^ half << 8;
        aes.encrypt(Block::from_u128(whitened)).to_u128() ^ whitened
    };
    // Bit 0 of b is set, of a not.
    let t_g = hash(a, 0) ^ hash(a ^ delta, 0) ^ delta;
    let t_e = hash(b, 1) ^ hash(b ^ delta, 1) ^ a;
    let zero = hash(a, 0) ^ hash(b, 1) ^ t_e ^ a;
    let (mut tables, mut outputs) = ([0; 32], Vec::new());
    let inputs = [a, b].map(Block::from_u128);
    FixedKeyGarbler::new(cpu, KEY, Block::from_u128(delta)).garble(
        &program,
        &inputs,
        &mut tables,
        &mut outputs,
    );
    assert_eq!(tables[..16], t_g.to_le_bytes());
    assert_eq!(tables[16..], t_e.to_le_bytes());
    assert!(outputs == [Block::from_u128(zero)]);
}
