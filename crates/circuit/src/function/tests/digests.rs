//! What a digest covers, and what it does not.

use sha2::{Digest as _, Sha256};

use super::{component, instance, parameters};
use crate::{Digest, Function, FunctionBuilder, Recipient, Role, library};

fn sum(change: impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder, n: u64) -> Function {
    let mut builder = FunctionBuilder::new("sum");
    builder
        .parameter("n", 1..=9, None)
        .input("x", "u8[n]", Role::Garbler)
        .value("v", "u8[n+1]")
        .library("add", "adder", &[("bits", "8")])
        .step("v[0] = 0")
        .repeat("i in 0..n", |each| {
            each.step("v[i+1] = add(v[i], x[i])");
        });
    instance(change(&mut builder), [("n", n)]).unwrap()
}

fn to(recipient: Recipient) -> impl FnOnce(&mut FunctionBuilder) -> &mut FunctionBuilder {
    move |f| f.output("sum", "u8", recipient, "v[n]")
}

const TEXT: &str = "\
parameter n
component library adder bits=8
input x u8[n] garbler
value v u8[n+1]
v[0]=0
for i in 0..n
v[i+1]=#0(v[i],x[i])
end
output sum u8 both v[n]
";

#[test]
fn the_bytes_hashed_are_the_documented_ones() {
    let function = sum(to(Recipient::Both), 3);
    assert_eq!(function.canonical_text(), TEXT);
    let family = Sha256::digest(format!("tacit family v1\0{TEXT}"));
    assert_eq!(function.family_digest().0[..], family[..]);
    let adder = library::find("adder", &parameters([("bits", 8)]))
        .unwrap()
        .digest();
    let mut bytes = b"tacit function v2\0".to_vec();
    bytes.extend(family);
    bytes.extend([1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    bytes.extend(adder.0);
    assert_eq!(function.digest().0[..], Sha256::digest(&bytes)[..]);
}

#[test]
fn whatever_differs_shows() {
    let functions = [
        sum(to(Recipient::Both), 3),
        sum(to(Recipient::Both), 4),
        sum(to(Recipient::Garbler), 3),
        sum(|f| f.output("sum", "u8", Recipient::Both, "v[n-1]"), 3),
        sum(|f| f.output("sum", "bits[8]", Recipient::Both, "v[n]"), 3),
        sum(
            |f| {
                f.save("sum", "u8", "v[n]")
                    .output("n", "u8", Recipient::Both, "n")
            },
            3,
        ),
    ];
    let digests: std::collections::HashSet<Digest> =
        functions.iter().map(Function::digest).collect();
    assert_eq!(digests.len(), functions.len());
    assert_eq!(functions[0].family_digest(), functions[1].family_digest());
    assert_ne!(functions[0].family_digest(), functions[2].family_digest());
}

#[test]
fn spaces_and_names_for_people_do_not_show() {
    let digest = |name: &str, component: &str, steps: [&str; 2]| {
        let mut builder = FunctionBuilder::new(name);
        builder
            .parameter("n", 1..=9, None)
            .library(component, "adder", &[("bits", "8")])
            .input("x", "u8[n]", Role::Garbler)
            .value("v", "u8[n+1]")
            .step(steps[0])
            .repeat("i in 0..n", |each| {
                each.step(steps[1]);
            })
            .output("sum", "u8", Recipient::Both, "v[n]");
        instance(&mut builder, [("n", 3)]).unwrap().digest()
    };
    let first = digest("sum", "add", ["v[0] = 0", "v[i+1] = add(v[i], x[i])"]);
    let second = digest("other", "plus", ["v[0]=0", "v[ i+1 ]=plus(v[i],x[i])"]);
    assert_eq!(first, second);
    let turned = digest("sum", "add", ["v[0] = 0", "v[i+1] = add(v[i], x[n-1-i])"]);
    assert_ne!(first, turned);
}

#[test]
fn the_text_can_be_read_back_as_it_is_shown() {
    let steps = [
        "v[n-1-i*2]=#0(v[-i],x[2*(i+1)])",
        "v[n-(1-i)],_=#0(v[(n+1)/2%3..bits(max(n,-3))],[1,0xff:u8,x++y:u(n)[2,3]])",
        "v=a++b[1]++-3:fixed[4,4]",
    ];
    for step in steps {
        let step = step.replace("#0", "f");
        let place = super::super::ErrorLocation::new("a step");
        let read = super::super::syntax::Assignment::parse(&place, &step).unwrap();
        assert_eq!(read.text(str::to_owned), step);
    }
}

#[test]
fn a_circuit_given_and_a_circuit_of_the_library_are_different_families() {
    let with = |given: bool| {
        let mut builder = FunctionBuilder::new("f");
        if given {
            builder.component("add", component("adder", &[("bits", 8)]));
        } else {
            builder.library("add", "adder", &[("bits", "8")]);
        }
        builder
            .input("x", "u8", Role::Garbler)
            .output("r", "u8", Recipient::Both, "x");
        instance(&mut builder, []).unwrap()
    };
    assert_ne!(with(true).family_digest(), with(false).family_digest());
    let line = format!(
        "component circuit {}\n",
        component("adder", &[("bits", 8)]).digest()
    );
    assert!(with(true).canonical_text().starts_with(&line));
}
