//! `tacit inspect --lines` and `--folded`: what each line of a program costs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::scheme::default_scheme;
use tacit_language::SourceMap;
use tacit_language::lower::{CostFrame, LineCosts};

use super::write_new;
use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::language::{self, RunCosts};
use crate::report::{JSON_VERSION, pretty};

/// A line by its file's name and its number.
type Line = (String, usize);

/// What a line costs.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// AND gates, those of the functions and components that it calls among them.
    and_gates: u64,
    /// AND gates of the line alone.
    own_and_gates: u64,
    /// Bits that go into components, as for `and_gates`.
    link_bits: u64,
}

/// Prints what the lines of a program cost, or writes its folded stacks, or both.
///
/// # Errors
///
/// It is no program, or cannot be read, lowered or written.
pub(super) fn show(name: &str, args: &InspectArgs) -> Result<(), Failure> {
    let path = Path::new(name);
    if !language::is_program(path) {
        return Err(Failure::Usage(format!(
            "--lines and --folded take a program of the language, a .tacit file, and not {name}"
        )));
    }
    let (map, runs) = language::costs(path, &args.choice.params)?;
    if let Some(out) = &args.folded {
        write_new(out, |file| {
            let text = folded(&map, &runs);
            let written = file.write_all(text.as_bytes());
            written.map_err(|error| Failure::write(out, &error))
        })?;
    }
    if args.lines && args.json {
        let runs: Vec<Json> = runs.iter().map(|run| run_json(&map, run)).collect();
        let text = pretty(&json!({ "version": JSON_VERSION, "runs": runs }));
        return crate::print(text.as_bytes());
    }
    if args.lines {
        let texts: Vec<String> = runs.iter().map(|run| run_text(&map, run)).collect();
        return crate::print(texts.join("\n").as_bytes());
    }
    Ok(())
}

/// Bytes of a table for each AND gate, under the function's default scheme.
fn bytes_per_and(run: &RunCosts) -> u64 {
    let rung = default_scheme(&run.function).rung();
    rung.map_or(0, |rung| u64::from(rung.cost.and.bits) / 8)
}

fn line_of(map: &SourceMap, frame: &CostFrame) -> Line {
    let (line, _) = map.line_and_column(frame.span);
    (map.file(frame.span.file).name.clone(), line)
}

/// Costs by line, the program's own file first.
fn by_line(map: &SourceMap, costs: &LineCosts) -> Vec<(Line, Cost)> {
    let mut lines: BTreeMap<Line, Cost> = BTreeMap::new();
    for stack in &costs.stacks {
        let frames: Vec<Line> = stack.frames.iter().map(|one| line_of(map, one)).collect();
        for line in frames.iter().collect::<BTreeSet<_>>() {
            let cost = lines.entry(line.clone()).or_default();
            cost.and_gates += stack.and_gates;
            cost.link_bits += stack.link_bits;
        }
        if let Some(line) = frames.last() {
            lines.entry(line.clone()).or_default().own_and_gates += stack.and_gates;
        }
    }
    let costly = |cost: &Cost| cost.and_gates + cost.link_bits > 0;
    let mut lines: Vec<(Line, Cost)> = lines.into_iter().filter(|(_, c)| costly(c)).collect();
    let place = |name: &str| map.files().iter().position(|file| file.name == name);
    lines.sort_by_key(|((name, line), _)| (place(name), *line));
    lines
}

/// AND gates and bits into components of a line of the program's own file, if it has any.
pub(crate) fn cost_of_line(map: &SourceMap, costs: &LineCosts, line: usize) -> Option<(u64, u64)> {
    let own = (map.files()[0].name.clone(), line);
    let lines = by_line(map, costs).into_iter();
    let mut found = lines.filter(|(line, _)| *line == own);
    found
        .next()
        .map(|(_, cost)| (cost.and_gates, cost.link_bits))
}

fn sums(costs: &LineCosts) -> (u64, u64) {
    let stacks = costs.stacks.iter();
    stacks.fold((0, 0), |(ands, links), stack| {
        (ands + stack.and_gates, links + stack.link_bits)
    })
}

fn source_line(map: &SourceMap, (name, number): &Line) -> String {
    let file = map.files().iter().find(|file| file.name == *name);
    let line = file.and_then(|file| file.text.lines().nth(number - 1));
    let text = line.unwrap_or_default().trim_start();
    match text.chars().count() > 60 {
        true => text.chars().take(59).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn run_text(map: &SourceMap, run: &RunCosts) -> String {
    let bytes = bytes_per_and(run);
    let (and_gates, link_bits) = sums(&run.costs);
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
    for (line, cost) in by_line(map, &run.costs) {
        let place = match line.0 == *own_name {
            true => line.1.to_string(),
            false => format!("{}:{}", line.0, line.1),
        };
        let _ = writeln!(
            text,
            "{:>11} {:>11} {:>13} {:>10}  {place:>5}  {}",
            cost.and_gates,
            cost.own_and_gates,
            cost.and_gates * bytes,
            cost.link_bits,
            source_line(map, &line)
        );
    }
    text
}

fn run_json(map: &SourceMap, run: &RunCosts) -> Json {
    let bytes = bytes_per_and(run);
    let (and_gates, link_bits) = sums(&run.costs);
    let lines = by_line(map, &run.costs).into_iter();
    let lines = lines.map(|((file, line), cost)| {
        json!({
            "file": file,
            "line": line,
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

/// A line for each stack, from the run inwards, with its AND gates, as flame graphs are made of.
fn folded(map: &SourceMap, runs: &[RunCosts]) -> String {
    let mut text = String::new();
    for run in runs {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for stack in &run.costs.stacks {
            let frames = stack.frames.iter().map(|frame| {
                let (file, line) = line_of(map, frame);
                let file = file.rsplit('/').next().unwrap_or_default();
                format!("{} {file}:{line}", frame.function)
            });
            let frames: Vec<String> = frames.collect();
            *sums.entry(frames.join(";")).or_default() += stack.and_gates;
        }
        for (stack, and_gates) in sums.into_iter().filter(|(_, and_gates)| *and_gates > 0) {
            let _ = writeln!(text, "{stack} {and_gates}");
        }
    }
    text
}
