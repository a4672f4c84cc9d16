//! Every function of the library, run by two processes under `direct` on random inputs, gives both
//! parties the results of the plain evaluation.
//!
//! All functions at small sizes take about ten seconds:
//! `cargo test -p tacit-cli --test all library_runs`.

use std::collections::BTreeMap;

use crate::process::{self, Ended, Parties, tacit};
use serde_json::{Map, Value as Json};
use tacit::{Function, Role, Value, library};

/// One of this many functions runs over TLS, the others over plain loopback.
const TLS_EVERY: usize = 8;

/// Pseudorandom bits: SplitMix64, seeded with a name.
struct Bits(u64);

impl Bits {
    fn new(name: &str) -> Self {
        let mix = |seed: u64, byte: u8| (seed ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Self(name.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
    }

    fn next(&mut self) -> bool {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) & 1 == 1
    }
}

/// Returns every name that `tacit inspect --list` shows, with small values for its parameters.
fn listed(parties: &Parties) -> Vec<(String, BTreeMap<String, u64>)> {
    let list = tacit(parties.folder(), &["inspect", "--list", "--json"]).json();
    let functions = list["functions"].as_array().expect("a list");
    let small = |parameter: &Json| {
        let name = parameter["name"].as_str().expect("a name").to_owned();
        let value = match name.as_str() {
            "bits" | "key_bits" | "value_bits" => 8,
            "symbol_bits" => 4,
            "bytes" | "key_bytes" => 5,
            _ => 3,
        };
        let bound = |key: &str| parameter[key].as_u64().expect("a bound");
        (name, value.clamp(bound("minimum"), bound("maximum")))
    };
    let one = |function: &Json| {
        let parameters = function["parameters"].as_array().expect("a list");
        let name = function["name"].as_str().expect("a name").to_owned();
        (name, parameters.iter().map(small).collect())
    };
    functions.iter().map(one).collect()
}

/// Returns random inputs of each party as JSON, and the results by plain evaluation.
fn plainly(function: &Function, bits: &mut Bits) -> ([String; 2], Map<String, Json>) {
    let mut values = Vec::new();
    let mut inputs = [Map::new(), Map::new()];
    for input in function.inputs() {
        let ty = &input.port.ty;
        let draw = |_| {
            let bits: Vec<bool> = (0..ty.width()).map(|_| bits.next()).collect();
            let value = Value::from_bits(ty, &bits).expect("as wide as its type");
            // The port's promise may refuse the value or reorder it.
            let kept = input.port.convert_value(&value).ok()?;
            Some((value.to_json(), kept))
        };
        let (json, kept) = (0..1000).find_map(draw).expect("a value that it takes");
        values.push(kept);
        inputs[usize::from(input.owner == Role::Evaluator)].insert(input.port.name.clone(), json);
    }
    let results = function
        .evaluate_values(&values)
        .expect("values of the ports");
    let names = function.outputs().iter().map(|o| o.port.name.clone());
    let outputs = names.zip(results.iter().map(Value::to_json)).collect();
    (inputs.map(|one| Json::Object(one).to_string()), outputs)
}

/// Runs the function by two processes and returns their output.
fn run(parties: &Parties, function: &[&str], inputs: [&str; 2], is_tls: bool) -> [Ended; 2] {
    let with = |more: &[&'static str]| [function, &["--json", "--input-file", "-"], more].concat();
    let (garbler, evaluator) = (with(&["--role", "garbler"]), with(&["--role", "evaluator"]));
    if is_tls {
        let (alice, address) = parties.alice_listens(&garbler, inputs[0]);
        let bob = parties.bob_connects(&address, &evaluator, inputs[1]);
        return [alice.end(), bob];
    }
    let plain = |args: &[&str], more: [&str; 2], input: &str| {
        let args = [&["run", "--plain-loopback"], args, &more].concat();
        process::start(parties.folder(), &args, input)
    };
    let mut alice = plain(&garbler, ["--listen", "127.0.0.1:0"], inputs[0]);
    let address = alice.line_after("listening on ");
    let bob = plain(&evaluator, ["--connect", &address], inputs[1]);
    [alice.end(), bob.end()]
}

fn run_and_compare(
    parties: &Parties,
    name: &str,
    parameters: &BTreeMap<String, u64>,
    is_tls: bool,
) {
    let function = library::function(name, parameters).expect("a function of the library");
    let (inputs, expected) = plainly(&function, &mut Bits::new(name));
    let given: Vec<String> = parameters
        .iter()
        .map(|(n, v)| format!("--param={n}={v}"))
        .collect();
    let mut args = vec![name];
    args.extend(given.iter().map(String::as_str));
    let ended = run(parties, &args, [&inputs[0], &inputs[1]], is_tls);
    check(name, &function, &expected, &ended);
}

/// Checks that both ended well, each with its own results.
fn check(name: &str, function: &Function, expected: &Map<String, Json>, ended: &[Ended; 2]) {
    for (ended, role) in ended.iter().zip(Role::BOTH) {
        assert_eq!(ended.code, 0, "{name}: {ended:?}");
        let json = ended.json();
        let digest = function.digest().to_string();
        assert_eq!(json["function"]["digest"], digest, "{name}");
        let mine = function
            .outputs()
            .iter()
            .filter(|o| o.recipient.includes(role));
        let mine: Map<_, _> = mine
            .map(|output| {
                let name = output.port.name.clone();
                let value = expected[&name].clone();
                (name, value)
            })
            .collect();
        assert_eq!(
            json["outputs"],
            Json::Object(mine),
            "{name} as {}",
            role.name()
        );
    }
}

#[test]
fn every_function_of_the_library_gives_both_parties_what_it_should() {
    let parties = Parties::new();
    let listed = listed(&parties);
    assert!(listed.len() >= library::list().len() + library::shipped::names().count());
    for (index, (name, parameters)) in listed.iter().enumerate() {
        let function = library::function(name, parameters).expect("a function of the library");
        // `direct` keeps no values, and says so before it sends anything.
        if function.has_saved_values() {
            continue;
        }
        run_and_compare(&parties, name, parameters, index % TLS_EVERY == 0);
    }
}

/// 3.2 million AND gates, whose tables are 100 MB: neither party holds more than a part of them.
/// `docs/guide.md` describes the same for 100 million.
#[test]
fn a_chain_takes_little_memory_however_long_it_is() {
    const MOST_BYTES: u64 = 40_000_000;
    let parties = Parties::new();
    let parameters = BTreeMap::from([("n".to_owned(), 150)]);
    let function = library::function("sha-256-chain", &parameters).expect("it is in the library");
    let (inputs, expected) = plainly(&function, &mut Bits::new("chain"));
    let args = ["sha-256-chain", "--param=n=150"];
    let ended = run(&parties, &args, [&inputs[0], &inputs[1]], false);
    check("sha-256-chain", &function, &expected, &ended);
    assert!(32 * function.and_gates() > 2 * MOST_BYTES);
    for ended in &ended {
        let peak = &ended.json()["cost"]["peak_memory_bytes"];
        // A system that does not report its peak gives null.
        assert!(
            peak.as_u64().is_none_or(|bytes| bytes < MOST_BYTES),
            "{peak}"
        );
    }
}
