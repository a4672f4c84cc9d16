//! The commands that carry out a plan, ready to be pasted.

use std::collections::BTreeMap;

use tacit::Role;
use tacit::garble::SchemeInfo;
use tacit::plan::Alternative;
use tacit::protocols::Protocol;
use tacit::scheme::default_scheme;
use tacit::session::OtExtension;

use super::PlanReport;
use crate::args::PlanArgs;
use crate::shell;

/// The commands of one alternative.
pub(super) struct Commands<'a> {
    args: &'a PlanArgs,
    /// This party's role, if it is known.
    own: Option<Role>,
    /// The files that inputs are read from, by input.
    files: &'a BTreeMap<String, String>,
    /// Whether runs may take silent crosses.
    allows_silent: bool,
    of: &'a Alternative,
}

impl<'a> Commands<'a> {
    pub(super) fn new(told: &PlanReport<'a>, of: &'a Alternative) -> Self {
        Self {
            args: told.args,
            own: told.role,
            files: told.files,
            allows_silent: told.ot_extension == Some(OtExtension::Silent),
            of,
        }
    }

    /// Returns the command that prepares for the planned runs, or nothing if nothing needs
    /// preparation.
    pub(super) fn prepare(&self, role: Role) -> Option<String> {
        if self.of.protocol.is_from_nothing() {
            return None;
        }
        let mut words = vec!["tacit".to_owned(), "prepare".to_owned()];
        words.extend(self.function());
        if self.of.protocol == Protocol::Batch {
            words.extend(["--protocol".to_owned(), "batch".to_owned()]);
        }
        words.extend(["--runs".to_owned(), self.args.runs.to_string()]);
        words.extend(self.party(role));
        Some(shell::line(&words))
    }

    /// Returns the command that runs the function. It reads each input from a file of the input's
    /// name.
    pub(super) fn run(&self, role: Role) -> String {
        let mut words = vec!["tacit".to_owned(), "run".to_owned()];
        words.extend(self.function());
        if self.of.protocol != Protocol::Direct {
            let name = self.of.protocol.name().to_owned();
            words.extend(["--protocol".to_owned(), name]);
        }
        if self.of.function.has_saved_values() {
            words.extend(["--chain".to_owned(), "NAME".to_owned()]);
        }
        if self.of.takes_crosses() {
            words.push("--require-stock".to_owned());
        }
        words.extend(self.party(role));
        let inputs = self.of.function.inputs().iter();
        for input in inputs.filter(|input| input.owner == role) {
            let name = &input.port.name;
            if let Some(file) = self.files.get(name) {
                words.extend(["--input".to_owned(), format!("{name}=@{file}")]);
            }
        }
        shell::line(&words)
    }

    /// Returns the function's arguments.
    fn function(&self) -> Vec<String> {
        let mut words = shell::function(&self.args.function, &self.args.choice);
        let named = |scheme: &&SchemeInfo| scheme.id != default_scheme(&self.of.function);
        if let Some(scheme) = self.of.scheme.filter(named) {
            words.extend(["--scheme".to_owned(), scheme.id.to_string()]);
        }
        words
    }

    /// Returns the arguments for the role and the OTs and, for this party, those that it gave for
    /// its peer and stock.
    fn party(&self, role: Role) -> Vec<String> {
        let mut words = vec!["--role".to_owned(), role.name().to_owned()];
        let takes_silent = self.allows_silent && self.of.takes_crosses();
        let silent = takes_silent.then_some(OtExtension::Silent);
        if let Some(extension) = self.of.ot_extension.or(silent) {
            words.extend(["--ot-extension".to_owned(), extension.to_string()]);
        }
        let peer = self.args.peer.as_deref();
        match (peer, self.own) {
            (Some(peer), Some(own)) if own == role => {
                words.extend(["--with".to_owned(), peer.to_owned()]);
            }
            // The other party has its own name for this one.
            (Some(_), Some(_)) => words.extend(["--with".to_owned(), "NAME".to_owned()]),
            _ => {}
        }
        if self.own == Some(role)
            && let Some(stock) = &self.args.stock
            && (self.of.takes_crosses() || !self.of.protocol.is_from_nothing())
        {
            words.extend(["--stock".to_owned(), stock.display().to_string()]);
        }
        words
    }
}
