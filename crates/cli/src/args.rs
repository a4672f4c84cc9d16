//! The commands, their arguments and their help.
//!
//! | module | contents |
//! |---|---|
//! | `demo`, `doctor`, `keygen`, `pair`, `inspect`, `language`, `offers`, `run`, `matching`, `outsource`, `prepare`, `serve`, `relay`, `stock` | the arguments of one command each, with examples |
//! | `any_run`, `function`, `party` | arguments that several commands share |
//! | `text` | the syntax of argument values |
//!
//! The arguments of `plan` are in the module of that command.

mod any_run;
mod backup;
mod demo;
mod doctor;
mod function;
mod inspect;
mod keygen;
mod language;
mod matching;
mod offers;
mod outsource;
mod pair;
mod party;
mod plan;
mod prepare;
mod relay;
mod run;
mod serve;
mod stock;
mod text;

use std::path::PathBuf;

use clap::{ArgMatches, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use any_run::{KeptRow, OutputArgs, RowArgs, RunsArgs};
pub(crate) use backup::{BackupArgs, RestoreArgs};
pub(crate) use demo::DemoArgs;
pub(crate) use doctor::DoctorArgs;
pub(crate) use function::FunctionArgs;
pub(crate) use inspect::InspectArgs;
pub(crate) use keygen::KeygenArgs;
pub(crate) use language::{EvalArgs, FmtArgs, ProgramArgs};
pub(crate) use matching::MatchArgs;
pub(crate) use offers::OffersArgs;
pub(crate) use outsource::{Other, OutsourceArgs, OutsourceCommand};
pub(crate) use pair::{AcceptArgs, InviteArgs, PairArgs, PairCommand};
pub(crate) use party::{GpuArgs, MeetArgs, PartyArgs, StockArgs};
pub(crate) use plan::PlanArgs;
pub(crate) use prepare::{OrderedComponent, PrepareArgs, PrepareFor};
pub(crate) use relay::RelayArgs;
pub(crate) use run::RunArgs;
pub(crate) use serve::{LogFormat, ServeArgs};
pub(crate) use stock::{StockCommand, StockCommandArgs};
pub(crate) use text::{base_ot, duration, origin, ot_extension, role};

const ABOUT: &str = "\
Tacit lets two parties compute a function of their private inputs and learn only its result.

Each party runs `tacit run` on its own machine: one as the garbler, who makes the garbled circuit, \
the other as the evaluator. They know each other by the fingerprints of their identities, which \
`tacit pair` exchanges.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples, each for new shells, into a folder that must exist:
  tacit completions bash >~/.local/share/bash-completion/completions/tacit
  tacit completions zsh >~/.zfunc/_tacit    a folder of fpath, set before compinit
  tacit completions fish >~/.config/fish/completions/tacit.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  tacit man --directory ~/.local/share/man/man1    if that folder exists, for `man tacit-run`
  tacit man | man -l -                             read the first page now";

const LSP_HELP: &str = "\
An editor starts it without arguments, for files that end in .tacit. docs/language.md lists what \
it does.";

const CONFIG_HELP: &str = "\
Examples:
  tacit config schema            for an editor that completes tacit.toml

docs/guide.md has an example of the file.";

const EXAMPLES: &str = "\
Examples:
  tacit demo                            run both parties on this machine
  tacit pair --help                     how to pair with another party
  tacit inspect --list                  the functions that come with Tacit
  tacit inspect millionaires            a function's inputs, results and cost
  tacit run millionaires --with bob --input a=41      run it with a party that you paired with
  tacit match customers.csv:email --with bob    find the customers that both parties have
  tacit check gap.tacit                 find errors in your program gap.tacit
  tacit eval gap.tacit --input a=500 --input b=490    try it alone, on the inputs of both
  tacit plan aes-128 --link 33ms,50mbit how to run it over a link, and what to prepare

docs/README.md has five first tasks; docs/language.md teaches to write programs.

Exit codes: 0 done, 2 usage, 3 input, 4 the peer misbehaved, 5 the parties want different things, \
6 network, 7 stock, 130 cancelled.";

/// The `tacit` command.
#[derive(Debug, Parser)]
#[command(name = "tacit", version, about = "Secure two-party computation", long_about = ABOUT)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print each step on standard error, but never a secret; give it twice for more
    #[arg(short, long, global = true, display_order = 998, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Read this configuration instead of tacit/tacit.toml in your configuration folder
    #[arg(long, global = true, display_order = 999, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// The commands of `tacit`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run both parties on this machine, over TLS: AES-128 and a comparison, checked
    #[command(after_help = demo::EXAMPLES)]
    Demo(DemoArgs),
    /// Check everything that a run needs: configuration, identity, peers, stock, service
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(DoctorArgs),
    /// Make an identity and print the fingerprint that the other party needs
    #[command(after_help = keygen::EXAMPLES)]
    Keygen(KeygenArgs),
    /// Exchange fingerprints with another party, by one line and two spoken codes
    #[command(after_help = pair::EXAMPLES)]
    Pair(PairArgs),
    /// Show a function's inputs, results, cost and assumption
    #[command(after_help = inspect::EXAMPLES)]
    Inspect(InspectArgs),
    /// Find errors in programs of the language
    #[command(after_help = language::CHECK_EXAMPLES)]
    Check(ProgramArgs),
    /// Run the tests of programs of the language
    #[command(after_help = language::TEST_EXAMPLES)]
    Test(ProgramArgs),
    /// Run a program of the language in the clear, on the inputs of both parties
    #[command(after_help = language::EVAL_EXAMPLES)]
    Eval(EvalArgs),
    /// Format programs of the language
    #[command(after_help = language::FMT_EXAMPLES)]
    Fmt(FmtArgs),
    /// Serve programs of the language to an editor, by the Language Server Protocol over standard
    /// input and output
    #[command(after_help = LSP_HELP)]
    Lsp,
    /// Find the protocol and scheme that cost least over a link, for one function
    #[command(after_help = plan::EXAMPLES)]
    Plan(Box<PlanArgs>),
    /// Show the functions, tables and orders that a service offers this party
    #[command(after_help = offers::EXAMPLES)]
    Offers(Box<OffersArgs>),
    /// Run a function with a peer, each party on its own private inputs
    #[command(after_help = run::SHORT_EXAMPLES, after_long_help = run::EXAMPLES)]
    Run(Box<RunArgs>),
    /// Find the keys that this party's table and the peer's have in common
    #[command(after_help = matching::EXAMPLES)]
    Match(Box<MatchArgs>),
    /// Run a function between three: a cloud does one party's work, and may keep values
    #[command(after_help = outsource::short_examples())]
    #[command(after_long_help = outsource::examples())]
    Outsource {
        #[command(subcommand)]
        command: OutsourceCommand,
    },
    /// Prepare material with a peer, before function and inputs are known, and store it
    #[command(after_help = prepare::EXAMPLES)]
    Prepare(Box<PrepareArgs>),
    /// Run the functions in tacit.toml with many peers, and keep the stock filled
    #[command(after_help = serve::EXAMPLES)]
    Serve(ServeArgs),
    /// Pass encrypted bytes between parties that cannot connect to each other
    #[command(after_help = relay::EXAMPLES)]
    Relay(RelayArgs),
    /// List, check and drop prepared material and chains of kept values
    #[command(after_help = stock::EXAMPLES)]
    Stock(StockCommandArgs),
    /// Save the configuration, the identity and the counts; never prepared material or chains
    #[command(after_help = backup::BACKUP_EXAMPLES)]
    Backup(BackupArgs),
    /// Restore a backup, and print what was dropped and what each peer must do
    #[command(after_help = backup::RESTORE_EXAMPLES)]
    Restore(RestoreArgs),
    /// Print the schema of the configuration file; `tacit doctor` says where the file is
    #[command(after_help = CONFIG_HELP)]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page, or write the pages of all commands into a folder
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Write every page into this folder
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

/// Returns the arguments of the innermost command.
fn innermost(mut matches: &ArgMatches) -> &ArgMatches {
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    matches
}

/// Returns the peer as the caller named it.
pub(crate) fn peer(matches: &ArgMatches) -> Option<&str> {
    let peer = innermost(matches).try_get_one::<String>("peer");
    peer.ok().flatten().map(String::as_str)
}

/// Returns whether the caller wants JSON.
pub(crate) fn wants_json(matches: &ArgMatches) -> bool {
    matches!(innermost(matches).try_get_one("json"), Ok(Some(true)))
}

/// The commands of `tacit config`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the JSON schema of tacit.toml
    Schema,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
