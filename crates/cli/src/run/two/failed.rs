//! The text of a failed run: the error in the command's words, and commands that help.

use tacit::protocols::Protocol;
use tacit::session::Incompatibility;
use tacit::stock::StockNeed;
use tacit::{Category, Session};

use super::TwoPartyRun;
use crate::failure::{Failure, failure};
use crate::shell;

impl TwoPartyRun<'_> {
    /// Says what a person should know about a run that ended with this error, and returns its
    /// failure.
    pub(super) fn failed(&self, error: tacit::Error, session: &Session) -> Failure {
        let has_left = matches!(error.category(), Category::Network | Category::Peer);
        if has_left && self.protocol == Protocol::Authenticated && self.stocks.is_some() {
            eprintln!(
                "a try that the peer left after it could have cheated counts, and makes later \
                 ones dearer; `tacit stock list` shows how many"
            );
        }
        let fate = self.tell_fate(session);
        if let Some(id) = session.id() {
            eprintln!("session   {id}, as the other party's log names it too");
        }
        let failure = match error {
            tacit::Error::StockLacks { .. } => self.lacks(session),
            error => self.named(error, session),
        };
        match fate {
            Some(fields) => failure.with_fields(fields),
            None => failure,
        }
    }

    /// Returns the failure of a run that was to take everything from a stock with too little.
    fn lacks(&self, session: &Session) -> Failure {
        let needs = self.needs(session);
        let missing = needs.iter().filter(|need| need.available < need.needed);
        let missing: Vec<_> = missing
            .map(|need| format!("{} of {} {}", need.available, need.needed, need.name))
            .collect();
        let found = match (needs.is_empty(), missing.is_empty()) {
            (true, _) => String::new(),
            (_, true) => ": this party has enough, and the other party has not".to_owned(),
            _ => format!(": this party has {}", missing.join(", ")),
        };
        let mut command = self.prepare(self.protocol, "1");
        command.extend(shell::meeting(self.args));
        let (function, command) = (self.runnable.function().name(), shell::line(&command));
        failure!(
            Stock;
            "the parties do not have enough in stock for a run of {function}{found}";
            "both prepare some before: here `{command}`, and the same at the other party in its \
             role. Or both leave out --require-stock, and the run makes what is missing"
        )
    }

    /// Returns what a run by `prepared` takes, and what this party has of it.
    fn needs(&self, session: &Session) -> Vec<StockNeed> {
        let (Protocol::Prepared, Some(stocks)) = (self.protocol, &self.stocks) else {
            return Vec::new();
        };
        let parties = session.own().zip(session.peer());
        let needs = parties.map(|parties| {
            let mut name = stocks.name(parties, self.role, self.scheme.id);
            name.lanes = session.lanes();
            stocks.needs(&name, self.runnable.function())
        });
        needs.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns the error with the names of a program's parties in place of their roles.
    fn named(&self, error: tacit::Error, session: &Session) -> Failure {
        match (&error, self.runnable.signature()) {
            (
                tacit::Error::Protocol(tacit::ProtocolError::PeerIncompatible(
                    Incompatibility::SameRole(_),
                )),
                Some(signature),
            ) => {
                let name = |role| signature.party_name(signature.party_of(role)).to_owned();
                let (own, other) = (name(self.role), name(self.role.other()));
                failure!(
                    Incompatible;
                    "the peer is incompatible: it is {own}, too";
                    "start one of the two with --as {other}"
                )
            }
            _ => {
                let (args, typed) = (self.args, self.runnable.typed());
                let called = shell::called(&args.function, &args.choice, typed);
                let peer = args.meet.peer.as_deref();
                Failure::in_lane(error.calling_function(&called), peer, session.lanes().peer)
            }
        }
    }

    /// Returns the failure for a stock without an execution, with a command that prepares some,
    /// ready to be pasted.
    pub(super) fn nothing_checked(&self) -> Failure {
        let mut command = self.prepare(Protocol::Batch, "16");
        command.extend(shell::meeting(self.args));
        let (function, scheme) = (self.runnable.function().name(), self.scheme.id);
        let (bits, command) = (self.security.bits(), shell::line(&command));
        failure!(
            Stock;
            "no checked execution of {function} at s = {bits} under {scheme} is in stock with this \
             peer in this role";
            "both parties prepare some before, of which each run takes one: here `{command}`, and \
             the same at the other party in its role. Or both give --protocol authenticated, which \
             needs none"
        )
    }

    /// Returns the command that prepares `runs` runs of the function by `protocol`.
    pub(super) fn prepare(&self, protocol: Protocol, runs: &str) -> Vec<String> {
        let args = self.args;
        let mut words = vec!["tacit".to_owned(), "prepare".to_owned()];
        let mut choice = args.choice.clone();
        if let Some(join) = &self.join {
            // The crosses of a join depend on its sizes, which the parties told each other.
            let sizes = join.sizes;
            choice.params.retain(|(name, _)| !sizes.contains_key(name));
            let sizes = sizes
                .iter()
                .map(|(name, size)| (name.clone(), size.to_string()));
            choice.params.extend(sizes);
        }
        words.extend(shell::function(&args.function, &choice));
        words.extend(["--protocol", protocol.name()].map(str::to_owned));
        if args.security_bits.is_some() {
            words.extend(["--security-bits".to_owned(), self.security.to_string()]);
        }
        if args.runs.scheme.is_some() {
            words.extend(["--scheme".to_owned(), self.scheme.id.to_string()]);
        }
        words.extend(["--runs", runs].map(str::to_owned));
        words
    }
}
