//! What a digest covers, and what it does not.

use sha2::{Digest as _, Sha256};
use tacit_circuit::{Component, Digest};

use super::adder;
use crate::{Function, FunctionBuilder, Recipient, Role};

/// Adds this many numbers of the garbler's.
fn sum(
    change: impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder,
    turns: usize,
) -> Function {
    let mut builder = FunctionBuilder::new("sum");
    builder
        .input("x", "u8[3]", Role::Garbler)
        .value("v", "u8[4]")
        .library("add", "adder", &[("bits", 8)])
        .step("v[0] = 0")
        .repeat(&format!("i in 0..{turns}"), |each| {
            each.step("v[i+1] = add(v[i], x[i])");
        });
    change(&mut builder).finish().unwrap()
}

fn to(recipient: Recipient) -> impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder {
    move |f| f.output("sum", "u8", recipient, "v[2]")
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
        sum(|f| f.output("sum", "u8", Recipient::Both, "v[1]"), 3),
        sum(|f| f.output("sum", "bits[8]", Recipient::Both, "v[2]"), 3),
        sum(
            |f| {
                f.save("sum", "u8", "v[2]")
                    .output("n", "u8", Recipient::Both, "3")
            },
            3,
        ),
    ];
    let digests: std::collections::HashSet<Digest> =
        functions.iter().map(Function::digest).collect();
    assert_eq!(digests.len(), functions.len());
}

#[test]
fn spaces_and_names_for_people_do_not_show() {
    let digest = |name: &str, component: &str, steps: [&str; 2]| {
        let mut builder = FunctionBuilder::new(name);
        builder
            .library(component, "adder", &[("bits", 8)])
            .input("x", "u8[3]", Role::Garbler)
            .value("v", "u8[4]")
            .step(steps[0])
            .repeat("i in 0..3", |each| {
                each.step(steps[1]);
            })
            .output("sum", "u8", Recipient::Both, "v[3]");
        builder.finish().unwrap().digest()
    };
    let first = digest("sum", "add", ["v[0] = 0", "v[i+1] = add(v[i], x[i])"]);
    let second = digest("other", "plus", ["v[0]=0", "v[ i+1 ]=plus(v[i],x[i])"]);
    assert_eq!(first, second);
    let turned = digest("sum", "add", ["v[0] = 0", "v[i+1] = add(v[i], x[2-i])"]);
    assert_ne!(first, turned);
}

#[test]
fn the_text_can_be_read_back_as_it_is_shown() {
    let steps = [
        "v[9-1-2*i]=#0(v[-i],x[2*i+2])",
        "v[-3+1*i],_=#0(v[0..8],1,x++255:u8)",
        "v=a++b[1]++-3:i8",
    ];
    for step in steps {
        let step = step.replace("#0", "f");
        let place = crate::ErrorLocation::new("a step");
        let read = crate::syntax::Assignment::parse(&place, &step).unwrap();
        assert_eq!(read.text(str::to_owned), step);
    }
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
