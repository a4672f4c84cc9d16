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
        "1b30d730e0a284eba2b651c7ac49ecac6b9bcd7bd28de27802fcf89510d98821",
        "c3a4896dc6cf2669ad8e3de4d4e1f9acb0ee39cceccad8d706c440e509474c6c",
        "c6dcb9f634821e8044aed7dc4291e05fa00fa0af5cc99b0ff068a2afefb982c5",
    ];
    assert_eq!(found, expected);
}
