//! Arguments of every run, of two parties or of three.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde::Deserialize;
use tacit::Function;
use tacit::join::Part;
use tacit_language::RowRules;

use super::text::{duration, pair};
use crate::failure::{Failure, usage};
use crate::inputs::Reading;

/// The heading of inputs and results.
pub(super) const VALUES: &str = "Inputs and results";
/// The heading of the options for scheme, limits and measurements.
pub(super) const HOW: &str = "How it is run";
/// The heading of the options for stock and kept values.
pub(super) const KEPT: &str = "Stock, and values kept between runs";

/// A party's inputs.
#[derive(Debug, Args)]
#[command(next_help_heading = VALUES)]
pub(crate) struct InputArgs {
    /// An input of this party: a value, `@FILE`, or `-` for standard input
    ///
    /// For a program also `@FILE.csv` for a table, and `@FILE.csv:COLUMN` for one column. Values in
    /// arguments show in the list of processes.
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub(crate) inputs: Vec<String>,
    /// This party's inputs as a JSON object; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) input_file: Option<PathBuf>,
}

impl InputArgs {
    /// Returns the places where the inputs are given.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading::Command(&self.inputs, self.input_file.as_deref())
    }
}

/// The part of the tables' keys that a join or a matching handles.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ShardArgs {
    /// Handle only the rows whose key falls into part K of S, as one of S commands that handle
    /// the whole tables together. Both parties give the same, and the whole tables
    #[arg(long, value_name = "K/S")]
    shard: Option<Part>,
}

impl ShardArgs {
    /// Returns the part, if it is not the whole.
    pub(crate) fn part(self) -> Option<Part> {
        self.shard.filter(|part| !part.is_all())
    }

    /// Refuses the argument for a function that joins no tables.
    pub(crate) fn refuse(self) -> Result<(), Failure> {
        match self.shard {
            None => Ok(()),
            Some(part) => Err(usage!(
                "--shard {part} is for a program that joins two tables"; "leave it out"
            )),
        }
    }
}

/// The rules for rows that a join or a matching does not take.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RowArgs {
    /// Leave out rows of this party's table without a key or, in a join, with an empty cell in a
    /// column that the program needs. Otherwise such a row is an error
    #[arg(long)]
    pub(crate) drop_missing: bool,
    /// Of several rows with one key, keep the first; in a join `upto D`, the first D. Otherwise
    /// such rows are an error
    #[arg(long, value_name = "WHICH")]
    pub(crate) keep: Option<KeptRow>,
}

impl RowArgs {
    /// Returns the rules that the arguments give.
    pub(crate) fn rules(self) -> RowRules {
        RowRules {
            drop_missing: self.drop_missing,
            keep_first: self.keep == Some(KeptRow::First),
        }
    }

    /// Refuses the arguments for a function that joins no tables.
    pub(crate) fn refuse(self) -> Result<(), Failure> {
        if self.rules() == RowRules::default() {
            return Ok(());
        }
        Err(usage!(
            "--drop-missing and --keep are for the table of a program that joins two";
            "leave them out"
        ))
    }
}

/// The row to keep of several with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KeptRow {
    /// The first in the file
    First,
}

/// Files for a party's results.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write an array or a table of a program's results into this new file, as CSV
    #[arg(long = "output", value_name = "NAME=FILE.csv", value_parser = pair)]
    pub(crate) outputs: Vec<(String, String)>,
    /// With --output: put no apostrophe before texts that start like a formula of a spreadsheet,
    /// such as +49 30 1234. Only for programs that read the file: a spreadsheet may run what the
    /// other party wrote
    #[arg(long, requires = "outputs", hide_short_help = true)]
    pub(crate) plain_texts: bool,
}

/// The options for making and reporting a run.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// The garbling scheme, or an assumption for the best scheme that needs no more; `tacit
    /// inspect` lists both. Default: half-gates with the hash that suits the function. All parties
    /// give the same
    #[arg(long, visible_alias = "assumption", value_name = "NAME")]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) scheme: Option<String>,
    /// Longest time for each run, from its first message to its result, such as 10m. Default: no
    /// limit for the run, only for each wait
    #[arg(long, value_name = "TIME", value_parser = duration)]
    #[arg(help_heading = HOW, hide_short_help = true)]
    pub(crate) time_limit: Option<Duration>,
    /// Run N times over one connection, on the same inputs, to measure. All parties give the same
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = HOW, hide_short_help = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) repeat: u32,
    /// Print the cost: time, bytes, rounds, memory
    #[arg(long, help_heading = VALUES)]
    pub(crate) cost: bool,
    /// Print JSON
    #[arg(long, help_heading = VALUES)]
    pub(crate) json: bool,
}

/// The chain in which a party keeps values between runs.
#[derive(Debug, Args)]
#[command(next_help_heading = KEPT)]
pub(crate) struct ChainArgs {
    /// Keep values in the chain of this name; the other party that keeps them gives the same name.
    /// A run that saves values and loads none starts the chain
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub(crate) chain: Option<String>,
    /// With --chain, at both: let a function discard a kept value that it saves without loading it
    #[arg(long, hide_short_help = true)]
    pub(crate) replace: bool,
}

impl ChainArgs {
    /// Checks that --chain is given if and only if `function` keeps values. `other` is the word for
    /// the other party that keeps the chain.
    pub(crate) fn check(&self, function: &Function, other: &str) -> Result<(), Failure> {
        let (name, keeps) = (function.name(), function.has_saved_values());
        Err(Failure::usage(match &self.chain {
            Some(chain) if !keeps => {
                format!("--chain {chain}: {name} neither saves nor loads values; leave it out")
            }
            None if keeps => format!(
                "{name} keeps values between runs; name the chain of runs with --chain, as the \
                 other {other} does"
            ),
            None if self.replace => {
                "--replace discards values of a chain; name the chain with --chain".to_owned()
            }
            _ => return Ok(()),
        }))
    }
}
