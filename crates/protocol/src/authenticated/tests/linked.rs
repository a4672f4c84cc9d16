//! Instances of components: made before the function is known, stored, and linked by a run.

mod cheating;
mod kept;
mod rows;
mod tampering;

use std::collections::VecDeque;

use tacit_function::{FunctionBuilder, Operand, Part};

use super::*;
use crate::prepared::{Demand, QueuedInstances};

/// A party's halves of instances of each component of a function.
type Halves = QueuedInstances<Zeroizing<Vec<u8>>>;

/// Both parties' instances, the id of their epoch and the s with which their lot was ordered.
#[derive(Clone)]
struct Stock([Halves; 2], [u8; 32], SecurityBits);

/// Returns the s with which lots are ordered, unless a test sets another.
fn ordered() -> SecurityBits {
    SecurityBits::insecure_for_measurements(9).unwrap()
}

/// Makes the instances of `runs` runs of a function, in lots of `bits` bits. Messages go through
/// `change`.
fn changed_making(
    function: &Function,
    runs: u64,
    (bits, ordered_at): (u8, SecurityBits),
    change: &mut Change<'_>,
) -> (Result<Stock, Failure>, Sent) {
    let [a, b] = epochs();
    let id = *a.id();
    let demand = Demand::of(function).unwrap();
    let counts = demand.instances.iter().map(|count| runs * count);
    let order: Vec<_> = function.components().iter().zip(counts).collect();
    let how = InstanceOrder {
        components: &order,
        security: SecurityBits::insecure_for_measurements(bits).unwrap(),
        construction: Construction::TwoCall,
        ordered_at,
    };
    let empty = QueuedInstances(vec![VecDeque::new(); order.len()]);
    let mut halves = [empty.clone(), empty];
    let [ours, theirs] = &mut halves;
    let keep = |halves: &mut Halves, role, place: usize, bytes: &[u8]| {
        assert_eq!(
            bytes.len() as u64,
            instance_bytes(role, order[place].0, ordered_at)
        );
        halves.0[place].push_back(bytes.to_vec().into());
        Ok(())
    };
    let ours = |place, bytes: &[u8]| keep(ours, Role::Garbler, place, bytes);
    let theirs = |place, bytes: &[u8]| keep(theirs, Role::Evaluator, place, bytes);
    let [mine, yours] = [seed(), seed()];
    let (made, sent, progress) = run_watched(
        async |io| how.make(io, a, ours, &mine).await,
        async |io| how.make(io, b, theirs, &yours).await,
        change,
    );
    if made.is_ok() {
        let ands = runs * function.and_gates();
        assert_eq!(progress.map(|at| at.total_ands), [ands; 2]);
    }
    (made.map(|_| Stock(halves, id, ordered_at)), sent)
}

fn make(function: &Function, runs: u64) -> Stock {
    make_at(9, function, runs)
}

/// Makes the instances of `runs` runs in lots of `bits` bits.
fn make_at(bits: u8, function: &Function, runs: u64) -> Stock {
    let (made, _) = changed_making(function, runs, (bits, ordered()), &mut unchanged);
    made.unwrap()
}

/// Runs `terms` with instances from the stock and messages that go through `change`. Returns both
/// parties' results, or the failure, and the sent messages.
fn changed_run(
    terms: Terms<'_>,
    inputs: [&[bool]; 2],
    Stock([ours, theirs], id, ordered_at): &mut Stock,
    change: &mut Change<'_>,
) -> (Result<[Vec<bool>; 2], Failure>, Sent) {
    let mut taken = [Halves::default(), Halves::default()];
    let demand = Demand::of(terms.function).unwrap();
    for (halves, taken) in [ours, theirs].into_iter().zip(&mut taken) {
        let each = halves.0.iter_mut().zip(&demand.instances);
        let each = each.map(|(all, count)| all.drain(..*count as usize).collect());
        taken.0 = each.collect();
    }
    let run = LinkedRun {
        terms,
        id: *id,
        ordered_at: *ordered_at,
    };
    linked(run, inputs, taken, change)
}

/// Runs both parties with these instances and messages that go through `change`. A failure names
/// the party that failed first.
fn linked(
    run: LinkedRun<'_>,
    inputs: [&[bool]; 2],
    [ours, theirs]: [Halves; 2],
    change: &mut Change<'_>,
) -> (Result<[Vec<bool>; 2], Failure>, Sent) {
    let (ended, sent) = run_changed(
        async |io| run.garble(io, inputs[0], ours).await,
        async |io| run.evaluate(io, inputs[1], theirs).await,
        change,
    );
    let results = ended.map(|(garblers, evaluators)| [garblers.to_vec(), evaluators.to_vec()]);
    (results, sent)
}

/// Runs a function on random inputs with instances from the stock, and checks the results. Returns
/// the sent messages.
fn check_run_from(function: &Function, bits: u8, stock: &mut Stock) -> Sent {
    let inputs = inputs_of(function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let (found, sent) = changed_run(terms(function, bits), inputs, stock, &mut unchanged);
    let about = function.name();
    assert_eq!(found.unwrap(), plain(function, inputs), "{about}");
    sent
}

fn shipped(name: &str, parameters: &[(&str, u64)]) -> Function {
    let parameters = parameters.iter();
    let parameters = parameters.map(|(name, value)| ((*name).to_owned(), *value));
    let shipped = tacit_language::shipped::find(name).unwrap();
    let typed = shipped.function(&parameters.collect()).unwrap();
    typed.function().clone()
}

fn built(build: impl FnOnce(&mut FunctionBuilder)) -> Function {
    let mut builder = FunctionBuilder::new("built");
    build(&mut builder);
    builder.finish().unwrap()
}

/// Returns a function with inputs that several calls read, one that no call reads, constants, a
/// result that is an input, one that is a constant, and calls whose results several calls read.
/// Every input that is read reaches an AND gate: a changed masked value of an input that only XOR
/// gates read is the same as another input.
fn tangle() -> Function {
    built(|builder| {
        builder
            .library("add", "adder", &[("bits", 8)])
            .library("compare", "comparator", &[("bits", 8)])
            .input("x", "u8[3]", Role::Garbler)
            .input("y", "u8", Role::Evaluator)
            .input("unread", "u8", Role::Evaluator)
            .value("sums", "u8[4]")
            .value("plus", "u8")
            .value("less", "bit")
            .value("equal", "bit")
            .value("greater", "bit")
            .value("low", "bit")
            .value("same", "bit")
            .value("high", "bit")
            .assign(Part::of("sums").at(0), Operand::number(200))
            .repeat("i", 0, 3, |each, i| {
                each.call(
                    [Part::of("sums").at(i.plus(1))],
                    "add",
                    [Part::of("sums").at(i), Part::of("x").at(i)],
                );
            })
            .call(["plus"], "add", [Part::of("y"), Part::of("x").at(0)])
            .call(
                ["less", "equal", "greater"],
                "compare",
                [Part::of("plus"), Part::of("sums").at(3)],
            )
            .call(["low", "same", "high"], "compare", ["y", "plus"])
            .output("sums", "u8[4]", Recipient::Both, "sums")
            .output("plus", "u8", Recipient::Garbler, "plus")
            .output("low", "bit", Recipient::Both, "low")
            .output("less", "bit", Recipient::Evaluator, "less")
            .output("y", "u8", Recipient::Garbler, "y")
            .output("seven", "u8", Recipient::Both, Operand::number(7));
    })
}

/// Several runs take their instances from the same stock, one after the other.
#[test]
fn any_function_runs_from_instances_of_its_components() {
    for function in &[
        component("adder", Recipient::Both),
        component("comparator", Recipient::Garbler),
        component("aes-128", Recipient::Evaluator),
        shipped("levenshtein", &[("n", 3), ("m", 2)]),
        shipped("aes-128-rounds", &[]),
        tangle(),
    ] {
        let mut stock = make(function, 2);
        for _ in 0..2 {
            let sent = check_run_from(function, 9, &mut stock);
            assert!(sent.iter().all(|(_, kind, _)| kind.byte() > 101));
        }
    }
}

#[test]
fn many_links_take_several_messages() {
    let function = shipped("levenshtein", &[("n", 30), ("m", 20)]);
    let sent = check_run_from(&function, 1, &mut make_at(1, &function, 1));
    assert!(count(&sent, Role::Garbler, Kind::AuthenticatedLinks) > 2);
}

/// Links from one instance to another are sent before any input. Links from an input or a constant,
/// whose active label is public, are sent after the evaluator's inputs.
#[test]
fn links_between_instances_leave_before_inputs() {
    let function = tangle();
    // These are the sums of three calls, and the sum that a comparison reads twice.
    let (all, early) = (12 * 8, 2 * 8 + 2 * 8 + 8);
    let sent = check_run_from(&function, 9, &mut make(&function, 1));
    let garblers = sent.iter().filter(|(from, _, _)| *from == Role::Garbler);
    let garblers: Vec<_> = garblers
        .map(|(_, kind, payload)| (*kind, payload.len()))
        .collect();
    let [
        (Kind::LinkMasks, _),
        first,
        (Kind::MaskedInputs, _),
        second,
        ..,
    ] = garblers[..]
    else {
        panic!("{garblers:?}");
    };
    let links = |count: usize| (Kind::AuthenticatedLinks, 16 * count);
    assert_eq!([first, second], [links(early), links(all - early)]);
}

/// The figures on the protocol's page for AES-128 from one instance, headers included.
#[test]
fn bytes_of_a_run_from_instances_are_those_of_the_page() {
    let function = component("aes-128", Recipient::Both);
    let sent = check_run_from(&function, 1, &mut make_at(1, &function, 1));
    assert_eq!(sent_bytes(&sent), [4212, 111]);
    // Links follow another message of the garbler, and nothing waits only for them.
    let mut turns: Vec<_> = sent.iter().map(|(from, kind, _)| (*from, *kind)).collect();
    turns.retain(|(_, kind)| *kind != Kind::AuthenticatedLinks);
    assert_eq!(turns.chunk_by(|(a, _), (b, _)| a == b).count(), 4);
}

/// Some instances have gates that take several lots, and some lots serve several instances.
#[test]
fn instances_are_made_across_lots() {
    let function = shipped("aes-128-rounds", &[]);
    for most in [700, 5000] {
        terms::MOST_TRIPLES.set(Some(most));
        let mut stock = make(&function, 1);
        terms::MOST_TRIPLES.set(None);
        check_run_from(&function, 9, &mut stock);
    }
}

/// Components without AND gates have instances, too.
#[test]
fn components_without_and_gates() {
    use tacit_circuit::builder::{Builder, Bus};
    let builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.bus(name, 4));
    let bits = a.bits().zip(b.bits()).map(|(a, b)| !(a ^ b));
    builder.output("sum", &Bus::from_bits(&builder, bits));
    builder.output("same", &a);
    let function = of_circuit("sums", builder.finish().unwrap(), Recipient::Both);
    assert_eq!(function.and_gates(), 0);
    check_run_from(&function, 9, &mut make(&function, 1));
}

/// The evaluator has the labels of constant outputs, and of their AND, before its inputs are fixed.
#[test]
fn components_with_constant_outputs() {
    use tacit_circuit::Component;
    use tacit_circuit::builder::{Builder, Bus};
    let builder = Builder::new();
    let [a, b] = ["a", "b"].map(|name| builder.bus(name, 1));
    builder.output("one", &Bus::constant(&builder, [true]));
    builder.output("zero", &Bus::constant(&builder, [false]));
    builder.output("both", &Bus::from_bits(&builder, [a.bit(0) & b.bit(0)]));
    let component = Component::new("constants", builder.finish().unwrap());
    let function = built(|builder| {
        builder.component("constants", component);
        builder.input("x", "bits[1]", Role::Garbler);
        builder.input("y", "bits[1]", Role::Evaluator);
        for (number, of) in [["x", "y"], ["one0", "zero0"], ["one1", "both0"]]
            .iter()
            .enumerate()
        {
            let names = ["one", "zero", "both"].map(|name| format!("{name}{number}"));
            for name in &names {
                builder.value(name, "bits[1]");
            }
            builder.call(names.each_ref().map(String::as_str), "constants", *of);
            builder.output(&names[2], "bits[1]", Recipient::Both, names[2].as_str());
        }
    });
    let inputs = [&[true][..], &[true]];
    let nothing = &mut |_, _, _: &mut Vec<u8>| ();
    let (found, sent) = changed_run(
        terms(&function, 9),
        inputs,
        &mut make(&function, 1),
        nothing,
    );
    assert_eq!(found.unwrap(), [[true, false, true]; 2]);
    let links = sent
        .iter()
        .filter(|(_, kind, _)| *kind == Kind::AuthenticatedLinks);
    let links: Vec<_> = links.map(|(_, _, payload)| payload.len()).collect();
    assert_eq!(links, [16 * 4, 16 * 2]);
}

#[test]
fn functions_that_instances_do_not_serve_are_refused() {
    let passes = built(|builder| {
        builder
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8", Role::Garbler)
            .input("y", "u8", Role::Evaluator)
            .value("sum", "u8")
            .call(["sum"], "add", ["x", "x"])
            .output("sum", "u8", Recipient::Both, "sum")
            .output("y", "u8", Recipient::Garbler, "y");
    });
    let no_calls = built(|builder| {
        builder.input("x", "u8", Role::Garbler).output(
            "x",
            "u8",
            Recipient::Both,
            Operand::number(3),
        );
    });
    for (function, why) in [
        (passes, "no component reads"),
        (no_calls, "calls no component"),
    ] {
        let error = check_linked(&function).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    assert!(check_linked(&tangle()).is_ok());
}

/// Instances of another lot, party or component, and too few instances, are refused.
#[test]
fn instances_that_do_not_belong_together_are_refused() {
    let function = tangle();
    let terms = terms(&function, 9);
    let [one, other] = [(); 2].map(|()| make(&function, 1));
    let Stock([ours, theirs], id, ordered_at) = one;
    let Stock([others, _], ..) = other;
    let inputs = vec![false; function.input_bits(Role::Garbler)];
    let garbler = |halves: &Halves, ordered_at| {
        let run = LinkedRun {
            terms,
            id,
            ordered_at,
        };
        run_alone(async |io| run.garble(io, &inputs, halves.clone()).await)
    };
    let refused = |(error, sent): (Error, usize)| {
        let is_due = matches!(error, Error::Material(_) | Error::DamagedMaterial(_));
        assert!(is_due, "{error}");
        assert_eq!(sent, 0);
    };
    // The garbler's first messages get no answer.
    assert_eq!(garbler(&ours, ordered_at), (Error::ApiMisuse(STUCK), 2));
    let mut mixed = ours.clone();
    mixed.0[0][2] = others.0[0][2].clone();
    let mut swapped = ours.clone();
    swapped.0.swap(0, 1);
    let mut few = ours.clone();
    few.0[0].pop_back();
    for wrong in [mixed, swapped, few, theirs] {
        refused(garbler(&wrong, ordered_at));
    }
    let other = SecurityBits::insecure_for_measurements(20).unwrap();
    refused(garbler(&ours, other));
}
