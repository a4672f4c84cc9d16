//! The `tacit` command.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | the commands, their arguments and their help |
//! | [`demo`], [`doctor`], [`keygen`], [`pair`], [`inspect`], [`plan`], [`offers`], [`run`], [`matching`], [`outsource`], [`prepare`], [`serve`], [`relay`], [`stock`], [`config`] | one command each |
//! | [`language`], [`program`], [`typed`], [`lsp`] | programs of the language, the values of their ports, and editors |
//! | [`function`], [`owners`], [`inputs`], [`party`] | the way from arguments to the library's types |
//! | [`shell`] | the way back, to commands that can be pasted |
//! | [`output`], [`terminal`], [`report`], [`progress`], [`log`] | the output of a run, for people and programs |
//! | [`failure`] | every error, its remedy, and the exit code |
//! | [`memory`] | the check that this process may use the memory of a lot |
//! | [`misuse`] | errors about the command line |
//! | [`cancel`] | Ctrl-C |
#![forbid(unsafe_code)]

/// Writes to standard error as the macro of std does, but without a panic if nobody is left to read
/// it, such as after the terminal was closed.
macro_rules! eprint {
    ($($text:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!($($text)*));
    }};
}

/// Writes a line to standard error, as [`eprint`] does.
macro_rules! eprintln {
    ($($text:tt)*) => { eprint!("{}
", format_args!($($text)*)) };
}

mod args;
mod backup;
mod cancel;
mod config;
mod demo;
mod doctor;
mod failure;
mod function;
mod gpu;
mod inputs;
mod inspect;
mod keygen;
mod language;
mod log;
mod lsp;
mod matching;
mod memory;
mod misuse;
mod new_file;
mod offers;
mod output;
mod outsource;
mod owners;
mod pair;
mod party;
mod plan;
mod prepare;
mod program;
mod progress;
mod relay;
mod remedy;
mod report;
mod run;
mod serve;
mod shell;
mod stock;
mod terminal;
mod typed;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::{Cli, Command, ConfigCommand};
use crate::failure::Failure;
use crate::log::Log;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(all(test, not(target_env = "musl")))]
#[global_allocator]
static ALLOCATOR: tacit_kernels::leftovers::Watching = tacit_kernels::leftovers::Watching;

fn main() -> ExitCode {
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return misuse::misused(error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return misuse::misused(error),
    };
    let log = Log::new(cli.verbose);
    let ended = execute(cli, log);
    stock::tell_failed_notes();
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell(args::wants_json(&matches), args::peer(&matches));
            ExitCode::from(failure.category() as u8)
        }
    }
}

fn execute(cli: Cli, log: Log) -> Result<(), Failure> {
    let (config, verbose) = (cli.config, cli.verbose);
    match cli.command {
        Command::Demo(args) => demo::demo(&args, log),
        Command::Doctor(args) => doctor::doctor(&args, config.as_deref()),
        Command::Keygen(args) => keygen::keygen(&args, config.as_deref()),
        Command::Pair(args) => pair::pair(&args.command, config.as_deref(), log),
        Command::Inspect(args) => inspect::inspect(&args, log),
        Command::Check(args) => language::check(&args),
        Command::Test(args) => language::test(&args),
        Command::Eval(args) => language::eval(&args),
        Command::Fmt(args) => language::fmt(&args),
        Command::Lsp => lsp::serve(),
        Command::Plan(args) => plan::plan(&args, config.as_deref(), log),
        Command::Offers(args) => offers::offers(&args, config.as_deref(), log),
        Command::Match(args) => matching::matching(&args, config.as_deref(), log),
        Command::Run(args) => run::run(&args, config.as_deref(), log),
        Command::Outsource { command } => outsource::outsource(&command, config.as_deref(), log),
        Command::Prepare(args) => prepare::prepare(&args, config.as_deref(), log),
        Command::Serve(args) => serve::serve(&args, config.as_deref(), verbose),
        Command::Relay(args) => relay::relay(&args),
        Command::Stock(args) => stock::stock(&args, config.as_deref()),
        Command::Backup(args) => backup::backup(&args, config.as_deref()),
        Command::Restore(args) => backup::restore(&args, config.as_deref()),
        Command::Config {
            command: ConfigCommand::Schema,
        } => output::print(config::SCHEMA),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "tacit", &mut script);
            output::print(&script)
        }
        Command::Man {
            directory: Some(directory),
        } => clap_mangen::generate_to(Cli::command(), &directory)
            .map_err(|error| Failure::write(&directory, &error)),
        Command::Man { directory: None } => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command())
                .render(&mut page)
                .map_err(|error| Failure::output(&error))?;
            output::print(&page)
        }
    }
}
