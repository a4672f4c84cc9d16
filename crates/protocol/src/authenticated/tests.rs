//! Complete runs in memory, with honest and with cheating parties.

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
use crate::io::Io;
use crate::io::memory::{STUCK, run_two};
use crate::message::Kind;
use crate::outline::message_bytes;
use crate::party::Progress;
use crate::session::{ProtocolId, RunTag};

pub(super) fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
    seed
}

pub(super) fn prg() -> Prg {
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

/// Returns an epoch whose base OTs were dealt.
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

/// Returns a circuit as a function whose ports alternate between both parties.
fn of_circuit(name: &str, circuit: Circuit, to: Recipient) -> Function {
    let names: Vec<String> = circuit
        .inputs()
        .iter()
        .map(|port| port.name.clone())
        .collect();
    let owner = |port: &Port| {
        let at = names.iter().position(|name| *name == port.name);
        Role::BOTH[at.unwrap() % 2]
    };
    Function::of_circuit(name, circuit, owner, |_| to).unwrap()
}

pub(super) fn component(name: &str, to: Recipient) -> Function {
    of_circuit(name, library::find(name, &BTreeMap::new()).unwrap(), to)
}

/// The party that detected a fault, and its error.
pub(super) type Failure = (Role, Error);

/// A change of a message in transit, which gets its sender, kind and payload.
pub(super) type Change<'a> = dyn FnMut(Role, Kind, &mut Vec<u8>) + 'a;

/// Changes no message.
pub(super) fn unchanged(_: Role, _: Kind, _: &mut Vec<u8>) {}

/// The sent messages, each with its sender.
pub(super) type Sent = Vec<(Role, Kind, Vec<u8>)>;

/// Runs two scripts, whose messages go through `change`. Returns both results, or the failure of
/// the party that failed first, and the sent messages.
fn run_changed<A, B>(
    garbler: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    evaluator: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
    change: &mut Change<'_>,
) -> (Result<(A, B), Failure>, Sent) {
    let (ended, sent, _) = run_watched(garbler, evaluator, change);
    (ended, sent)
}

/// Does what [`run_changed`] does, and also returns the progress that the parties report.
fn run_watched<A, B>(
    garbler: impl AsyncFnOnce(&mut Io<'_>) -> Result<A, Error>,
    evaluator: impl AsyncFnOnce(&mut Io<'_>) -> Result<B, Error>,
    change: &mut Change<'_>,
) -> (Result<(A, B), Failure>, Sent, [Progress; 2]) {
    let (roles, mut sent) = (Role::BOTH, Sent::new());
    let ended = run_two(garbler, evaluator, &mut |from, _, kind, (_, payload)| {
        change(roles[from], kind, payload);
        sent.push((roles[from], kind, payload.clone()));
        Ok(())
    });
    let progress = ended.progress;
    let results = match (ended.results, ended.first_failure) {
        ((Err(error), _), Some(0)) => Err((Role::Garbler, error)),
        ((_, Err(error)), _) => Err((Role::Evaluator, error)),
        ((Err(error), _), _) => Err((Role::Garbler, error)),
        ((Ok(garbler), Ok(evaluator)), _) => {
            assert!(progress.iter().all(|at| at.done_ands == at.total_ands));
            Ok((garbler, evaluator))
        }
    };
    (results, sent, progress)
}

/// Runs a script that nobody answers. Returns its error, and the number of messages that it sent.
fn run_alone<T>(script: impl AsyncFnOnce(&mut Io<'_>) -> Result<T, Error>) -> (Error, usize) {
    let mut sent = 0;
    let ended = run_two(script, async |_| Ok(()), &mut |from, _, _, _| {
        sent += usize::from(from == 0);
        Ok(())
    });
    (ended.results.0.err().expect("nobody answers"), sent)
}

/// Both parties' results and the epochs, or the failure.
pub(super) type Ended = Result<([Vec<bool>; 2], [Epoch; 2]), Failure>;

/// Runs `terms` with messages that go through `change`. Returns both parties' results, or the
/// failure, and the sent messages.
pub(super) fn changed_run(
    terms: Terms<'_>,
    inputs: [&[bool]; 2],
    [a, b]: [Epoch; 2],
    change: &mut Change<'_>,
) -> (Ended, Sent) {
    let (mine, yours) = (seed(), seed());
    let (ended, sent) = run_changed(
        async |io| terms.run(io, inputs[0], a, &mine).await,
        async |io| terms.run(io, inputs[1], b, &yours).await,
        change,
    );
    let results = ended
        .map(|((garblers, a), (evaluators, b))| ([garblers.to_vec(), evaluators.to_vec()], [a, b]));
    (results, sent)
}

fn inputs_of(function: &Function) -> [Vec<bool>; 2] {
    Role::BOTH.map(|role| random_bits(function.input_bits(role)))
}

/// Runs on random inputs, checks the results, and returns the epochs.
fn check_run(terms: Terms<'_>, epochs: [Epoch; 2]) -> [Epoch; 2] {
    let inputs = inputs_of(terms.function);
    let inputs = [&inputs[0][..], &inputs[1][..]];
    let (found, epochs) = changed_run(terms, inputs, epochs, &mut unchanged)
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

/// Returns the bytes of each party's messages, with their headers.
fn sent_bytes(sent: &Sent) -> [u64; 2] {
    Role::BOTH.map(|role| {
        let those = sent.iter().filter(|(from, _, _)| *from == role);
        let bytes = those.map(|(_, _, payload)| message_bytes(payload.len() as u64));
        bytes.sum()
    })
}

/// Returns the number of messages of this kind that this party sent.
pub(super) fn count(sent: &Sent, role: Role, kind: Kind) -> usize {
    let those = sent
        .iter()
        .filter(|(from, found, _)| (*from, *found) == (role, kind));
    those.count()
}
