//! The conformance suite of protocols: a function gives the same result under each of them.
//!
//! [`conformance`] runs a function between two sessions of this process by every two-party
//! protocol, and compares each party's results with the function in the clear.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tacit::garble::SchemeId;
use tacit::protocols::Protocol;
use tacit::stock::{BatchPreparation, Preparation, Stocks};
use tacit::{Error, Function, Job, Outcome, Role, Session, Value};

use crate::sessions::{ROLES, insecure, over_link, session};

/// The s of `batch` here: low, so that a batch is a few circuits.
const SECURITY_BITS: u8 = 6;
/// The longest wait of a party for the other.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The most bytes of a stock.
const STOCK_BYTES: u64 = 1 << 30;

/// Returns the schemes under which a protocol runs here, one of each layout of tables.
/// `authenticated` has schemes of its own and runs with each hash; `gmw` has none.
const fn schemes(protocol: Protocol) -> &'static [Option<SchemeId>] {
    const TWO_CALL: Option<SchemeId> = Some(SchemeId::HALF_GATES_TWO_CALL);
    match protocol {
        Protocol::Gmw => &[None],
        Protocol::Authenticated => &[TWO_CALL, Some(SchemeId::HALF_GATES_REKEYED)],
        _ => &[TWO_CALL, Some(SchemeId::THREE_HALVES)],
    }
}

/// Checks that both parties get from every protocol the results that `function` gives in the clear.
/// Returns these by name. `inputs` are those of both parties; `folder` must be empty and holds the
/// stocks.
///
/// # Panics
///
/// If they do not. The message names the protocol and the result.
pub fn conformance(
    function: &Function,
    inputs: &[(&str, Value)],
    folder: &Path,
) -> BTreeMap<String, Value> {
    let expected = in_the_clear(function, inputs);
    for protocol in Protocol::between_two() {
        for &scheme in schemes(protocol) {
            let name = protocol.name();
            let under = scheme.map(|scheme| format!(" under {scheme}"));
            let about = format!("{} by {name}{}", function.name(), under.unwrap_or_default());
            let party = |role: Role, transport| {
                let folder = folder.join(format!("{name}-{}", role.name()));
                Party {
                    function,
                    inputs,
                    role,
                    protocol,
                    scheme,
                }
                .play(session(transport, role, TIMEOUT)?, &folder)
            };
            let outcomes = over_link(|_, transport| transport, party);
            for (role, outcome) in ROLES.into_iter().zip(outcomes) {
                let outcome = outcome.unwrap_or_else(|error| panic!("{about}: {error}"));
                check(function, role, protocol, &outcome, &expected, &about);
            }
        }
    }
    expected
}

/// Returns every result of the function in the clear.
fn in_the_clear(function: &Function, inputs: &[(&str, Value)]) -> BTreeMap<String, Value> {
    let inputs = function.inputs().iter().map(|input| {
        let given = inputs.iter().find(|(name, _)| *name == input.port.name);
        given.expect("a value for each input").1.clone()
    });
    let results = function.evaluate_values(&inputs.collect::<Vec<_>>());
    let names = function.outputs().iter().map(|o| o.port.name.clone());
    names.zip(results.expect("values of the inputs")).collect()
}

fn check(
    function: &Function,
    role: Role,
    protocol: Protocol,
    outcome: &Outcome,
    expected: &BTreeMap<String, Value>,
    about: &str,
) {
    for output in function.outputs() {
        let name = &output.port.name;
        let found = outcome.outputs.get(name).map(Value::to_text);
        let due = output.recipient.includes(role);
        let due = due.then(|| expected[name].to_text());
        assert_eq!(found, due, "{about}: {name} at the {}", role.name());
    }
    assert_eq!(outcome.threat_model, protocol.threat_model(), "{about}");
}

/// One party in one run.
struct Party<'a> {
    function: &'a Function,
    inputs: &'a [(&'a str, Value)],
    role: Role,
    protocol: Protocol,
    scheme: Option<SchemeId>,
}

impl Party<'_> {
    fn play(&self, mut session: Session, folder: &Path) -> Result<Outcome, Error> {
        let (function, role) = (self.function, self.role);
        let stocks = Stocks::open(folder, STOCK_BYTES)?;
        let scheme = self.scheme.unwrap_or(SchemeId::HALF_GATES_TWO_CALL);
        let mut job = Job::new(function, role);
        if self.protocol.is_garbled() {
            job = job.scheme(scheme);
        }
        match self.protocol {
            Protocol::Direct => {}
            Protocol::Gmw => job = job.gmw(),
            Protocol::Authenticated => {
                job = job.authenticated();
            }
            Protocol::Prepared => {
                let order = Preparation::new(role).scheme(scheme);
                order.enough_for(function, 1)?.run(&mut session, &stocks)?;
                job = job.prepared(&stocks);
            }
            Protocol::Batch => {
                let order = BatchPreparation::new(role, function, 1).scheme(scheme);
                let order = order.statistical_security(insecure(SECURITY_BITS));
                order.run(&mut session, &stocks)?;
                job = job
                    .batch(&stocks)
                    .statistical_security(insecure(SECURITY_BITS));
            }
            Protocol::Outsourced => {
                return Err(Error::ApiMisuse("the suite is of protocols between two"));
            }
        }
        let owned = function.inputs().iter().filter(|input| input.owner == role);
        for input in owned {
            let name = &input.port.name;
            let given = self.inputs.iter().find(|(known, _)| known == name);
            job = job.input(name, given.expect("a value for each input").1.clone());
        }
        job.run(&mut session)
    }
}
