//! One digest of every byte that two honest parties send under fixed seeds. A change of the
//! protocol shows as one changed line.

use sha2::{Digest as _, Sha256};
use tacit_kernels::Block;

use super::*;

/// Returns the digest of all messages of a run, with the sender and kind of each.
fn transcript(name: &str, bits: u8, construction: Construction) -> String {
    let mut prg = Prg::new(Block::from_u128(6));
    let deltas = fresh_deltas(&mut prg);
    let [a, b] = dealt(tags(Extension::default()), deltas, &mut prg);
    let function = component(name, Recipient::Both);
    let terms = Terms {
        construction,
        ..terms(&function, bits)
    };
    let inputs = Role::BOTH;
    let inputs = inputs.map(|role| vec![true; function.input_bits(role)]);
    let seed = |byte| Zeroizing::new([byte; 32]);
    let (mine, yours) = (seed(1), seed(2));
    let mut hash = Sha256::new();
    let (ended, _) = run_changed(
        async |io| terms.run(io, &inputs[0], a, &mine).await,
        async |io| terms.run(io, &inputs[1], b, &yours).await,
        &mut |from, kind, payload| {
            hash.update([u8::from(from == Role::Garbler), kind.byte()]);
            hash.update((payload.len() as u64).to_le_bytes());
            hash.update(&*payload);
        },
    );
    ended.unwrap();
    let digest: [u8; 32] = hash.finalize().into();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn transcripts_are_those_of_the_vectors() {
    use Construction::{Rekeyed, TwoCall};
    let runs = [
        ("adder", 40, TwoCall),
        ("adder", 64, Rekeyed),
        ("aes-128", 40, TwoCall),
    ];
    let found = runs.map(|(name, bits, construction)| transcript(name, bits, construction));
    let expected = [
        "68c09217a73a0b078a983e3535af9b241cb8ae0fa0f0a404e3dd59a86051a5ca",
        "de455c01ae0ec811e0baa43d61a1513be968e1ee9666aef157016ac609179fef",
        "47d88f31305805eee451ae9c4e2b32d90b4e227e69106a5fb7190c0b885e9ff5",
    ];
    assert_eq!(found, expected);
}
