//! The `tacit-bench` command: measures this machine.
#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum as _};
use tacit::Category;
use tacit_bench::table::Table;
use tacit_bench::{Error, Machine, Options, Suite};
use tacit_net::Link;

const EXAMPLES: &str = "\
Examples:
  tacit-bench --quick                   a first look at everything, in under a minute
  tacit-bench ot                        correlated OTs by every extension
  tacit-bench kernels --only aes        AES alone: the ceiling of every scheme on this machine
  tacit-bench schemes --only half-gates --only vaes-256
  tacit-bench direct --link 33ms,50mbit --link 500us,1gbit
  tacit-bench batch --only aes-128      a malicious party: AES-128 in batches of 32, 128, 1024
  tacit-bench outsourced --only friend-map   three parties, and values that stay
  tacit-bench ot --json > ot.jsonl      one JSON record per line, for programs

Each figure is a median. ± is the median absolute deviation; records also have the interval that \
contains the true median with 95 % confidence. Before you quote a figure, measure on an idle \
machine: each record has the load average from before the measurement.

A shaped link delays each byte and limits the rate. It models no loss, no slow start and no queue \
that drops: a real link of that delay and rate is no faster.

Exit codes: 0 done, 2 usage, 3 a measurement or a file failed, 6 network.";

/// The `tacit-bench` command.
#[derive(Debug, Parser)]
#[command(name = "tacit-bench", version, after_help = EXAMPLES)]
#[command(
    about = "Measures Tacit on this machine: kernels, schemes, oblivious transfer, protocols"
)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    measure: MeasureArgs,
}

/// The commands of `tacit-bench` other than measuring.
#[derive(Debug, Subcommand)]
enum Command {
    /// Play one party of a measurement, as told on standard input
    #[command(hide = true)]
    Party,
}

/// The measurements and their settings.
#[derive(Debug, Args)]
struct MeasureArgs {
    /// The suites to measure; all if none is named
    #[arg(value_name = "SUITE")]
    suites: Vec<Suite>,
    /// Measure few cases in short runs, for a first look
    #[arg(long)]
    quick: bool,
    /// Measure over this link between the parties: one-way delay and rate each way, such as
    /// 33ms,50mbit. Without it, loopback, and in full runs a local and two wide links as well
    #[arg(long = "link", value_name = "DELAY,RATE")]
    links: Vec<Link>,
    /// Measure only cases with this word in their name; with several, with all of them
    #[arg(long, value_name = "WORD")]
    only: Vec<String>,
    /// Keep the garbler on one core and the evaluator on another, such as 0,1
    #[arg(long, value_name = "CORE,CORE", value_parser = cores)]
    pin: Option<[usize; 2]>,
    /// Print one JSON record per line
    #[arg(long)]
    json: bool,
}

/// Parses two cores: `0,1`.
fn cores(text: &str) -> Result<[usize; 2], String> {
    let wrong = || format!("{text:?} is not two cores; write their numbers, such as 0,1");
    let (garbler, evaluator) = text.split_once(',').ok_or_else(wrong)?;
    let core = |number: &str| number.trim().parse().map_err(|_| wrong());
    Ok([core(garbler)?, core(evaluator)?])
}

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.command {
        Some(Command::Party) => {
            tacit_bench::parties::party(&mut io::stdin().lock(), &mut io::stdout().lock())
        }
        None => measure(cli.measure),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of standard output, such as `head`, has all that it wants.
        Err(Error::Output(reason)) if reason.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            // If standard error is closed too, nobody can be told.
            let _ = writeln!(io::stderr(), "tacit-bench: {error}");
            ExitCode::from(category(&error) as u8)
        }
    }
}

/// Returns the category of an error; its number is the exit code.
fn category(error: &Error) -> Category {
    match error {
        Error::Tacit(error) => error.category(),
        Error::Network(_) => Category::Network,
        Error::NoCase(_) => Category::Usage,
        _ => Category::Input,
    }
}

fn measure(args: MeasureArgs) -> Result<(), Error> {
    if !args.json {
        print(&introduction(&args))?;
    }
    let program = std::env::current_exe().map_err(Error::Program)?;
    let options = Options {
        quick: args.quick,
        links: args.links,
        only: args.only,
        pin: args.pin,
        party_command: Some(vec![program.into_os_string(), "party".into()]),
    };
    let suites = match args.suites.as_slice() {
        [] => Suite::value_variants(),
        named => named,
    };
    let (mut table, mut records) = (Table::default(), 0_usize);
    for suite in suites {
        tacit_bench::run(*suite, &options, &mut |record| {
            records += 1;
            print(&if args.json {
                serde_json::to_string(&record)? + "\n"
            } else {
                table.add(&record)
            })
        })?;
    }
    match records {
        0 => Err(Error::NoCase(options.only.join(" "))),
        _ => Ok(()),
    }
}

/// Returns the text before the first table.
fn introduction(args: &MeasureArgs) -> String {
    let machine = Machine::this();
    let mut text = format!(
        "{}, {} cores, {}, commit {}\n",
        machine.cpu,
        machine.cores,
        machine.backends.join(" "),
        machine.commit
    );
    if let Some(load) = machine.load_average {
        text += &format!("load average {load:.2} before the first figure");
        text += if load > 0.5 {
            ": the machine is busy, and figures are worse than on an idle one\n"
        } else {
            "\n"
        };
    }
    if !machine.optimised {
        text += "this build is not a release: figures mean nothing\n";
    }
    if !args.links.is_empty() || !args.quick {
        text += "shaped links model no loss and no slow start\n";
    }
    text + "\n"
}

/// Writes to standard output and flushes it.
fn print(text: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn cores_are_two_numbers() {
        assert_eq!(cores("0,1"), Ok([0, 1]));
        assert_eq!(cores("3, 3"), Ok([3, 3]));
        for wrong in ["", "0", "0,", "0,1,2", "-1,0", "a,b"] {
            assert!(cores(wrong).is_err(), "{wrong}");
        }
    }
}
