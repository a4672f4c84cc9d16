//! Runs every fuzz target on its inputs in `fuzz/corpus` and on mutations of them, a bounded number
//! of times; `scripts/fuzz` goes on for as long as it is told.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use tacit_circuit::Span;
use tacit_garble::SchemeId;
use tacit_protocol::outsourced::{Peer, RunTicket};
use tacit_protocol::prepared::{Leases, LeasesAnswer};
use tacit_protocol::session::{Hello, Proposal, ProtocolId};
use tacit_testkit::fuzz::{TARGETS, corpus, honest_marks, honest_state, mutations};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// Returns the names of the entries of a folder, without endings.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").path());
    let names = names.map(|path| {
        path.file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    });
    names.collect()
}

#[test]
fn every_target_has_inputs() {
    let known: BTreeSet<String> = TARGETS
        .iter()
        .map(|target| target.name.to_owned())
        .collect();
    assert_eq!(known.len(), TARGETS.len());
    assert_eq!(names(&folder().join("corpus")), known);
    for target in TARGETS {
        assert!(!corpus(target.name).is_empty(), "{}", target.name);
    }
}

#[test]
fn no_input_of_the_corpus_and_no_mutation_of_one_breaks_a_target() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let inputs = corpus(target.name);
        let mutated: Vec<_> = mutations(&inputs, target.mutations).collect();
        for (number, input) in inputs.iter().chain(&mutated).enumerate() {
            let run = std::panic::catch_unwind(|| (target.run)(input));
            if run.is_err() {
                broken.push(format!(
                    "{}, input {number}: {}",
                    target.name,
                    input.escape_ascii()
                ));
                break;
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Returns honest bytes for decoders, by target.
fn honest_bytes() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let proposal = Proposal {
        statistical_security_bits: 40,
        run: 3,
        ..Proposal::first(
            ProtocolId::Batch,
            SchemeId::HALF_GATES_TWO_CALL,
            tacit_circuit::Digest([4; 32]),
        )
    };
    let ticket = RunTicket {
        number: [1; 16],
        evaluator: [2; 32],
        to: Peer::Cloud,
    };
    let span = Span { first: 3, count: 2 };
    let (mut leases, mut answer) = (Vec::new(), Vec::new());
    let named = Leases::Named(vec![vec![], vec![span], vec![span, span]]);
    named.write(&mut leases).expect("in bounds");
    LeasesAnswer::Behind(vec![4, 5, 6]).write(&mut answer);
    let about_three = |bytes: &[u8]| [&[3], bytes].concat();
    let [stock, chain] = honest_marks().expect("a sound disk");
    let mut all = vec![
        ("messages", "hello", Hello::of([9; 32]).to_bytes()),
        ("messages", "proposal", proposal.to_bytes().to_vec()),
        ("messages", "ticket", ticket.to_bytes().to_vec()),
        ("leases", "named", about_three(&leases)),
        ("leases", "behind", about_three(&answer)),
        ("leases", "short", vec![3, 0]),
        ("marks", "stock", stock),
        ("marks", "chain", chain),
    ];
    let names = ["generator", "cloud", "generator-value", "cloud-value"];
    let state = names.into_iter().zip(honest_state());
    all.extend(state.map(|(name, bytes)| ("saved", name, bytes)));
    all
}

/// Inputs that only code can make are made again when a format changes.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn honest_bytes_are_written() {
    for (target, name, bytes) in honest_bytes() {
        fs::write(folder().join("corpus").join(target).join(name), bytes).expect("written");
    }
}
