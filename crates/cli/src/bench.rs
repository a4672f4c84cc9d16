//! `tacit bench`: what this machine does.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use tacit::Link;
use tacit_bench::report::{Report, read_records};
use tacit_bench::table::Table;
use tacit_bench::{Error, Machine, Options, Suite};

use crate::failure::Failure;

/// What its help ends with.
pub(crate) const EXAMPLES: &str = "\
Examples:
  tacit bench --quick                   a first look at everything, in under a minute
  tacit bench ot                        correlated OTs by every extension, in every form
  tacit bench kernels --only aes        AES alone: the ceiling of every scheme on this machine
  tacit bench schemes --only half-gates --only vaes-256
  tacit bench direct --link 33ms,50mbit --link 500us,1gbit
  tacit bench batch --only aes-128      a malicious party: AES-128 in batches of 32, 128, 1024
  tacit bench outsourced --only friend-map   three parties, and values that stay
  tacit bench serve --seconds 300       a service, sixteen peers, one of them hostile
  tacit bench ot --json > ot.jsonl      a record a line, for programs
  tacit bench report ot.jsonl --html report.html

Figures are medians; ± is the median absolute deviation, and records have the interval that holds \
the true median with 95 %. For figures to be quoted the machine must do nothing else: records say \
how busy it was before.

A shaped link delays each byte and lets so many through in a second. It models no loss, no slow \
start and no queue that drops: a real link of that delay and rate is no faster.";

/// Arguments of `tacit bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    /// What to measure: kernels, schemes, ot, direct, prepared, batch,
    /// outsourced, plan, serve; all of them where none is named
    #[arg(value_name = "SUITE")]
    pub(crate) suites: Vec<Suite>,
    /// Few cases and short runs: a first look
    #[arg(long)]
    pub(crate) quick: bool,
    /// Measure over this link between the parties: one-way delay and rate each way, such as
    /// 33ms,50mbit. Without it, loopback, and in full runs a local and two wide links as well
    #[arg(long = "link", value_name = "DELAY,RATE")]
    pub(crate) links: Vec<Link>,
    /// Measure only cases with this word in their name; with several, with all of them
    #[arg(long, value_name = "WORD")]
    pub(crate) only: Vec<String>,
    /// Keep the garbler on one core and the evaluator on another, such as 0,1
    #[arg(long, value_name = "CORE,CORE", value_parser = cores)]
    pub(crate) pin: Option<[usize; 2]>,
    /// How long `serve` loads its service; 300 without it, and 5 with --quick
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: Option<u64>,
    /// Print a JSON record a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `tacit bench` does with figures that are there.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Make records into a page with tables, pictures and the papers' figures
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
}

const REPORT_EXAMPLES: &str = "\
Examples:
  tacit bench --json > records.jsonl
  tacit bench report records.jsonl --html report.html
  tacit bench report monday.jsonl tuesday.jsonl --markdown docs/benchmarks.md

Of each case the last record counts, so that a case that was measured again replaces the earlier \
figure.";

/// Arguments of `tacit bench report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Files of records, as tacit bench --json prints them
    #[arg(required = true, value_name = "RECORDS")]
    records: Vec<PathBuf>,
    /// Write the page into this file: HTML that needs nothing from outside
    #[arg(long, value_name = "FILE", required_unless_present = "markdown")]
    html: Option<PathBuf>,
    /// Write it as Markdown into this file, its pictures into a folder beside it of the same name
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// Two cores: `0,1`.
fn cores(text: &str) -> Result<[usize; 2], String> {
    let wrong = || format!("{text:?} is not two cores; write their numbers, such as 0,1");
    let (garbler, evaluator) = text.split_once(',').ok_or_else(wrong)?;
    let core = |number: &str| number.trim().parse().map_err(|_| wrong());
    Ok([core(garbler)?, core(evaluator)?])
}

/// The hidden command by which a party's process is started.
const PARTY: &str = "bench-party";

/// Runs the command.
///
/// # Errors
///
/// A party failed, or no case has the words that were asked for.
pub(crate) fn bench(args: &BenchArgs) -> Result<(), Failure> {
    match &args.command {
        Some(BenchCommand::Report(args)) => report(args),
        None => measure(args),
    }
}

fn measure(args: &BenchArgs) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::read("this program", error))?;
    let options = Options {
        quick: args.quick,
        links: args.links.clone(),
        only: args.only.clone(),
        pin: args.pin,
        seconds: args.seconds,
        party_command: Some(vec![program.into_os_string(), PARTY.into()]),
    };
    let suites = if args.suites.is_empty() {
        &Suite::ALL[..]
    } else {
        &args.suites
    };
    if !args.json {
        crate::print(introduction(args).as_bytes())?;
    }
    let (mut table, mut records) = (Table::default(), 0_usize);
    for suite in suites {
        let run = tacit_bench::run(*suite, &options, &mut |record| {
            records += 1;
            let text = if args.json {
                serde_json::to_string(&record)? + "\n"
            } else {
                table.add(&record)
            };
            let mut out = std::io::stdout().lock();
            Ok(out.write_all(text.as_bytes()).and_then(|()| out.flush())?)
        });
        run.map_err(|error| match error {
            Error::Output(reason) => Failure::from_output(reason),
            error => Failure::Bench(error),
        })?;
    }
    if records == 0 {
        return Err(Failure::NoCase(args.only.join(" ")));
    }
    Ok(())
}

fn report(args: &ReportArgs) -> Result<(), Failure> {
    let mut records = Vec::new();
    for path in &args.records {
        let name = path.display();
        let file = File::open(path).map_err(|error| Failure::read(name.to_string(), error))?;
        let read = read_records(BufReader::new(file));
        records.extend(read.map_err(|error| Failure::Input(format!("{name}, {error}")))?);
    }
    let report = Report::of(&records);
    if let Some(path) = &args.html {
        write(path, &report.html())?;
    }
    let Some(path) = &args.markdown else {
        return Ok(());
    };
    let folder = path.with_extension("");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::write(&folder, &error))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    write(path, &report.markdown(&name))?;
    for (name, svg) in report.pictures() {
        write(&folder.join(name), svg)?;
    }
    Ok(())
}

/// Writes a file in the place of one that is there.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::write(path, &error))
}

/// Plays a party of a measurement, as told on standard input.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn party() -> Result<(), Failure> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    tacit_bench::parties::party(&mut input, &mut output).map_err(Failure::Bench)
}

/// What a person reads before the first table.
fn introduction(args: &BenchArgs) -> String {
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
            ": other work goes on, and figures are worse than they could be\n"
        } else {
            "\n"
        };
    }
    if !machine.optimised {
        text += "this build is not a release: figures are worth nothing\n";
    }
    if !args.links.is_empty() || !args.quick {
        text += "shaped links model no loss and no slow start\n";
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_two_numbers() {
        assert_eq!(cores("0,1"), Ok([0, 1]));
        assert_eq!(cores("3, 3"), Ok([3, 3]));
        for wrong in ["", "0", "0,", "0,1,2", "-1,0", "a,b"] {
            assert!(cores(wrong).is_err(), "{wrong}");
        }
    }
}
