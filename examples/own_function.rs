//! A function of one's own: do two departments together stay within a budget of 1000, and by how
//! much do they miss it? `cargo run --release --package tacit-mpc --example own_function`.
//!
//! Both parties run here as threads, over a channel in memory. With the name of a file the circuit
//! is also written as Bristol Fashion, which `tacit run FILE --bit-order as-given` takes:
//! `cargo run --release --package tacit-mpc --example own_function budget.txt`.

use std::error::Error;
use std::fs::File;
use std::thread;

use tacit::circuit::CircuitError;
use tacit::circuit::builder::{Builder, UInt};
use tacit::circuit::formats::{BitOrder, BristolFormat, write_bristol};
use tacit::net::memory;
use tacit::session::Side;
use tacit::{Circuit, Function, Job, Recipient, Role, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let circuit = budget()?;
    if let Some(path) = std::env::args().nth(1) {
        let file = File::create(path)?;
        write_bristol(&circuit, file, BristolFormat::Fashion, BitOrder::AsGiven)?;
    }
    // Each party's input is its own; the garbler alone learns by how much they miss the budget.
    let function = Function::of_circuit(
        "budget",
        circuit,
        |port| {
            if port.name == "sales" {
                Role::Garbler
            } else {
                Role::Evaluator
            }
        },
        |port| {
            if port.name == "excess" {
                Recipient::Garbler
            } else {
                Recipient::Both
            }
        },
    )?;
    let (here, there) = memory::pair();
    thread::scope(|scope| {
        let sales = scope.spawn(|| {
            let mut session = Session::over(here, Side::Connecting, None)?;
            Job::new(&function, Role::Garbler)
                .input("sales", 700_u32)
                .run(&mut session)
        });
        let mut session = Session::over(there, Side::Listening, None)?;
        let research = Job::new(&function, Role::Evaluator)
            .input("research", 450_u32)
            .run(&mut session)?;
        let sales = sales.join().expect("the garbler does not panic")?;
        for (who, outcome) in [("sales", sales), ("research", research)] {
            for (name, value) in &outcome.outputs {
                println!("{who} hears: {name} = {}", value.to_text());
            }
        }
        Ok(())
    })
}

/// Whether the sum is within the budget, and what is above it.
fn budget() -> Result<Circuit, CircuitError> {
    let builder = Builder::new();
    let (sales, research) = (builder.uint("sales", 32), builder.uint("research", 32));
    let limit = UInt::constant(&builder, 33, 1000);
    let sum = sales.add_widening(&research);
    let within = sum.at_most(&limit);
    let excess = within.select(&UInt::constant(&builder, 33, 0), &(&sum - &limit));
    builder.output("within_budget", &within);
    builder.output("excess", &excess);
    builder.finish()
}
