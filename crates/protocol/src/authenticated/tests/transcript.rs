//! Every byte that two honest parties send under fixed seeds, as one digest: a change of the
//! protocol shows as one line.

use sha2::{Digest as _, Sha256};
use tacit_kernels::Block;

use super::*;

/// The digest of all messages of a run, who sent each, and its kind.
fn transcript(name: &str, bits: u8, construction: Construction) -> String {
    let mut prg = Prg::new(Block::from_u128(6));
    let deltas = fresh_deltas(&mut prg);
    let [a, b] = dealt(tags(Extension::default()), deltas, &mut prg);
    let function = component(name, Recipient::Both);
    let terms = Terms {
        construction,
        ..terms(&function, bits)
    };
    let inputs = [Role::Garbler, Role::Evaluator];
    let inputs = inputs.map(|role| vec![true; function.input_bits(role)]);
    let seed = |byte| Zeroizing::new([byte; 32]);
    let mut garbler = Garbler::new(terms, &inputs[0], a, &seed(1)).unwrap();
    let mut evaluator = Evaluator::new(terms, &inputs[1], b, &seed(2)).unwrap();
    let mut hash = Sha256::new();
    let ended = exchange(
        [&mut garbler, &mut evaluator],
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
        "1b101c726c145f2a6464da8ad3f407415fdc0a7b6607ad760ebd7ccc32a119f6",
        "4fa1147f06d25e6229d54007c4f7814cc8b206ab0f109bffd80fecf135ee99c8",
        "debb903b6a8cf1f85e0b98ae03181df0008694cc2dce0d39a868455ade3b9746",
    ];
    assert_eq!(found, expected);
}
