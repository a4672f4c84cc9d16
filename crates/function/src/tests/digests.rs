//! Tests of what a digest covers, and what it does not.

use sha2::{Digest as _, Sha256};
use tacit_circuit::{Component, Digest, Type};

use super::adder;
use crate::steps::Assignment;
use crate::{Expression, Function, FunctionBuilder, Operand, Part, Recipient, Role};

/// Returns a function that adds this many numbers of the garbler's.
fn sum(change: impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder, turns: u64) -> Function {
    let mut builder = FunctionBuilder::new("sum");
    builder
        .input("x", "u8[3]", Role::Garbler)
        .value("v", "u8[4]")
        .library("add", "adder", &[("bits", 8)])
        .assign(Part::of("v").at(0), Operand::number(0))
        .repeat("i", 0, turns, |each, i| {
            each.call(
                [Part::of("v").at(i.plus(1))],
                "add",
                [Part::of("v").at(i), Part::of("x").at(i)],
            );
        });
    change(&mut builder).finish().unwrap()
}

fn to(recipient: Recipient) -> impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder {
    move |f| f.output("sum", "u8", recipient, Part::of("v").at(2))
}

const TEXT: &str = "\
component library adder bits=8
input x u8[3] garbler
value v u8[4]
v[0]=0
for i in 0..3
v[i+1]=#0(v[i],x[i])
end
output sum u8 both v[2]
";

#[test]
fn the_bytes_hashed_are_the_documented_ones() {
    let function = sum(to(Recipient::Both), 3);
    assert_eq!(function.canonical_text(), TEXT);
    let mut bytes = b"tacit function v2\0".to_vec();
    bytes.extend(Sha256::digest(format!("tacit family v1\0{TEXT}")));
    bytes.extend([0, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend(adder().digest().0);
    assert_eq!(function.digest().0[..], Sha256::digest(&bytes)[..]);
}

#[test]
fn whatever_differs_shows() {
    let functions = [
        sum(to(Recipient::Both), 3),
        sum(to(Recipient::Both), 2),
        sum(to(Recipient::Garbler), 3),
        sum(
            |f| f.output("sum", "u8", Recipient::Both, Part::of("v").at(1)),
            3,
        ),
        sum(
            |f| f.output("sum", "bits[8]", Recipient::Both, Part::of("v").at(2)),
            3,
        ),
        sum(
            |f| {
                f.save("sum", "u8", Part::of("v").at(2)).output(
                    "n",
                    "u8",
                    Recipient::Both,
                    Operand::number(3),
                )
            },
            3,
        ),
    ];
    let digests: std::collections::HashSet<Digest> =
        functions.iter().map(Function::digest).collect();
    assert_eq!(digests.len(), functions.len());
}

#[test]
fn names_for_people_do_not_show() {
    let digest = |name: &str, component: &str, turned: bool| {
        let mut builder = FunctionBuilder::new(name);
        builder
            .library(component, "adder", &[("bits", 8)])
            .input("x", "u8[3]", Role::Garbler)
            .value("v", "u8[4]")
            .assign(Part::of("v").at(0), Operand::number(0))
            .repeat("i", 0, 3, |each, i| {
                let index = if turned {
                    Expression::from(2).minus(i)
                } else {
                    i.clone()
                };
                let read = [Part::of("v").at(i), Part::of("x").at(index)];
                each.call([Part::of("v").at(i.plus(1))], component, read);
            })
            .output("sum", "u8", Recipient::Both, Part::of("v").at(3));
        builder.finish().unwrap().digest()
    };
    let first = digest("sum", "add", false);
    assert_eq!(first, digest("other", "plus", false));
    assert_ne!(first, digest("sum", "add", true));
}

#[test]
fn steps_have_the_documented_text() {
    let i = Expression::counter("i");
    let from = |number| Expression::from(number);
    let (v, a, b) = (Part::of("v"), Part::of("a"), Part::of("b"));
    let read = v.clone().at(from(0).minus(&i));
    let targets = [v.clone().at(i.times(1).minus(3)), v.clone().at(9)];
    let call = Assignment::Call(
        [targets.map(Some).to_vec(), vec![None]].concat(),
        "f".to_owned(),
        vec![
            read.into(),
            Operand::number(1),
            Operand::from("x").then(Operand::typed(255, Type::unsigned(8))),
        ],
    );
    let text = "v[1*i-3],v[9],_=#0(v[0-i],1,x++255:u8)";
    assert_eq!(call.text(|_| "#0".to_owned()), text);
    let target = v.range(from(9).minus(1).minus(i.times(2)), i.plus(7).times(3));
    let value = Operand::from(a).then(b.at(1));
    let moved = Assignment::Move(target, value.then(Operand::typed(-3, Type::signed(8))));
    let text = "v[9-1-2*i..3*i+21]=a++b[1]++-3:i8";
    assert_eq!(moved.text(str::to_owned), text);
}

#[test]
fn a_circuit_given_and_a_circuit_of_the_library_are_different() {
    let with = |given: bool| {
        let mut builder = FunctionBuilder::new("f");
        if given {
            builder.component("add", Component::new("adder", adder()));
        } else {
            builder.library("add", "adder", &[("bits", 8)]);
        }
        builder
            .input("x", "u8", Role::Garbler)
            .output("r", "u8", Recipient::Both, "x")
            .finish()
            .unwrap()
    };
    assert_ne!(with(true).digest(), with(false).digest());
    let line = format!("component circuit {}\n", adder().digest());
    assert!(with(true).canonical_text().starts_with(&line));
}
