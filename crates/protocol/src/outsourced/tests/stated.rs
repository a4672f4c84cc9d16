//! Each message is stated once, in `messages`. The parties' bytes and the protocol's page agree
//! with it.

use std::collections::BTreeMap;

use tacit_function::{Function, Recipient};

use super::trio::{Past, Trio, adder, bits, honest, malicious, scheme};
use crate::message::Kind;
use crate::outsourced::Peer::{self, Cloud, Evaluator, Generator};
use crate::outsourced::messages::{self, Addressed};
use crate::outsourced::work::ServerRun;

const COPIES: u32 = 5;

/// Returns all messages of a run of `function` that starts a chain. OT extensions, which determine
/// their own lengths, are listed with 0 bytes.
fn stated(function: &Function) -> Vec<Addressed> {
    let work = ServerRun::new(scheme(), function, malicious(COPIES)).expect("a run");
    let parameters = &work.parameters;
    let [to_evaluator, to_generator] = work.masked_bits;
    let mut stated = vec![
        messages::TOSS_COMMITMENT,
        messages::key_hashes(parameters),
        messages::split(parameters),
        messages::PERMUTATION,
        messages::orders(parameters),
        messages::transfer_keys(parameters, work.transfers()),
        messages::heads(&work),
        messages::TOSS_OPENING,
        messages::decodings(&work),
        messages::strings(&work),
        messages::bodies(&work),
        messages::result(Evaluator, to_evaluator),
        messages::result(Generator, to_generator),
    ];
    for from in Peer::ALL {
        let others = Peer::ALL.into_iter().filter(|to| *to != from);
        stated.extend(others.map(|to| messages::terms(from, to)));
    }
    let ots = |from| Addressed {
        kind: Kind::CotExtension,
        from,
        to: Generator,
        bytes: 0,
    };
    stated.extend([Evaluator, Cloud].map(ots));
    stated
}

#[test]
fn parties_send_what_is_stated() {
    let function = adder(4, Recipient::Both);
    let inputs = [&bits(9, 4)[..], &bits(4, 4)[..]];
    let trio = Trio::new(&function, malicious(COPIES), inputs, 1, Past::default());
    let ended = trio.run(None, &mut honest);
    assert_eq!(ended.ends, [Ok(()), Ok(()), Ok(())]);
    let mut sent = BTreeMap::new();
    for (from, all) in Peer::ALL.into_iter().zip(ended.sent) {
        for (to, kind, bytes) in all {
            *sent.entry([kind.byte(), from as u8, to as u8]).or_insert(0) += bytes;
        }
    }
    for message in stated(&function) {
        let [from, to] = [message.from, message.to].map(|peer| peer as u8);
        let found = sent.remove(&[message.kind.byte(), from, to]);
        let found = found.expect("each message is sent");
        assert!([0, found].contains(&message.bytes), "{message:?}: {found}");
    }
    assert!(sent.is_empty(), "not stated: {sent:?}");
}

#[test]
fn the_page_has_each_message() {
    // The page is read at run time, because a published crate does not include it.
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/protocols/outsourced.md"
    );
    let page = std::fs::read_to_string(path).expect("a page of the repository");
    let letter = |peer| match peer {
        Generator => 'G',
        Evaluator => 'E',
        Cloud => 'C',
    };
    for message in stated(&adder(4, Recipient::Both)) {
        let row = format!("| {} | {} | ", message.kind.byte(), message.kind);
        let way = format!("{} → {}", letter(message.from), letter(message.to));
        let mut rows = page.lines().filter_map(|line| line.strip_prefix(&row));
        let is_there = rows.any(|rest| {
            let ways = rest.split(" | ").next().unwrap_or_default();
            ways == "all → all" || ways.split(", ").any(|each| each == way)
        });
        assert!(is_there, "the page lacks: {row}{way}");
    }
}
