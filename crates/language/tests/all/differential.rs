//! Valid random programs compute the same in the clear and as functions.

use crate::both::{Chance, compare, lower, program_of};
use crate::writer;

/// Compares random programs, each on some random inputs.
fn agree(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let text = writer::program(&mut Chance(seed.wrapping_mul(0x9e37_79b9)));
        let outcome = std::panic::catch_unwind(|| {
            let program = program_of(&text);
            let (id, lowered) = lower(&program, "main");
            let mut chance = Chance(seed);
            for _ in 0..4 {
                compare(&program, id, &lowered, &mut chance);
            }
        });
        assert!(outcome.is_ok(), "seed {seed}:\n{text}");
    }
}

#[test]
fn random_programs_compute_what_the_interpreter_says() {
    agree(0..300);
}

#[test]
#[ignore = "minutes to hours; TACIT_SEEDS=FROM..TO picks others"]
fn many_random_programs_compute_what_the_interpreter_says() {
    let seeds = std::env::var("TACIT_SEEDS").unwrap_or_else(|_| "1000..101000".to_owned());
    let (from, to) = seeds.split_once("..").expect("FROM..TO");
    let number = |text: &str| text.parse().expect("a number");
    agree(number(from)..number(to));
}
