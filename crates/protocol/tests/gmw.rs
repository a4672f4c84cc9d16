//! Runs of `gmw` that are dropped at any await leave no secret in freed memory.

use tacit_function::{Function, FunctionBuilder, Recipient, Role};
use tacit_kernels::Prg;
use tacit_kernels::leftovers::{Watching, watch};
use tacit_protocol::Error;
use tacit_protocol::gmw::{DirectionSetup, Run};
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::run_two;
use tacit_protocol::session::{Hello, SessionTag};
use tacit_protocol::setup::OtSettings;
use zeroize::Zeroizing;

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// Returns a function with ANDs of bits of both parties, some of which share an operand.
fn ands() -> Function {
    let mut builder = FunctionBuilder::new("ands");
    builder
        .library("times", "multiplier", &[("bits", 8)])
        .input("x", "u8", Role::Garbler)
        .input("y", "u8", Role::Evaluator)
        .value("z", "u8")
        .call(["z"], "times", ["x", "y"])
        .output("z", "u8", Recipient::Both, "z");
    builder.finish().expect("a function")
}

#[test]
fn a_run_of_gmw_that_is_dropped_leaves_no_secret() {
    let function = ands();
    let schedule = function.schedule().expect("a schedule");
    let run = Run {
        function: &function,
        schedule: &schedule,
    };
    let seeds = [0, 1, 2, 3].map(|number| Zeroizing::new([100 + number; 32]));
    // The first values that the garbler draws.
    let mut delta = [0; 16];
    Prg::from_seed(&seeds[0]).fill_bytes(&mut delta);
    delta[0] |= 1;
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    let session = SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b));
    let bits = [true; 8];
    for messages in 0.. {
        let both = async |io: &mut Io<'_>, role, seeds: &[Zeroizing<[u8; 32]>]| {
            let roles = (role, Role::Garbler);
            let setup = DirectionSetup::new(&session, roles, OtSettings::default());
            let mut directions = setup.run(io, &seeds[0]).await?;
            run.run(io, &bits[..], &mut directions, &seeds[1]).await
        };
        let mut sent = 0;
        let (ended, memory) = watch(|| {
            // The frames of futures are memory that is freed. The message after these is not sent.
            run_two(
                async |io| Box::pin(both(io, Role::Garbler, &seeds[..2])).await,
                async |io| Box::pin(both(io, Role::Evaluator, &seeds[2..])).await,
                &mut |_, _, _, _| {
                    sent += 1;
                    if sent <= messages {
                        Ok(())
                    } else {
                        Err(Error::Wire)
                    }
                },
            )
        });
        for seed in &seeds {
            assert_eq!(
                memory.freed(&**seed),
                0,
                "seed {}, {messages} messages",
                seed[0]
            );
        }
        assert_eq!(memory.freed(&delta), 0, "Δ, {messages} messages");
        if let (Ok(_), Ok(_)) = ended.results {
            assert!(messages > 20, "{messages}");
            break;
        }
    }
}
