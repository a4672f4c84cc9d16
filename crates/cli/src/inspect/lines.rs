//! `tacit inspect --lines`: the cost of each line of a program.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::scheme::default_scheme;
use tacit_language::SourceMap;
use tacit_language::lower::{Line, LineCost, LineCosts};

use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::language::{self, RunCosts};
use crate::output;
use crate::program::is_program;

/// Prints the costs of a program's lines.
///
/// # Errors
///
/// It is no program, or cannot be read or lowered.
pub(super) fn show(name: &str, args: &InspectArgs) -> Result<(), Failure> {
    let path = Path::new(name);
    if !is_program(path) {
        return Err(Failure::usage(format!(
            "--lines takes a program of the language, a .tacit file, and not {name}"
        )));
    }
    let (map, runs) = language::costs(path, &args.choice, args.form())?;
    if args.json {
        let runs: Vec<Json> = runs.iter().map(|run| run_json(&map, run)).collect();
        return output::print_json(json!({ "runs": runs }));
    }
    let texts: Vec<String> = runs.iter().map(|run| run_text(&map, run)).collect();
    output::print(texts.join("\n"))
}

/// Returns the table bytes of each AND gate, under the function's default scheme.
fn bytes_per_and(run: &RunCosts) -> u64 {
    let scheme = default_scheme(&run.function).rung();
    scheme.map_or(0, |scheme| u64::from(scheme.cost.and.bits) / 8)
}

/// Returns the cost of a line of the program's own file, or nothing if it costs nothing.
pub(crate) fn cost_of_line(map: &SourceMap, costs: &LineCosts, line: usize) -> Option<LineCost> {
    let own = &map.files()[0].name;
    let is_it = |found: &Line| found.number == line && map.file(found.file).name == *own;
    let mut lines = costs.by_line(map).into_iter();
    lines.find(|(line, _)| is_it(line)).map(|(_, cost)| cost)
}

fn source_line(map: &SourceMap, line: Line) -> String {
    let line = map.file(line.file).text.lines().nth(line.number - 1);
    let text = line.unwrap_or_default().trim_start();
    if text.chars().count() > 60 {
        text.chars().take(59).chain(['…']).collect()
    } else {
        text.to_owned()
    }
}

fn run_text(map: &SourceMap, run: &RunCosts) -> String {
    let bytes = bytes_per_and(run);
    let (and_gates, link_bits) = run.costs.sums();
    let mut text = format!(
        "{}: {and_gates} AND gates, {} bytes of tables, {link_bits} bits into components\n\
         {:>11} {:>11} {:>13} {:>10}  {:>5}\n",
        run.name,
        and_gates * bytes,
        "AND gates",
        "own",
        "table bytes",
        "link bits",
        "line"
    );
    let own_name = &map.files()[0].name;
    for (line, cost) in run.costs.by_line(map) {
        let name = &map.file(line.file).name;
        let place = if name == own_name {
            line.number.to_string()
        } else {
            format!("{name}:{}", line.number)
        };
        let _ = writeln!(
            text,
            "{:>11} {:>11} {:>13} {:>10}  {place:>5}  {}",
            cost.and_gates,
            cost.own_and_gates,
            cost.and_gates * bytes,
            cost.link_bits,
            source_line(map, line)
        );
    }
    text
}

fn run_json(map: &SourceMap, run: &RunCosts) -> Json {
    let bytes = bytes_per_and(run);
    let (and_gates, link_bits) = run.costs.sums();
    let lines = run.costs.by_line(map).into_iter();
    let lines = lines.map(|(line, cost)| {
        json!({
            "file": map.file(line.file).name,
            "line": line.number,
            "and_gates": cost.and_gates,
            "own_and_gates": cost.own_and_gates,
            "table_bytes": cost.and_gates * bytes,
            "link_bits": cost.link_bits,
        })
    });
    json!({
        "name": run.name,
        "and_gates": and_gates,
        "table_bytes": and_gates * bytes,
        "link_bits": link_bits,
        "lines": lines.collect::<Vec<_>>(),
    })
}
