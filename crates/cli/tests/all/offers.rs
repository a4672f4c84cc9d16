//! `tacit offers`: a client asks a service which functions it may run.

use crate::process::{NOBODY, Parties, tacit, words};
use crate::serve::{config, start};

const FUNCTIONS: &str = "[[serve.function]]\nfunction = \"millionaires\"\nrole = \"garbler\"\n\
                         params = { bits = { min = 7, max = 8 } }\ninputs_file = \"in.json\"\n\
                         rate = \"100/1h\"\n\
                         [[serve.function]]\nfunction = \"aes-128\"\nrole = \"garbler\"\n\
                         name = \"a\\u001b[31mes\"\ninputs_file = \"in.json\"\n\
                         [[serve.stock]]\nfunction = \"aes-128-rounds\"\nrole = \"garbler\"\n\
                         runs = 2\n";

#[test]
fn a_client_asks_what_a_service_offers_and_runs_it() {
    let parties = Parties::new();
    let (service, address, _) = start(&parties, &config(&parties, FUNCTIONS), &[]);
    let asked = parties.bob_starts(&address, &["offers"], "").end();
    let text = asked.succeeded();
    for line in [
        "millionaires\n  role evaluator, protocol direct, at most 100/3600s\n  bits = 7 or 8\n",
        "  tacit run millionaires --role evaluator --with NAME --input INPUT=VALUE\n",
        "to order: aes-128-rounds\n  role evaluator, for prepared, up to --runs 2, scheme ",
        // Text from a service does not control this party's terminal.
        "a\\u{1b}[31mes\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let asked = parties.bob_starts(&address, &["offers", "--json"], "");
    let told = asked.end().json();
    assert_eq!(told["version"], 1);
    assert_eq!(told["peer"], parties.fingerprints()[0]);
    let choices = &told["functions"][0]["choices"];
    assert_eq!(choices[1]["params"]["bits"], 8);
    let inspect = words("inspect millionaires --param bits=8 --json");
    let inspected = tacit(parties.folder(), &inspect).json();
    assert_eq!(choices[1]["digest"], inspected["function_digest"]);
    service.interrupt();
    service.end().succeeded();
}

/// A party that runs one function does not answer a request for offers, and both learn the reason.
#[test]
fn a_party_that_is_no_service_says_so() {
    let parties = Parties::new();
    let run = words("run millionaires --role garbler --input a=41");
    let (alice, address) = parties.alice_starts(&run, "");
    let asked = parties.bob_starts(&address, &["offers"], "").end();
    asked.failed(
        5,
        &[
            "a run by direct",
            "to be told what is offered",
            "only a service tells what it offers",
        ],
    );
    alice.end().failed(5, &["to be told what is offered"]);
    let listens = ["offers", "--listen", "127.0.0.1:0", "--identity", "bob.key"];
    let listens = [&listens[..], &["--peer", parties.fingerprints()[0]]].concat();
    tacit(parties.folder(), &listens).failed(2, &["--connect"]);
    // No OTs are made for an answer.
    let with_gpu = ["offers", "--connect", "127.0.0.1:1", "--gpu", "0"];
    tacit(parties.folder(), &with_gpu).failed(2, &["--gpu"]);
    let nobody = ["offers", "--timeout", "1s"];
    parties.bob_starts(NOBODY, &nobody, "").end().failed(6, &[]);
}
