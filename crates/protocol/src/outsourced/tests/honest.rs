//! Runs of honest parties.

use sha2::{Digest as _, Sha256};
use tacit_circuit::Type;
use tacit_function::{Function, FunctionBuilder, Operand, Recipient, Role};
use tacit_garble::SchemeId;
use zeroize::Zeroizing;

use super::trio::{
    GeneratorOutcome, Past, Trio, adder, bits, honest, kept, malicious, number, semi_honest_ots,
};
use crate::message::Kind;
use crate::outsourced::{
    CloudKept, Evaluator, EvaluatorBits, EvaluatorOutcome, Parameters, Peer, Terms,
};
use crate::saved::StoredChain as _;
use crate::{Error, Incompatibility};

pub(super) type Outcomes = (GeneratorOutcome, EvaluatorOutcome, CloudKept);

pub(super) fn run(
    function: &Function,
    parameters: Parameters,
    inputs: [&[bool]; 2],
    seed: u64,
    past: Past,
) -> Result<Outcomes, Error> {
    let trio = Trio::new(function, parameters, inputs, seed, past);
    let ended = trio.run(None, &mut honest);
    ended.ends.into_iter().collect::<Result<(), _>>()?;
    let outcomes = (ended.generator, ended.evaluator, ended.cloud);
    let (Some(generator), Some(evaluator), Some(cloud)) = outcomes else {
        unreachable!("no party has failed");
    };
    Ok((generator, evaluator, cloud))
}

#[test]
fn each_recipient_gets_the_sum() {
    let parameters = [Parameters::SEMI_HONEST, malicious(3), malicious(16)];
    for (seed, parameters) in (0..).zip(parameters) {
        for to in [Recipient::Garbler, Recipient::Evaluator, Recipient::Both] {
            let function = adder(6, to);
            let inputs = [&bits(23, 6)[..], &bits(18, 6)[..]];
            let (generator, evaluator, cloud) =
                run(&function, parameters, inputs, seed, Past::default()).unwrap();
            let due = |role| if to.includes(role) { 41 } else { 0 };
            assert_eq!(
                number(&generator.outputs),
                due(Role::Garbler),
                "{parameters}"
            );
            assert_eq!(
                number(&evaluator.outputs),
                due(Role::Evaluator),
                "{parameters}"
            );
            assert_eq!(generator.kept.chain.id(), cloud.chain.id());
        }
    }
}

/// Returns a function that opens an account: it saves the evaluator's number, and a constant.
pub(super) fn opened() -> Function {
    let mut builder = FunctionBuilder::new("open");
    builder
        .input("deposit", "u8", Role::Evaluator)
        .save("balance", "u8", "deposit")
        .save("rate", "u8", Operand::typed(3, Type::unsigned(8)));
    instance(&mut builder)
}

/// Returns a function that adds to an account. The evaluator gets the balance and the generator the
/// rate.
pub(super) fn paid() -> Function {
    let mut builder = FunctionBuilder::new("pay");
    builder
        .library("add", "adder", &[("bits", 8)])
        .load("balance", "u8")
        .load("rate", "u8")
        .input("deposit", "u8", Role::Evaluator)
        .input("bonus", "u8", Role::Garbler)
        .value("sum", "u8")
        .value("more", "u8")
        .call(["more"], "add", ["deposit", "bonus"])
        .call(["sum"], "add", ["balance", "more"])
        .save("balance", "u8", "sum")
        .save("rate", "u8", "rate")
        .output("now", "u8", Recipient::Evaluator, "sum")
        .output("fee", "u8", Recipient::Garbler, "rate");
    instance(&mut builder)
}

fn instance(builder: &mut FunctionBuilder) -> Function {
    builder.finish().unwrap()
}

/// Four runs of one chain, with four evaluators that know nothing of each other.
#[test]
fn values_go_from_run_to_run() {
    for parameters in [Parameters::SEMI_HONEST, malicious(5)] {
        let (open, pay) = (opened(), paid());
        let (generator, _, cloud) =
            run(&open, parameters, [&[], &bits(10, 8)], 1, Past::default()).unwrap();
        let marks = |generator: &GeneratorOutcome, cloud: &CloudKept| {
            let theirs = cloud.saved.iter().map(|value| value.mark());
            let ours = generator.kept.saved.iter().map(|value| value.mark());
            assert!(ours.eq(theirs));
        };
        marks(&generator, &cloud);
        let mut past = kept(generator, cloud);
        let mut balance = 10;
        for (seed, (deposit, bonus)) in (2..).zip([(20, 1), (7, 0), (100, 2)]) {
            let inputs = [&bits(bonus, 8)[..], &bits(deposit, 8)[..]];
            let (generator, evaluator, cloud) = run(&pay, parameters, inputs, seed, past).unwrap();
            balance += deposit + bonus;
            assert_eq!(number(&evaluator.outputs), balance, "{parameters}");
            assert_eq!(number(&generator.outputs), 3, "{parameters}");
            marks(&generator, &cloud);
            past = kept(generator, cloud);
        }
    }
}

/// Two runs load the same version.
#[test]
fn a_version_may_be_loaded_again() {
    let (open, pay) = (opened(), paid());
    let parameters = malicious(3);
    let (generator, _, cloud) =
        run(&open, parameters, [&[], &bits(10, 8)], 1, Past::default()).unwrap();
    let (first, again) = (generator.kept.saved.clone(), cloud.saved.clone());
    let past = kept(generator, cloud);
    let (generator, _, cloud) = run(&pay, parameters, [&bits(0, 8), &bits(5, 8)], 2, past).unwrap();
    let past = Past {
        generator: first,
        cloud: again,
        ..kept(generator, cloud)
    };
    let (_, evaluator, _) = run(&pay, parameters, [&bits(0, 8), &bits(6, 8)], 3, past).unwrap();
    assert_eq!(number(&evaluator.outputs), 16);
}

/// A run that only saves constants sends no circuit, and what it saved can be loaded.
#[test]
fn a_run_without_any_gate_saves() {
    let mut blank = FunctionBuilder::new("blank");
    blank
        .save("balance", "u8", Operand::typed(40, Type::unsigned(8)))
        .save("rate", "u8", Operand::typed(2, Type::unsigned(8)));
    let (blank, pay) = (instance(&mut blank), paid());
    let parameters = malicious(3);
    let (generator, _, cloud) = run(&blank, parameters, [&[], &[]], 1, Past::default()).unwrap();
    let past = kept(generator, cloud);
    let (generator, evaluator, _) =
        run(&pay, parameters, [&bits(1, 8), &bits(1, 8)], 2, past).unwrap();
    assert_eq!(number(&evaluator.outputs), 42);
    assert_eq!(number(&generator.outputs), 2);
}

/// If generator and cloud load different versions, they stop before a key is used, and the
/// evaluator detects it, too.
#[test]
fn different_versions_stop_the_run() {
    let (open, pay) = (opened(), paid());
    let parameters = malicious(3);
    let (generator, _, cloud) =
        run(&open, parameters, [&[], &bits(10, 8)], 1, Past::default()).unwrap();
    let old = cloud.saved.clone();
    let past = kept(generator, cloud);
    let (generator, _, cloud) = run(&pay, parameters, [&bits(0, 8), &bits(5, 8)], 2, past).unwrap();
    let past = Past {
        cloud: old,
        ..kept(generator, cloud)
    };
    let trio = Trio::new(&pay, parameters, [&bits(0, 8), &bits(5, 8)], 3, past);
    let ended = trio.run(None, &mut honest);
    for end in ended.ends {
        let found = matches!(
            end,
            Err(Error::PeerIncompatible(Incompatibility::SavedValues { .. })
                | Error::PeerAborted(_))
        );
        assert!(found, "{end:?}");
    }
}

#[test]
fn values_of_another_chain_are_refused() {
    let (open, pay) = (opened(), paid());
    let parameters = malicious(3);
    let start = |seed| run(&open, parameters, [&[], &bits(1, 8)], seed, Past::default()).unwrap();
    let ((generator, _, cloud), (other, ..)) = (start(1), start(2));
    assert_ne!(generator.kept.chain.id(), other.kept.chain.id());
    let past = kept(generator, cloud);
    let (chain, _) = past.chains.unwrap();
    let refused = crate::outsourced::Generator::new(
        super::trio::scheme(),
        &pay,
        parameters,
        &bits(0, 8),
        crate::outsourced::GeneratorStart::Chain(chain),
        other.kept.saved,
        semi_honest_ots().0,
        1,
        &Zeroizing::new([0; 32]),
    );
    let value = "balance".to_owned();
    assert_eq!(refused.err(), Some(Error::OtherChain { value }));
}

/// The messages of every party have the same shape for all inputs.
#[test]
fn messages_look_alike_for_all_inputs() {
    let function = adder(6, Recipient::Both);
    let mut shapes = [(0, 0), (63, 63), (5, 40)].into_iter().map(|(x, y)| {
        let inputs = [&bits(x, 6)[..], &bits(y, 6)[..]];
        let trio = Trio::new(&function, malicious(5), inputs, 1, Past::default());
        let ended = trio.run(None, &mut honest);
        assert_eq!(ended.ends, [Ok(()), Ok(()), Ok(())]);
        ended.sent
    });
    let first = shapes.next().unwrap();
    assert!(shapes.all(|shape| shape == first));
}

/// Everything that a run sends under fixed seeds. The wire depends on it: a change requires a new
/// version of the wire.
#[test]
fn what_is_sent_is_frozen() {
    let function = adder(6, Recipient::Both);
    let digests = Peer::ALL.map(|peer| {
        let inputs = [&bits(23, 6)[..], &bits(18, 6)[..]];
        let trio = Trio::new(&function, malicious(5), inputs, 1, Past::default());
        let mut digest = Sha256::new();
        let mut record = |to: Peer, kind: Kind, _, message: &mut Vec<u8>| {
            digest.update([to as u8, kind.byte()]);
            digest.update((message.len() as u64).to_le_bytes());
            digest.update(&*message);
        };
        let ended = trio.run(Some(peer), &mut record);
        assert_eq!(ended.ends, [Ok(()), Ok(()), Ok(())]);
        let digest: [u8; 32] = digest.finalize().into();
        digest[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    });
    let expected = ["9a4ce6abf4b93180", "4da877422b1215dc", "58c107308e085f2a"];
    assert_eq!(digests, expected);
}

/// OTs whose choices are not checked are refused for a run against malicious parties.
#[test]
fn semi_honest_transfers_are_refused() {
    let function = adder(6, Recipient::Both);
    let start = |parameters| {
        let (_, with_generator) = semi_honest_ots();
        let terms = Terms {
            function: function.digest(),
            scheme: SchemeId::HALF_GATES_TWO_CALL,
            parameters,
        };
        let seed = Zeroizing::new([1; 32]);
        let counts = EvaluatorBits::of(&function);
        Evaluator::new(terms, counts, &bits(3, 6), with_generator, &seed).map(drop)
    };
    assert!(matches!(start(malicious(3)), Err(Error::ApiMisuse(_))));
    assert_eq!(start(Parameters::SEMI_HONEST), Ok(()));
}

#[test]
fn a_run_takes_the_transfers_that_its_shape_says() {
    let counts = EvaluatorBits::of(&adder(6, Recipient::Evaluator));
    assert_eq!(counts.transfers(&Parameters::SEMI_HONEST), Ok(6 + 64 + 70));
    let parameters = Parameters::malicious(256, 40).unwrap();
    let wide = EvaluatorBits {
        input_bits: 8192,
        output_bits: 0,
    };
    assert_eq!(wide.transfers(&parameters), Ok(8487));
}
