//! What a digest covers, and what it does not.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::{component, instance, parameters};
use crate::function::shipped;
use crate::{Digest, Function, FunctionBuilder, FunctionFamily, Recipient, Role, library};

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
    let json = shipped::json("levenshtein").unwrap();
    let dense: String = json.chars().filter(|c| *c != ' ').collect();
    // What was filtered from within texts has no meaning but in the heads of loops.
    let dense = dense
        .replace("iin0..", "i in 0..")
        .replace("jin0..", "j in 0..");
    let renamed = json
        .replace("\"cell\"", "\"core\"")
        .replace("cell(", "core(");
    let renamed = renamed.replace("\"name\": \"levenshtein\"", "\"name\": \"other\"");
    let digest = |json: &str| {
        let given = parameters([("n", 3), ("m", 2)]);
        FunctionFamily::from_json(json)
            .unwrap()
            .instantiate(&given)
            .unwrap()
            .digest()
    };
    assert_eq!(digest(json), digest(&dense));
    assert_eq!(digest(json), digest(&renamed));
    assert_ne!(digest(json), digest(&json.replace("x[i]", "x[n-1-i]")));
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
fn builder_and_file_are_the_same_function() {
    let mut builder = FunctionBuilder::new("sha-256-chain");
    builder
        .parameter("n", 1..=10, None)
        .library("sha_256", "sha-256", &[("bytes", "32")])
        .input("a", "bytes[16]", Role::Garbler)
        .input("b", "bytes[16]", Role::Evaluator)
        .value("state", "bytes[32][n+1]")
        .step("state[0] = a ++ b")
        .repeat("i in 0..n", |each| {
            each.step("state[i+1] = sha_256(state[i])");
        })
        .output("digest", "bytes[32]", Recipient::Both, "state[n]");
    let built = instance(&mut builder, [("n", 2)]).unwrap();
    let file = shipped::find("sha-256-chain").unwrap().unwrap();
    assert_eq!(
        built.digest(),
        file.instantiate(&parameters([("n", 2)])).unwrap().digest()
    );
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

/// `vectors/function-*.txt`: one function each.
#[test]
fn digests_are_frozen() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("function-") {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let fields: BTreeMap<&str, &str> = lines.filter_map(|line| line.split_once(": ")).collect();
        let given = fields["parameters"]
            .split(' ')
            .filter_map(|pair| pair.split_once('='));
        let given = given
            .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
            .collect();
        let family = shipped::find(fields["function"])
            .unwrap()
            .expect("it comes with Tacit");
        let function = family.instantiate(&given).unwrap();
        assert_eq!(
            function.family_digest().to_string(),
            fields["family-digest"],
            "{name}"
        );
        assert_eq!(function.digest().to_string(), fields["digest"], "{name}");
        assert_eq!(function.call_count().to_string(), fields["calls"], "{name}");
    }
    assert!(seen >= 3, "the vectors are there");
}
