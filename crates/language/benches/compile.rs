//! Benchmarks of the language's compiler: the seconds that it takes to check a file of a thousand
//! lines after an edit, to lower a run of ten million AND gates in a loop of calls, to lower and
//! compile one circuit of a million, and to lower the intersection and the join of two tables of 50
//! to 5,000 rows each.
//!
//! `cargo bench -p tacit-language --bench compile` prints one JSON record a line: the median of
//! seven turns, and the process's peak memory so far.

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use tacit_language::lower::{Lowered, NoCircuitFiles};
use tacit_language::program::EntryId;
use tacit_language::{Loaded, NoFiles, ParamValues};

const TURNS: usize = 7;

/// The number of lines of the file that is edited.
const LINES: usize = 1000;

/// Calls of a 64-bit product, ten million AND gates in total.
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

/// The spending of common customers, merged by the standard library.
const INTERSECTION: &str = "\
parties alice, bob;
use std::psi::{count_and_sum, strictly_sorted};
param ROWS: 1..=65_536 = 4;
struct Sale { customer: u32, amount: u24 }

main(customers: [u32; ROWS] of alice sorted, sales: [Sale; ROWS] of bob sorted by customer)
    -> (shared: u<bits(ROWS)> to both, spent: u<24 + bits(ROWS)> to both) {
    let ids = [for s in sales { s.customer }];
    let sound = strictly_sorted(customers) && strictly_sorted(ids);
    let (shared, spent) = count_and_sum(customers, ids, [for s in sales { s.amount }]);
    if sound { (shared, spent) } else { (0, 0) }
}
";

/// Spending by region: a join, and sums that `main` computes itself.
const JOIN: &str = "\
parties registry, shop;
use std::table::join;
param ROWS: 1..=65_536 = 4;
enum Region { North, East, South, West }
struct Person { id: u32, region: Region }
struct Sale { id: u32, amount: u20 }
type Total = u<20 + bits(ROWS)>;

main(people: [Person; ROWS] of registry sorted by id, sales: [Sale; ROWS] of shop sorted by id)
    -> (totals: [Total; 4] to both) {
    let mut totals: [Total; 4] = [0; 4];
    for row in join([for p in people { p.id }], people, [for s in sales { s.id }], sales) {
        let (person, sale) = row.value;
        totals[person.region] += if row.some { sale.amount as Total } else { 0 };
    }
    totals
}
";

fn main() -> Result<(), Box<dyn Error>> {
    let file = long_file();
    record(
        "edit",
        &format!(",\"lines\":{}", file.lines().count()),
        || {
            let loaded = Loaded::new("long.tacit", &file, &NoFiles);
            assert!(
                loaded
                    .check(&ParamValues::new(), &NoCircuitFiles)
                    .is_empty()
            );
            program(&loaded, &ParamValues::new()).map(|_| ())
        },
    )?;
    for (step, text) in [("intersection", INTERSECTION), ("join", JOIN)] {
        for rows in [50, 500, 5000] {
            let params = ParamValues::from([("ROWS".to_owned(), rows.into())]);
            let more = format!(",\"rows\":{rows}");
            record(step, &more, || lowered_with(text, &params))?;
        }
    }
    let gates = lowered(LOOP)?.function.and_gates();
    record("lower", &format!(",\"ands\":{gates}"), || lowered(LOOP))?;
    let gates = lowered(INLINED)?.function.and_gates();
    record("inline", &format!(",\"ands\":{gates}"), || {
        // Counting the gates compiles the circuit.
        lowered(INLINED).map(|lowered| lowered.function.and_gates())
    })
}

fn lowered(text: &str) -> Result<Lowered, Box<dyn Error>> {
    lowered_with(text, &ParamValues::new())
}

fn lowered_with(text: &str, params: &ParamValues) -> Result<Lowered, Box<dyn Error>> {
    let program = program(&Loaded::new("program.tacit", text, &NoFiles), params)?;
    let lowered = program.lower("program", EntryId(0), &NoCircuitFiles);
    lowered.map_err(|error| error.message.into())
}

fn program(
    loaded: &Loaded,
    params: &ParamValues,
) -> Result<tacit_language::program::Program, Box<dyn Error>> {
    let program = loaded.program(params);
    program.map_err(|errors| errors[0].message.clone().into())
}

/// Returns a program of many small functions. Each calls the function of half its number.
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

/// Times `work` and prints the time, and `more`.
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

/// Returns the process's peak resident set, if the system reports it.
fn peak_memory_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib >> 10)
}
