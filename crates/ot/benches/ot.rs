//! Time and bytes of correlated OTs by every extension and in every form; one JSON record a line.
//!
//! `cargo bench -p tacit-ot --bench ot`; after `--`, `quick` for few OTs, and any words that a
//! run's line must contain, such as `softspoken-2` or `Malicious`. Base OTs are measured by
//! `--bench base`.

mod measure;

use measure::{Form, Record, Run};
use tacit_ot::source::Extension;
use tacit_ot::{FieldBits, Security};

fn main() {
    let arguments = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let (quick, words): (Vec<String>, Vec<String>) = arguments.partition(|word| word == "quick");
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name\t: "));
    let cpu = cpu.unwrap_or("unknown").replace(['"', '\\'], "");
    let (log_made, log_used, runs) = if quick.is_empty() {
        (23, 20, 5)
    } else {
        (16, 14, 2)
    };
    println!(
        "{{\"machine\":\"{cpu}\",\"threads_a_party\":1,\"channel\":\"memory\",\
         \"runs\":\"fastest of {runs}\"}}"
    );
    let soft_spoken = [1, 2, 4, 8].map(|k| FieldBits::new(k).expect("k is possible"));
    let soft_spoken = soft_spoken.map(Extension::SoftSpoken);
    for form in Form::ALL {
        let log_count = if form == Form::Correlated {
            log_made
        } else {
            log_used
        };
        for extension in soft_spoken.into_iter().chain([Extension::Silent]) {
            for security in [Security::SemiHonest, Security::Malicious] {
                let run = Run {
                    extension,
                    security,
                    form,
                    count: 1 << log_count,
                };
                let name = format!("{run:?} {extension}");
                if words.iter().all(|word| name.contains(word.as_str())) {
                    println!("{}", run.json(&fastest(&run, runs)));
                }
            }
        }
    }
}

/// The fastest of several runs.
fn fastest(run: &Run, runs: usize) -> Record {
    let mut best = run.measure();
    for _ in 1..runs {
        let record = run.measure();
        if record.making + record.using < best.making + best.using {
            best = record;
        }
    }
    best
}
