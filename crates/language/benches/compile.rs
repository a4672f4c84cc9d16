//! What the language's compiler takes: seconds to check a file of a thousand lines after an edit,
//! to lower a run of ten million AND gates in a loop of calls, and to lower and compile one circuit
//! of a million.
//!
//! `cargo bench -p tacit-language --bench compile` prints a JSON record a line: the median of seven
//! turns, and the process's peak memory so far.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use tacit_language::lower::{Lowered, NoCircuitFiles};
use tacit_language::program::EntryId;
use tacit_language::{Loaded, NoFiles, ParamValues};

const TURNS: usize = 7;

/// Lines of the file that is edited.
const LINES: usize = 1000;

/// Calls of a product of 64 bits, together ten million AND gates.
const LOOP: &str = "\
parties alice, bob;

component fn mix(x: u64, y: u64) -> u64 { x * y + (x ^ y) }

main(x: u64 of alice, y: [u64; 4800] of bob) -> (mixed: u64 to both) {
    let mut mixed = x;
    for i in 0..4800 { mixed = mix(mixed, y[i]); }
    mixed
}
";

/// One component of a million AND gates.
const INLINED: &str = "\
parties alice, bob;

component fn total(x: [u64; 480], y: [u64; 480]) -> u64 {
    let mut total: u64 = 0;
    for i in 0..480 { total += x[i] * y[i]; }
    total
}

main(x: [u64; 480] of alice, y: [u64; 480] of bob) -> (total: u64 to both) { total(x, y) }
";

fn main() -> Result<(), Box<dyn Error>> {
    let file = long_file();
    record(
        "edit",
        &format!(",\"lines\":{}", file.lines().count()),
        || {
            let loaded = Loaded::new("long.tacit", &file, &NoFiles);
            assert!(loaded.check(&ParamValues::new(), &NoCircuitFiles).is_empty());
            program(&loaded).map(|_| ())
        },
    )?;
    let gates = lowered(LOOP)?.function.and_gates();
    record("lower", &format!(",\"ands\":{gates}"), || lowered(LOOP))?;
    let gates = lowered(INLINED)?.function.and_gates();
    record("inline", &format!(",\"ands\":{gates}"), || {
        // Counting compiles.
        lowered(INLINED).map(|lowered| lowered.function.and_gates())
    })
}

fn lowered(text: &str) -> Result<Lowered, Box<dyn Error>> {
    let program = program(&Loaded::new("program.tacit", text, &NoFiles))?;
    let lowered = program.lower("program", EntryId(0), &NoCircuitFiles);
    lowered.map_err(|error| error.message.into())
}

fn program(loaded: &Loaded) -> Result<tacit_language::program::Program, Box<dyn Error>> {
    let program = loaded.program(&ParamValues::new());
    program.map_err(|errors| errors[0].message.clone().into())
}

/// A program of many small functions, each of which calls the one of half its number.
fn long_file() -> String {
    let mut text = String::from("parties alice, bob;\n\nfn f0(x: u32, y: u32) -> u32 { x + y }\n");
    let last = LINES / 5 - 2;
    for number in 1..=last {
        let _ = write!(
            text,
            "\nfn f{number}(x: u32, y: u32) -> u32 {{\n    let z = f{}(x, y) ^ x;\n    \
             if z < y {{ z + {number} }} else {{ z - y }}\n}}\n",
            number / 2
        );
    }
    let _ = write!(
        text,
        "\nmain(x: u32 of alice, y: u32 of bob) -> (z: u32 to both) {{\n    f{last}(x, y)\n}}\n"
    );
    text
}

/// Times some work and prints what it took, and more.
fn record<T>(
    step: &str,
    more: &str,
    mut work: impl FnMut() -> Result<T, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut seconds = Vec::new();
    for _ in 0..TURNS {
        let begun = Instant::now();
        work()?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[TURNS / 2];
    let memory = peak_memory_mib().map_or("null".to_owned(), |mib| mib.to_string());
    println!("{{\"step\":\"{step}\",\"seconds\":{median:.4},\"peak_memory_mib\":{memory}{more}}}");
    Ok(())
}

/// The process's peak resident set, where the system tells it.
fn peak_memory_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib >> 10)
}
