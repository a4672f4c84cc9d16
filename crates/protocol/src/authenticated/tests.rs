//! Runs from end to end in memory, by honest parties and by such as cheat.

mod cheating_evaluator;
mod cheating_garbler;
mod honest;
mod linked;
mod lots;
mod saved;
mod stocked;
mod tampering;
mod transcript;

use std::collections::BTreeMap;

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::{Circuit, Port};
use tacit_components::library;
use tacit_function::{Function, Recipient, Role};
use tacit_kernels::{Construction, Prg};
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use zeroize::Zeroizing;

use super::epoch::{dealt, fresh_deltas};
use super::*;
use crate::Error;
use crate::batch::tests::{plain, random_bits, session, tag_of};
use crate::error::cheated;
use crate::io::memory::run_through;
use crate::message::Kind;
use crate::party::Party;
use crate::session::{ProtocolId, RunTag};

pub(super) fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
    seed
}

fn prg() -> Prg {
    Prg::from_seed(&seed())
}

fn tags(extension: Extension) -> EpochTags {
    let tag = |sender| {
        session().authenticated_setup(Role::Garbler, sender, Default::default(), extension)
    };
    EpochTags {
        garbler: tag(Role::Garbler),
        evaluator: tag(Role::Evaluator),
    }
}

/// An epoch whose base OTs were dealt.
pub(super) fn epochs() -> [Epoch; 2] {
    let mut prg = prg();
    let deltas = fresh_deltas(&mut prg);
    dealt(tags(Extension::default()), deltas, &mut prg)
}

fn tag(function: &Function) -> RunTag {
    tag_of(ProtocolId::Authenticated, function)
}

pub(super) fn terms(function: &Function, bits: u8) -> Terms<'_> {
    Terms {
        function,
        tag: tag(function),
        security: SecurityBits::insecure_for_measurements(bits).unwrap(),
        construction: Construction::TwoCall,
    }
}

/// A circuit as a function whose ports go round between both parties.
fn of_circuit(name: &str, circuit: Circuit, to: Recipient) -> Function {
    let names: Vec<String> = circuit
        .inputs()
        .iter()
        .map(|port| port.name.clone())
        .collect();
    let owner = |port: &Port| {
        let at = names.iter().position(|name| *name == port.name);
        [Role::Garbler, Role::Evaluator][at.unwrap() % 2]
    };
    Function::of_circuit(name, circuit, owner, |_| to).unwrap()
}

pub(super) fn component(name: &str, to: Recipient) -> Function {
    of_circuit(name, library::find(name, &BTreeMap::new()).unwrap(), to)
}

/// Who found what wrong.
type Failure = (Role, Error);

/// A message on its way, and who sent it.
type Change<'a> = dyn FnMut(Role, Kind, &mut Vec<u8>) + 'a;

/// Moves the messages of both parties, each through `change`, until both are done or one fails.
fn exchange(parties: [&mut dyn Party; 2], change: &mut Change<'_>) -> Result<(), Failure> {
    let role = |own: usize| [Role::Garbler, Role::Evaluator][own];
    let failures = run_through(parties, &mut |own, _, kind, (_, payload)| {
        change(role(own), kind, payload);
        Ok(())
    });
    let first = failures.into_iter().next();
    first.map_or(Ok(()), |(own, error)| Err((role(own), error)))
}

/// What was sent, and by whom.
type Sent = Vec<(Role, Kind, Vec<u8>)>;

/// Both parties' results, and the epoch; or who found what wrong.
type Ended = Result<([Vec<bool>; 2], [Epoch; 2]), Failure>;

/// A run whose messages go through `change`: both parties' results, or who found what wrong, and
/// what was sent.
fn changed_run(
    terms: Terms<'_>,
    inputs: [&[bool]; 2],
    [a, b]: [Epoch; 2],
    change: &mut Change<'_>,
) -> (Ended, Sent) {
    let garbler = Garbler::new(terms, inputs[0], a, &seed()).unwrap();
    let evaluator = Evaluator::new(terms, inputs[1], b, &seed()).unwrap();
    changed(garbler, evaluator, change)
}

/// The same of two parties that are there.
fn changed(
    mut garbler: Garbler<'_>,
    mut evaluator: Evaluator<'_>,
    change: &mut Change<'_>,
) -> (Ended, Sent) {
    let mut sent = Sent::new();
    let ended = exchange(
        [&mut garbler, &mut evaluator],
        &mut |from, kind, payload| {
            change(from, kind, payload);
            sent.push((from, kind, payload.clone()));
        },
    );
    let results = ended.map(|()| {
        let (garblers, a) = garbler.finish().unwrap();
        let (evaluators, b) = evaluator.finish().unwrap();
        ([garblers.to_vec(), evaluators.to_vec()], [a, b])
    });
    (results, sent)
}

/// Runs on random inputs, and gives the epoch back.
fn check_run(terms: Terms<'_>, epochs: [Epoch; 2]) -> [Epoch; 2] {
    let inputs = [Role::Garbler, Role::Evaluator];
    let inputs = inputs.map(|role| random_bits(terms.function.input_bits(role)));
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let (found, epochs) = changed_run(terms, inputs, epochs, &mut |_, _, _| ())
        .0
        .unwrap();
    assert_eq!(
        found,
        plain(terms.function, inputs),
        "{}",
        terms.function.name()
    );
    epochs
}

/// How often a message of this kind was sent by this party.
fn count(sent: &Sent, role: Role, kind: Kind) -> usize {
    let those = sent
        .iter()
        .filter(|(from, found, _)| (*from, *found) == (role, kind));
    those.count()
}
