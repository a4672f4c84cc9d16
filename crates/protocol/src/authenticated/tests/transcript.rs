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
        "9afbb26e5043efa762cb622db6c6b40754ef608efb663e4f4afb1b965744c305",
        "235bedeb103bc9fb8717cf1e66d93070ebf477556b3f4d8df0396154318b4e22",
        "f7560453132fd912aca99e1c4c6cab2dc633229cd95c26ebf4dd531f8bee59a9",
    ];
    assert_eq!(found, expected);
}
