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
        "f9714f0a745b765dddc21c1065f004a122a61279c7ceca766a9bc7264432befd",
        "c0986574b3ef9f0a4871e18ab3f491dbbd6a8052ba6d88d3f39c9b2e2a3653a8",
        "ff2d95c378bb48ad78c51b4814fac8f20def9e75538bb932366c5417bf3783e4",
    ];
    assert_eq!(found, expected);
}
