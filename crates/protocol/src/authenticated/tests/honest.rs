//! Honest parties: results, setups, and lots that run out in the middle of a function.

use tacit_circuit::builder::{Builder, Bus};

use super::*;
use crate::io::memory::run_both;
use crate::setup::OtSettings;

#[test]
fn both_get_what_the_function_gives() {
    let mut epochs = epochs();
    for to in [Recipient::Evaluator, Recipient::Both, Recipient::Garbler] {
        for bits in [1, 9, 40] {
            epochs = check_run(terms(&component("adder", to), bits), epochs);
        }
    }
    let aes = component("aes-128", Recipient::Both);
    for construction in [Construction::TwoCall, Construction::Rekeyed] {
        let terms = Terms {
            construction,
            ..terms(&aes, 40)
        };
        epochs = check_run(terms, epochs);
    }
}

#[test]
fn an_epoch_is_set_up_by_base_ots() {
    let mut rng = UnwrapErr(getrandom::SysRng);
    for extension in Extension::NAMED {
        let settings = OtSettings {
            extension,
            ..OtSettings::default()
        };
        let setup =
            |role, rng: &mut _| EpochSetup::new(role, settings, tags(extension), rng).unwrap();
        let a = setup(Role::Garbler, &mut rng);
        let b = setup(Role::Evaluator, &mut rng);
        let epochs = run_both(
            async |io| a.run(io).await?.epoch(),
            async |io| b.run(io).await?.epoch(),
        );
        let epochs = epochs.unwrap().into();
        check_run(terms(&component("adder", Recipient::Both), 40), epochs);
    }
}

/// Results that are inputs, constants, negations and sums, without a gate that needs a triple; a
/// party without inputs, and a party without results.
#[test]
fn functions_without_and_gates() {
    for (owner, to) in [
        (Role::Garbler, Recipient::Both),
        (Role::Evaluator, Recipient::Garbler),
        (Role::Garbler, Recipient::Evaluator),
    ] {
        let builder = Builder::new();
        let [a, b] = ["a", "b"].map(|name| builder.bus(name, 4));
        let bits = a.bits().zip(b.bits()).map(|(a, b)| !(a ^ b));
        builder.output("sum", &Bus::from_bits(&builder, bits));
        builder.output("same", &a);
        let circuit = builder.finish().unwrap();
        let function = Function::of_circuit("sums", circuit, |_| owner, |_| to).unwrap();
        assert_eq!(function.and_gates(), 0);
        check_run(terms(&function, 40), epochs());
    }
}

/// The run has more gates than a lot has triples.
#[test]
fn a_run_goes_on_with_the_next_lot() {
    let aes = component("aes-128", Recipient::Both);
    let size = LotSize::cheapest(aes.and_gates(), SecurityBits::new(40).unwrap());
    assert_eq!(size.triples as u64, aes.and_gates());
    terms::MOST_TRIPLES.set(Some(1500));
    let (terms, epochs) = (terms(&aes, 40), epochs());
    let inputs = vec![true; 128];
    let (found, sent) = changed_run(terms, [&inputs; 2], epochs, &mut unchanged);
    terms::MOST_TRIPLES.set(None);
    assert_eq!(found.unwrap().0, plain(&aes, [&inputs; 2]));
    let lots = count(&sent, Role::Evaluator, Kind::LeakyBits);
    assert!(lots >= 5, "{lots}");
}

#[test]
fn what_a_run_does_not_take_is_refused() {
    let adder = component("adder", Recipient::Both);
    let inputs = vec![false; adder.input_bits(Role::Garbler)];
    let ([a, _], seed) = (epochs(), seed());
    let (error, sent) = run_alone(async |io| {
        let terms = terms(&adder, 40);
        terms.run(io, &inputs[1..], a, &seed).await
    });
    assert!(
        matches!(error, Error::ApiMisuse(what) if what != STUCK),
        "{error}"
    );
    assert_eq!(sent, 0);
    assert!(SecurityBits::new(0).is_err());
}

/// Compares the outline with the messages of a run, in an epoch that has run before, with lots of
/// several sizes.
#[test]
fn the_outline_is_what_a_run_sends() {
    let aes = component("aes-128", Recipient::Both);
    let adder = component("adder", Recipient::Evaluator);
    let mut epochs = check_run(terms(&adder, 9), epochs());
    for (function, bits, most) in [
        (&aes, 40, None),
        (&adder, 40, None),
        (&adder, 7, None),
        (&aes, 20, Some(1300)),
    ] {
        terms::MOST_TRIPLES.set(most);
        let terms = terms(function, bits);
        let due = outline(function, terms.security, Extension::default()).unwrap();
        let inputs = Role::BOTH;
        let inputs = inputs.map(|role| vec![true; function.input_bits(role)]);
        let inputs = [&inputs[0][..], &inputs[1][..]];
        let (ended, sent) = changed_run(terms, inputs, epochs, &mut unchanged);
        terms::MOST_TRIPLES.set(None);
        epochs = ended.unwrap().1;
        let about = format!("{} at {bits}", function.name());
        let due_bytes = [due.garbler_bytes, due.evaluator_bytes];
        assert_eq!(sent_bytes(&sent), due_bytes, "{about}");
        assert_eq!(sent.len() as u64, due.messages, "{about}");
        assert_eq!(
            due.lots,
            count(&sent, Role::Evaluator, Kind::LeakyBits) as u64
        );
    }
}

/// The figures on the protocol's page for many gates, as ratios of the outline of a lot.
#[test]
fn bytes_of_an_and_gate_are_those_of_the_page() {
    let size = LotSize::cheapest(10_000_000, SecurityBits::new(40).unwrap());
    for (extension, due) in Extension::NAMED
        .into_iter()
        .zip([[161, 129], [121, 89], [101, 69]])
    {
        let ots = crate::setup::extension_bytes(extension, tacit_ot::Security::Malicious, 1 << 15);
        let ots = ots as f64 / f64::from(1 << 15) * size.ots() as f64 / size.triples as f64;
        let evaluators = ots + 16.0 * size.layers as f64 + 7.0 / 8.0;
        let garblers = ots + 16.0 * size.layers as f64 + 7.0 / 8.0 + 32.0;
        for (found, due) in [garblers, evaluators].into_iter().zip(due) {
            assert!(
                (found - f64::from(due)).abs() < 1.0,
                "{extension}: {found} {due}"
            );
        }
    }
}
