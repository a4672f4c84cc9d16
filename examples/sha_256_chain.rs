//! SHA-256 applied again and again to 16 bytes of each party: a computation far larger than
//! memory, streamed. Both parties are threads of this process, joined by a channel in memory.
//!
//! `cargo run --release --package tacit-mpc --example sha_256_chain -- 4757` runs 100 million AND
//! gates.

use std::time::Instant;

use tacit::net::memory;
use tacit::session::Side;
use tacit::{Job, Role, Session, Type, Value, library};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(100), |text| text.parse())?;
    let begun = Instant::now();
    let function = library::function("sha-256-chain", &[("n".to_owned(), n)].into())?;
    println!(
        "{} AND gates in {} calls, at most {} bits of values at once; checked in {:?}",
        function.and_gates(),
        function.call_count(),
        function.live_bits(),
        begun.elapsed()
    );
    let (a, b) = ("01".repeat(16), "02".repeat(16));
    let bytes = |hex: &str| Value::parse(&Type::bytes(16), hex);
    let (a, b) = (bytes(&a)?, bytes(&b)?);
    let (channel_a, channel_b) = memory::pair();
    let begun = Instant::now();
    let (garbler, evaluator) = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| {
            let mut session = Session::over(channel_a, Side::Connecting, None)?;
            Job::new(&function, Role::Garbler)
                .input("a", a)
                .run(&mut session)
        });
        let mut session = Session::over(channel_b, Side::Listening, None)?;
        let job = Job::new(&function, Role::Evaluator).input("b", b);
        let evaluator = job.run(&mut session)?;
        let garbler = garbler
            .join()
            .map_err(|_| tacit::Error::ApiMisuse("a thread panicked"))?;
        Ok::<_, tacit::Error>((garbler?, evaluator))
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(
        garbler.outputs["digest"].to_text(),
        evaluator.outputs["digest"].to_text()
    );
    println!("digest {}", evaluator.outputs["digest"].to_text());
    println!(
        "{seconds:.3} s, {:.2} million AND gates a second",
        function.and_gates() as f64 / seconds / 1e6
    );
    println!("{}", evaluator.cost);
    Ok(())
}
