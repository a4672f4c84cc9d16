//! `tacit bench`: what this machine does.

use std::io::Write;

use clap::Args;
use tacit::Link;
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
  tacit bench ot --json > ot.jsonl      a record a line, for programs

Figures are medians; ± is the median absolute deviation, and records have the interval that holds \
the true median with 95 %. For figures to be quoted the machine must do nothing else: records say \
how busy it was before.

A shaped link delays each byte and lets so many through in a second. It models no loss, no slow \
start and no queue that drops: a real link of that delay and rate is no faster.";

/// Arguments of `tacit bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure: kernels, schemes, ot, direct, prepared; all of them where none is named
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
    /// Print a JSON record a line
    #[arg(long)]
    pub(crate) json: bool,
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
    let program = std::env::current_exe().map_err(|error| Failure::read("this program", error))?;
    let options = Options {
        quick: args.quick,
        links: args.links.clone(),
        only: args.only.clone(),
        pin: args.pin,
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
