//! Instances whose rows prove their gates. Each test plays the party that a check is against.

use std::collections::HashSet;

use tacit_circuit::builder::{Builder, Bus};
use tacit_kernels::Block;

use super::cheating::lie;
use super::*;
use crate::authenticated::oracle::Domain;
use crate::authenticated::rows::{CheckingRows, GATE_ROWS, row_bytes};

const GATES: usize = 64;

/// Returns a function with an AND gate for each bit of two inputs.
fn ands() -> Function {
    let builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.bus(name, GATES));
    let bits = a.bits().zip(b.bits()).map(|(a, b)| a & b);
    builder.output("both", &Bus::from_bits(&builder, bits));
    of_circuit("ands", builder.finish().unwrap(), Recipient::Both)
}

/// The number of blocks that the evaluator keeps before those of gates, and for each gate.
const BEFORE: usize = 2 + 2 * 2 * GATES;
const GATE: usize = 6;

/// Returns the position of a gate's rows in the evaluator's data, and the size of a row.
fn rows_of(gate: usize) -> (usize, usize) {
    let size = row_bytes(ordered());
    let before = (BEFORE + GATE * GATES) * Block::BYTES;
    (before + gate * GATE_ROWS * size, size)
}

fn block(bytes: &[u8], i: usize) -> Block {
    let at = i * Block::BYTES;
    Block::from_bytes(bytes[at..at + Block::BYTES].try_into().unwrap())
}

/// Runs from a stock of ANDs, with messages that go through `change`.
fn run_ands(stock: &Stock, change: &mut Change<'_>) -> (Result<(), Failure>, Sent) {
    let function = ands();
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let (ended, sent) = changed_run(terms(&function, 9), inputs, &mut stock.clone(), change);
    let right = plain(&function, inputs);
    (ended.map(|found| assert_ne!(found, right)), sent)
}

/// A row has s + 40 bits, all of them secret bits of a MAC: those after the first byte.
#[test]
fn a_row_is_longer_than_s() {
    for (bits, due) in [(40, 10), (64, 13)] {
        let security = SecurityBits::new(bits).unwrap();
        assert_eq!(row_bytes(security), due);
    }
}

/// The figures on the protocol's page for AES-128 at s = 40.
#[test]
fn what_is_kept_of_an_instance_is_what_the_page_says() {
    let function = component("aes-128", Recipient::Both);
    let ordered_at = SecurityBits::new(40).unwrap();
    let kept = Role::BOTH.map(|role| instance_bytes(role, &function.components()[0], ordered_at));
    assert_eq!(kept, [18_464, 814_624]);
}

/// A garbler flips the output of a gate. It passes only with a row for which it guesses all bits of
/// Δ_B that a row has. The garbler's results are not opened after another guess.
#[test]
fn a_wrong_gate_takes_a_guess_at_each_bit_of_a_row() {
    let stock = make(&ands(), 1);
    let delta = block(&stock.0[1].0[0][0], 0).to_bytes();
    let (rows, size) = rows_of(5);
    let product = rows + 2 * size..rows + 3 * size;
    let turned = |guess: Option<usize>| {
        let mut stock = stock.clone();
        let kept = &mut stock.0[1].0[0][0];
        kept[(BEFORE + GATE * 5 + 4) * Block::BYTES] ^= 1;
        if let Some(wrong) = guess {
            let row = kept[product.clone()].iter_mut();
            let secret = &delta[Block::BYTES - size..];
            row.zip(secret).for_each(|(row, delta)| *row ^= delta);
            if let Some(byte) = kept[product.clone()].get_mut(wrong / 8) {
                *byte ^= 1 << (wrong % 8);
            }
        }
        run_ands(&stock, &mut unchanged)
    };
    let guesses = (0..8 * size).map(Some);
    for guess in guesses.chain([None]) {
        let (ended, sent) = turned(guess);
        assert_eq!(ended, Err((Role::Evaluator, cheated(Caught::GateProof))));
        assert_eq!(count(&sent, Role::Evaluator, Kind::ResultOpening), 0);
    }
    // After the right guess the evaluator opens the garbler's results.
    let (_, sent) = turned(Some(8 * size));
    assert_eq!(count(&sent, Role::Evaluator, Kind::ResultOpening), 1);
}

/// The row that every evaluator reads is wrong.
#[test]
fn a_wrong_row_gets_no_results() {
    let stock = make(&ands(), 1);
    for gate in [0, 7, GATES - 1] {
        let (rows, size) = rows_of(gate);
        for at in 2 * size..3 * size {
            let mut stock = stock.clone();
            stock.0[1].0[0][0][rows + at] ^= 0x40;
            let (ended, sent) = run_ands(&stock, &mut unchanged);
            assert_eq!(ended, Err((Role::Evaluator, cheated(Caught::GateProof))));
            assert_eq!(count(&sent, Role::Evaluator, Kind::ResultOpening), 0);
        }
    }
}

/// If only one party has results, the gates are proven before any result is opened, and the
/// garbler's opening is checked before the evaluator sends its own.
#[test]
fn rows_are_checked_whoever_has_results() {
    let builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.bus(name, GATES));
    let bits = a.bits().zip(b.bits()).map(|(a, b)| a & b);
    builder.output("both", &Bus::from_bits(&builder, bits));
    let circuit = builder.finish().unwrap();
    for (recipient, openings) in [(Recipient::Garbler, [0, 1]), (Recipient::Evaluator, [1, 0])] {
        let function = of_circuit("ands", circuit.clone(), recipient);
        let stock = make(&function, 1);
        let inputs = inputs_of(&function);
        let inputs = [&inputs[0][..], &inputs[1][..]];
        let run = |stock: &Stock| {
            changed_run(
                terms(&function, 9),
                inputs,
                &mut stock.clone(),
                &mut unchanged,
            )
        };
        let opened = |sent: &Sent, role| count(sent, role, Kind::ResultOpening);
        let (ended, sent) = run(&stock);
        assert_eq!(ended.unwrap(), plain(&function, inputs));
        assert_eq!(
            [opened(&sent, Role::Garbler), opened(&sent, Role::Evaluator)],
            openings
        );
        let mut wrong = stock.clone();
        let (rows, size) = rows_of(5);
        wrong.0[1].0[0][0][rows + 2 * size] ^= 1;
        let (ended, sent) = run(&wrong);
        assert_eq!(ended, Err((Role::Evaluator, cheated(Caught::GateProof))));
        assert_eq!(opened(&sent, Role::Evaluator), 0);
    }
}

/// Message 2c has another length or other masks, or sets a bit without a meaning. The evaluator
/// opens nothing.
#[test]
fn a_malformed_opening_of_results_gets_none() {
    let function = tangle();
    let stock = make(&function, 1);
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let results = function.output_bits(Role::Evaluator);
    assert_ne!(results % 8, 0);
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let changes: [Change<'_>; 5] = [
        &|payload| payload.clear(),
        &|payload| payload.truncate(payload.len() - 1),
        &|payload| payload.push(0),
        &|payload| payload[0] ^= 1,
        &|payload| payload[results / 8] ^= 1 << 7,
    ];
    for (case, change) in changes.into_iter().enumerate() {
        let change = &mut |from: Role, kind: Kind, payload: &mut Vec<u8>| {
            if (from, kind) == (Role::Garbler, Kind::ResultOpening) {
                change(payload);
            }
        };
        let (ended, sent) = changed_run(terms(&function, 9), inputs, &mut stock.clone(), change);
        let (role, error) = ended.unwrap_err();
        assert_eq!(role, Role::Evaluator, "{case}");
        assert!(matches!(error, Error::PeerMisbehaved(_)), "{case}: {error}");
        assert_eq!(
            count(&sent, Role::Evaluator, Kind::ResultOpening),
            0,
            "{case}"
        );
    }
}

/// Rows have the size with which the lot was ordered, for every s with which it is made.
#[test]
fn a_lot_that_is_charged_has_the_rows_that_were_ordered() {
    let function = ands();
    check_run_from(&function, 9, &mut make_at(16, &function, 1));
}

/// Gates without rows do not count as gates with right rows.
#[test]
fn too_few_rows_are_an_error() {
    let [epoch, _] = epochs();
    let hash = epoch.hash(Construction::TwoCall, Domain::RowStart, 0);
    let size = row_bytes(ordered());
    let mut checking = CheckingRows::new(hash, size);
    let mut load = |bytes| checking.load(vec![0; bytes], 2);
    let due = GATE_ROWS * size * 2;
    assert_eq!(load(due), Ok(()));
    for bytes in [0, due / 2, due - 1, due + 1] {
        assert!(
            matches!(load(bytes), Err(Error::DamagedMaterial(_))),
            "{bytes}"
        );
    }
}

/// An instance with rows of another size is refused, even if its data has the same size, as for a
/// component without AND gates. Nothing is sent.
#[test]
fn an_instance_of_another_size_is_refused() {
    let builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.bus(name, 4));
    let bits = a.bits().zip(b.bits()).map(|(a, b)| a ^ b);
    builder.output("sum", &Bus::from_bits(&builder, bits));
    let sums = of_circuit("sums", builder.finish().unwrap(), Recipient::Both);
    let other = SecurityBits::insecure_for_measurements(20).unwrap();
    for function in [sums, ands()] {
        let inputs = inputs_of(&function);
        let Stock([ours, theirs], id, _) = make(&function, 1);
        let run = LinkedRun {
            terms: terms(&function, 9),
            id,
            ordered_at: other,
        };
        let ended = run_two(
            async |io| run.garble(io, &inputs[0], ours).await,
            async |io| run.evaluate(io, &inputs[1], theirs).await,
            &mut |_, _, kind, _| panic!("{kind} was sent"),
        );
        let (garbler, evaluator) = ended.results;
        for error in [garbler.unwrap_err(), evaluator.unwrap_err()] {
            assert!(
                matches!(error, Error::Material(_) | Error::DamagedMaterial(_)),
                "{error}"
            );
        }
    }
}

/// Neither party sends a value of a gate.
#[test]
fn no_value_of_a_gate_is_told() {
    let function = tangle();
    let sent = check_run_from(&function, 9, &mut make(&function, 1));
    let kinds: Vec<_> = sent.iter().map(|(from, kind, _)| (*from, *kind)).collect();
    let (a, b) = (Role::Garbler, Role::Evaluator);
    let due = [
        (a, Kind::LinkMasks),
        (a, Kind::AuthenticatedLinks),
        (b, Kind::LinkMasks),
        (b, Kind::MaskedInputs),
        (a, Kind::MaskedInputs),
        (a, Kind::AuthenticatedLinks),
        (a, Kind::ResultOpening),
        (b, Kind::ResultOpening),
    ];
    assert_eq!(kinds, due);
}

/// The evaluator claims another result of the garbler than it computed. The results are gates,
/// inputs and constants.
#[test]
fn an_evaluators_claim_of_a_result_is_refused() {
    let function = tangle();
    let stock = make(&function, 1);
    let inputs = inputs_of(&function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    for bit in 0..function.output_bits(Role::Garbler) {
        let lie = &mut lie(Role::Evaluator, Kind::ResultOpening, bit);
        let (ended, _) = changed_run(terms(&function, 9), inputs, &mut stock.clone(), lie);
        assert_eq!(ended, Err((Role::Garbler, cheated(Caught::Results))));
    }
}

/// The evaluator lies about a link. The garbler sends neither labels nor masks of the evaluator's
/// results.
#[test]
fn an_evaluators_lie_about_a_link_gets_no_results() {
    let stock = make(&ands(), 1);
    let lie = &mut lie(Role::Evaluator, Kind::LinkMasks, 3);
    let (ended, sent) = run_ands(&stock, lie);
    assert_eq!(ended, Err((Role::Garbler, cheated(Caught::Links))));
    let told = [Kind::AuthenticatedLinks, Kind::ResultOpening];
    assert_eq!(told.map(|kind| count(&sent, Role::Garbler, kind)), [0; 2]);
}

/// If rows and tables used the same key, they would sum to the garbler's parts of λ_j, which an
/// evaluator knows if λ_j is 0. It would learn masks, and so values.
#[test]
fn rows_and_tables_do_not_show_a_mask() {
    let stock = make(&ands(), 1);
    let kept = &stock.0[1].0[0][0];
    let first = Block::BYTES - row_bytes(ordered());
    let mut zeros = HashSet::new();
    for input in 0..2 * GATES {
        let [mac, key] = [0, 1].map(|i| block(kept, 2 + 2 * input + i));
        zeros.insert((mac ^ key).to_bytes()[first..].to_vec());
    }
    let known = (0..GATES).filter(|gate| {
        let (rows, size) = rows_of(*gate);
        let table = block(kept, BEFORE + GATE * gate).to_bytes();
        let sum = kept[rows..rows + size].iter().zip(&table[first..]);
        zeros.contains(&sum.map(|(row, table)| row ^ table).collect::<Vec<_>>())
    });
    assert_eq!(known.count(), 0);
}
