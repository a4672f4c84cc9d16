//! Parsers of bytes or text from others. If a value can be both read and written, it is written and
//! read again, and both readings must be equal.

use std::ops::RangeInclusive;

use tacit_circuit::formats::{
    BitOrder, BristolFormat, Import, Limits, read_bristol, write_bristol,
};
use tacit_circuit::{Type, Value};
use tacit_language::lower::NoCircuitFiles;
use tacit_language::{Loaded, NoFiles, ParamValues};
use tacit_net::{Fingerprint, Link};
use tacit_protocol::authenticated::SharedChain;
use tacit_protocol::message::Kind;
use tacit_protocol::outsourced::{
    CloudChain, CloudValue, GeneratorChain, GeneratorValue, RunTicket,
};
use tacit_protocol::party::admit;
use tacit_protocol::prepared::{Leases, LeasesAnswer, MAX_RUNS_ON_THE_SPOT, PairChain};
use tacit_protocol::saved::SavedState;
use tacit_protocol::saved::{StoredChain as _, StoredValue as _};
use tacit_protocol::session::{Hello, Proposal};

/// Returns the first byte, and the rest.
fn head(data: &[u8]) -> (u8, &[u8]) {
    match data.split_first() {
        Some((first, rest)) => (*first, rest),
        None => (0, &[]),
    }
}

/// Parses the greeting, the proposal, the ticket of a run of three, and checks every message's
/// kind.
pub fn messages(data: &[u8]) {
    let ours = Hello::of([0; 32]);
    if let Ok(hello) = Hello::parse(data, &ours) {
        assert_eq!(hello.to_bytes(), data);
    }
    for kind in [Kind::Propose, Kind::Accept] {
        if let Ok(proposal) = Proposal::parse(kind, data) {
            assert_eq!(proposal.to_bytes(), data);
        }
    }
    if let Ok(ticket) = RunTicket::parse(data) {
        assert_eq!(ticket.to_bytes(), data);
    }
    let (kind, payload) = head(data);
    for expected in [Kind::Hello, Kind::Tables, Kind::Abort] {
        if admit(expected, 64, kind, payload).is_ok() {
            assert!(kind == expected.byte() && payload.len() <= 64);
        }
    }
}

/// Parses the messages of the parties of a prepared run about their leases.
pub fn leases(data: &[u8]) {
    let (kinds, payload) = head(data);
    let kinds = usize::from(kinds % 16);
    let counts: Vec<RangeInclusive<u64>> = (0..kinds as u64).map(|kind| kind..=2 * kind).collect();
    let mut written = Vec::new();
    if let Ok(leases) = Leases::parse(payload, &counts, MAX_RUNS_ON_THE_SPOT) {
        leases.write(&mut written).expect("what was read");
        assert_eq!(written, payload);
    }
    if let Ok(answer) = LeasesAnswer::parse(payload, kinds) {
        answer.write(&mut written);
        assert_eq!(written, payload);
    }
}

/// Parses chains and values of the stock, and the parties' messages about them.
pub fn saved(data: &[u8]) {
    if let Ok(chain) = PairChain::from_bytes(data) {
        assert_eq!(chain.to_bytes()[..], *data);
    }
    if let Ok(chain) = SharedChain::from_bytes(data) {
        assert_eq!(chain.to_bytes()[..], *data);
    }
    if let Some(state) = SavedState::parse(data) {
        assert_eq!(state.to_bytes()[..], *data);
    }
    if let Ok(chain) = GeneratorChain::from_bytes(data) {
        assert_eq!(chain.to_bytes()[..], *data);
    }
    if let Ok(chain) = CloudChain::from_bytes(data) {
        assert_eq!(chain.to_bytes()[..], *data);
    }
    if let Ok(value) = GeneratorValue::from_bytes(data) {
        assert_eq!(value.to_bytes()[..], *data);
    }
    if let Ok(value) = CloudValue::from_bytes(data) {
        assert_eq!(value.to_bytes()[..], *data);
    }
}

/// Parses circuit files.
pub fn bristol(data: &[u8]) {
    let (form, text) = head(data);
    let import = Import {
        format: [None, Some(BristolFormat::Fashion), Some(BristolFormat::Old)]
            [usize::from(form) % 3],
        order: match form & 0x80 {
            0 => BitOrder::AsGiven,
            _ => BitOrder::Reversed,
        },
        limits: Limits {
            gates: 1 << 12,
            port_bits: 1 << 12,
            ports: 1 << 8,
        },
    };
    let Ok(circuit) = read_bristol(text, &import) else {
        return;
    };
    let mut written = Vec::new();
    let (format, order) = (BristolFormat::Fashion, BitOrder::AsGiven);
    if write_bristol(&circuit, &mut written, format, order).is_ok() {
        let again = read_bristol(&written[..], &Import::default()).expect("what was written");
        assert_eq!(again.inputs().len(), circuit.inputs().len());
    }
}

/// The longest program, in bytes: short enough that quadratic work is no hang.
const MOST_SOURCE_BYTES: usize = 1 << 12;

/// Processes programs of the language, from text to types. Formatting a formatted text must not
/// change it.
pub fn language(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if text.len() > MOST_SOURCE_BYTES {
        return;
    }
    let loaded = Loaded::new("fuzzed.tacit", text, &NoFiles);
    for error in loaded.check(&ParamValues::new(), &NoCircuitFiles) {
        let _ = error.render(loaded.source_map(), false);
    }
    if let Ok(formatted) = tacit_language::format("fuzzed.tacit", text) {
        let again = tacit_language::format("fuzzed.tacit", &formatted);
        assert!(again.is_ok_and(|again| again == formatted), "{formatted}");
    }
}

/// Parses small texts of a command line: types with their values, fingerprints, links.
pub fn texts(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let _ = text
        .parse::<Fingerprint>()
        .map(|found| assert_eq!(found.to_string(), text));
    let _ = text.parse::<Link>();
    let (ty, value) = text.split_once('=').unwrap_or((text, ""));
    let Ok(ty) = ty.parse::<Type>() else {
        return;
    };
    assert_eq!(ty.to_string().parse::<Type>().as_ref(), Ok(&ty));
    if ty.width() > 1 << 16 {
        return;
    }
    let mut found = Value::parse(&ty, value)
        .ok()
        .into_iter()
        .collect::<Vec<_>>();
    if let Ok(json) = serde_json::from_str(value) {
        found.extend(Value::from_json(&ty, &json).ok());
    }
    for value in found {
        let again = Value::parse(&ty, &value.to_text());
        assert!(
            again.is_ok_and(|again| again == value),
            "{}",
            value.to_text()
        );
        assert_eq!(
            *value.to_bits(),
            *Value::from_bits(&ty, &value.to_bits())
                .expect("its bits")
                .to_bits()
        );
    }
}
