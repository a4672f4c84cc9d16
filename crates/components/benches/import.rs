//! Measures the cost of a large circuit file: seconds and memory to parse, to digest, to compile
//! and to count the cost of schemes. For well-known circuits it also measures building, compiling
//! and counting, and the number of labels that they keep at once.
//!
//! `cargo bench -p tacit-components --bench import -- 10000000` writes a file of this many AND
//! gates, AES-128 under one key repeatedly, and reads it. The argument is optional. Prints one JSON
//! record per line. The memory is the process's peak so far.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use tacit_circuit::formats::{BitOrder, BristolFormat, Import, read_bristol_file, write_bristol};
use tacit_circuit::{Circuit, OrderingRule, Program};
use tacit_components::library;

/// The default number of AND gates of the file.
const AND_GATES: usize = 10_000_000;

/// The bits of the key, and of a block.
const BLOCK_BITS: usize = 128;

fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("chain.txt");
    let begun = Instant::now();
    let bytes = write_chain(given.unwrap_or(AND_GATES), &path)?;
    record("write", begun, &format!(",\"file_bytes\":{bytes}"));
    import(&path)?;
    for (name, parameters) in [
        ("aes-128", vec![]),
        ("sha-256-compress", vec![]),
        ("min-cut-250k-synthetic", vec![]),
    ] {
        let begun = Instant::now();
        let circuit = component(name, &parameters)?;
        record("build", begun, &format!(",\"circuit\":\"{name}\""));
        compile(&circuit, &format!(",\"circuit\":\"{name}\""));
    }
    Ok(())
}

/// Parses, digests and compiles the file.
fn import(path: &Path) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let circuit = read_bristol_file(path, &Import::default())?;
    record(
        "parse",
        begun,
        &format!(",\"gates\":{}", circuit.gate_count()),
    );
    let begun = Instant::now();
    let digest = circuit.digest();
    record("digest", begun, &format!(",\"digest\":\"{digest}\""));
    compile(&circuit, "");
    Ok(())
}

/// Compiles a circuit, and records the program's size after `what`.
fn compile(circuit: &Circuit, what: &str) {
    let begun = Instant::now();
    let program = Program::compile(circuit);
    record(
        "compile",
        begun,
        &format!(
            "{what},\"ands\":{},\"xors\":{},\"inputs\":{},\"slots\":{}",
            program.ands().len(),
            program.xors().len(),
            program.inputs(),
            program.slots()
        ),
    );
    let begun = Instant::now();
    let rules = [
        OrderingRule::Monotone,
        OrderingRule::SafeMon1,
        OrderingRule::SafeMon2,
    ];
    let translations = rules.map(|rule| program.translation_count(rule));
    let private = program.private_inputs();
    record(
        "count",
        begun,
        &format!("{what},\"translations\":{translations:?},\"private_inputs\":{private}"),
    );
}

fn component(name: &str, parameters: &[(&str, u64)]) -> Result<Circuit, Box<dyn Error>> {
    let parameters: BTreeMap<String, u64> = parameters
        .iter()
        .map(|&(name, value)| (name.to_owned(), value))
        .collect();
    Ok(library::find(name, &parameters)?)
}

/// Writes AES-128 under one key, each block the ciphertext of the previous one, until there are at
/// least this many AND gates. Returns the file's length. Takes the memory of one AES-128.
fn write_chain(and_gates: usize, path: &Path) -> Result<u64, Box<dyn Error>> {
    let mut text = Vec::new();
    let aes = component("aes-128", &[])?;
    write_bristol(&aes, &mut text, BristolFormat::Fashion, BitOrder::default())?;
    let text = String::from_utf8(text)?;
    let mut lines = text.lines();
    let header: Vec<usize> = lines
        .next()
        .ok_or("no header")?
        .split(' ')
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [gates, wires] = header[..] else {
        return Err("the header has two numbers".into());
    };
    let copies = and_gates.div_ceil(aes.statistics().and);
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(
        file,
        "{} {}",
        copies * gates,
        2 * BLOCK_BITS + copies * gates
    )?;
    writeln!(file, "2 {BLOCK_BITS} {BLOCK_BITS}\n1 {BLOCK_BITS}\n")?;
    let gate_lines: Vec<Vec<&str>> = lines
        .skip(2)
        .filter(|line| !line.is_empty())
        .map(|line| line.split(' ').collect())
        .collect();
    for copy in 0..copies {
        // Wires after the inputs are shifted by the gates of the earlier copies.
        let place = |wire: usize| match wire {
            key if key < BLOCK_BITS => key,
            // The outputs are the last wires of a file.
            block if block < 2 * BLOCK_BITS && copy > 0 => {
                block - 2 * BLOCK_BITS + wires + (copy - 1) * gates
            }
            block if block < 2 * BLOCK_BITS => block,
            gate => gate + copy * gates,
        };
        for line in &gate_lines {
            let (kind, numbers) = line.split_last().ok_or("an empty line")?;
            write!(file, "{} {}", numbers[0], numbers[1])?;
            for number in &numbers[2..] {
                write!(file, " {}", place(number.parse()?))?;
            }
            writeln!(file, " {kind}")?;
        }
    }
    file.flush()?;
    Ok(file.get_ref().metadata()?.len())
}

/// Prints the cost of a step, followed by `more`.
fn record(step: &str, begun: Instant, more: &str) {
    let seconds = begun.elapsed().as_secs_f64();
    let memory = peak_memory_mib().map_or("null".to_owned(), |mib| mib.to_string());
    println!("{{\"step\":\"{step}\",\"seconds\":{seconds:.3},\"peak_memory_mib\":{memory}{more}}}");
}

/// Returns the process's peak resident set, if the system reports it.
fn peak_memory_mib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib >> 10)
}
