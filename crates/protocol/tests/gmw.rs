//! Runs and preparations of `gmw` that are dropped at any await leave no secret in freed memory,
//! and a session that rests has none of its last run.

use std::num::NonZeroUsize;
use std::ops::Range;

use tacit_circuit::{Circuit, Component, Gate, Port, Type};
use tacit_function::{Function, FunctionBuilder, Part, Recipient, Role};
use tacit_kernels::Prg;
use tacit_kernels::leftovers::{Memory, Watching, watch};
use tacit_protocol::Error;
use tacit_protocol::gmw::rows::{CrossMasks, CrossOts, OpenedBits, Rows};
use tacit_protocol::gmw::{CrossDemand, DirectionSetup, Directions, Run, prepare};
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::{Ended, run_two};
use tacit_protocol::message::Kind;
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

/// Returns a function with two results: the ANDs of both parties' bits, and the garbler's bits.
fn ands_of_256_bits() -> Function {
    let port = |name: &str| Port::new(name, Type::bits(256));
    let gates = (0..256).map(|i| Gate::And(i, 256 + i));
    let results = (512..768).chain(0..256).collect();
    let (inputs, outputs) = ([port("x"), port("y")], [port("both"), port("first")]);
    let circuit = Circuit::new(inputs.into(), outputs.into(), gates, results);
    let owner = |port: &Port| match &*port.name {
        "x" => Role::Garbler,
        _ => Role::Evaluator,
    };
    let circuit = circuit.expect("a circuit");
    let function = Function::of_circuit("ands", circuit, owner, |_| Recipient::Both);
    function.expect("a function")
}

/// Returns the seeds of both parties: those of the OTs, and those of what comes after.
fn seeds() -> [Zeroizing<[u8; 32]>; 4] {
    [0, 1, 2, 3].map(|number| Zeroizing::new([100 + number; 32]))
}

/// Returns a party's directions, made from this seed.
async fn directions(
    io: &mut Io<'_>,
    role: Role,
    seed: &Zeroizing<[u8; 32]>,
) -> Result<Directions, Error> {
    let [a, b] = [1, 2].map(|byte| Hello::of([byte; 32]));
    let session = SessionTag::new(&[3; 32], (&[4; 32], &a), (&[5; 32], &b));
    let setup = DirectionSetup::new(&session, (role, Role::Garbler), OtSettings::default());
    setup.run(io, seed).await
}

/// Ends `both`, which gets a party's role and seeds, at each message in turn, until it comes to its
/// end. Neither its seeds nor its Δ may then be in freed memory.
fn assert_no_secret_is_left<T>(
    both: impl AsyncFn(&mut Io<'_>, Role, &[Zeroizing<[u8; 32]>]) -> Result<T, Error>,
) {
    let seeds = seeds();
    // The first values that the garbler draws.
    let mut delta = [0; 16];
    Prg::from_seed(&seeds[0]).fill_bytes(&mut delta);
    delta[0] |= 1;
    for messages in 0.. {
        let mut sent = 0;
        let (ended, memory): (Ended<T, T>, Memory) = watch(|| {
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
            assert!(messages > 15, "{messages}");
            break;
        }
    }
}

#[test]
fn a_run_of_gmw_that_is_dropped_leaves_no_secret() {
    let function = ands();
    let schedule = function.schedule().expect("a schedule");
    let run = Run {
        function: &function,
        schedule: &schedule,
    };
    let bits = [true; 8];
    assert_no_secret_is_left(async |io, role, seeds| {
        let mut directions = directions(io, role, &seeds[0]).await?;
        run.run(io, &bits[..], &mut directions, &seeds[1]).await
    });
}

/// The seed of a preparation gives all choices of its lot.
#[test]
fn a_preparation_of_crosses_that_is_dropped_leaves_no_secret() {
    let demand = CrossDemand {
        narrow: [1, 1],
        wide: [1, 1],
    };
    assert_no_secret_is_left(async |io, role, seeds| {
        let directions = directions(io, role, &seeds[0]).await?;
        prepare(io, directions, &demand, &seeds[1], |_, _, _| Ok(())).await
    });
}

/// With the masks and the recorded messages of the last run, an attacker that reads memory would
/// get the peer's shares. Of bits that are 0 the messages are the masks.
#[test]
fn a_session_that_rests_has_no_mask_of_its_last_run() {
    let function = ands_of_256_bits();
    let schedule = function.schedule().expect("a schedule");
    let run = Run {
        function: &function,
        schedule: &schedule,
    };
    let (seeds, bits) = (seeds(), [false; 256]);
    let both = async |io: &mut Io<'_>, role, seeds: &[Zeroizing<[u8; 32]>]| {
        let mut directions = directions(io, role, &seeds[0]).await?;
        run.run(io, &bits[..], &mut directions, &seeds[1]).await?;
        Ok(directions)
    };
    let mut masks = Vec::new();
    let (ended, memory) = watch(|| {
        run_two(
            async |io| both(io, Role::Garbler, &seeds[..2]).await,
            async |io| both(io, Role::Evaluator, &seeds[2..]).await,
            &mut |_, _, kind, (_, payload)| {
                if kind == Kind::Layer {
                    // Inverted, so that this is not what is found.
                    let words = payload.rchunks_exact(32).next().expect("256 bits");
                    masks.push(words.iter().map(|byte| !byte).collect::<Vec<u8>>());
                }
                Ok(())
            },
        )
    });
    let at_rest = ended.both().expect("honest");
    assert_eq!(masks.len(), 2, "one step");
    for mask in masks {
        let mask: Vec<u8> = mask.iter().map(|byte| !byte).collect();
        assert_eq!(memory.anywhere(&mask) - memory.freed(&mask), 0);
    }
    drop(at_rest);
}

/// Shares whose bytes occur nowhere else.
const KEY: [u8; 32] = [101; 32];

/// Masks that are not zero.
struct Masks;

impl CrossMasks for Masks {
    type Room = ();

    fn rows(&self, _: &CrossOts, _: Range<usize>, (): &mut (), into: [&mut [u64]; 2]) {
        let [first, second] = into;
        first.fill(0x0123_4567_89ab_cdef);
        second.fill(0xfedc_ba98_7654_3211);
    }
}

#[test]
fn rows_of_shares_that_are_dropped_leave_none() {
    let schedule = ands_of_256_bits().schedule().expect("a schedule");
    let bits: Vec<bool> = (0..256).map(|i| KEY[i / 8] >> (i % 8) & 1 == 1).collect();
    let apart: Vec<u8> = bits.iter().map(|bit| u8::from(*bit)).collect();
    for role in Role::BOTH {
        let (_, memory) = watch(|| {
            let mut mine = bits.iter().copied();
            let share = |_| mine.next().expect("a bit");
            let mut rows = Rows::new(&schedule, role, NonZeroUsize::MIN, share);
            rows.open(&Masks, &mut OpenedBits::default());
            let bits = rows.step().expect("one step").bits[role.other() as usize];
            rows.absorb(&Masks, &vec![0; bits.div_ceil(64) as usize]);
            drop(rows.results([0, 1]));
        });
        assert_eq!(memory.freed(&KEY), 0, "{role:?}, as a row");
        assert_eq!(memory.freed(&apart), 0, "{role:?}, bit by bit");
    }
}

/// Calls of a group are rows that several threads work on, in blocks of whole rows if there are
/// many.
#[test]
fn rows_of_many_calls_on_threads_that_are_dropped_leave_no_share() {
    let port = |name: &str| Port::new(name, Type::bits(8));
    // ANDs, and both operands inverted.
    let ands = (0..8).map(|i| Gate::And(i, 8 + i));
    let gates = ands.chain((0..16).map(Gate::Inv));
    let inputs = vec![port("x"), port("y")];
    let outputs = vec![port("z"), port("p"), port("q")];
    let circuit = Circuit::new(inputs, outputs, gates, (16..40).collect());
    let component = Component::new("ands", circuit.expect("a circuit"));
    for calls in [100, 20_000] {
        let array = format!("u8[{calls}]");
        let mut builder = FunctionBuilder::new("ands");
        builder
            .component("ands", component.clone())
            .input("x", &array, Role::Garbler)
            .input("y", &array, Role::Evaluator);
        for (from, into) in [(["x", "y"], ["z", "p", "q"]), (["p", "q"], ["u", "v", "w"])] {
            for value in into {
                builder.value(value, &array);
            }
            builder.repeat("i", 0, calls, |each, i| {
                let at = |name: &str| Part::of(name).at(i.clone());
                each.call(into.map(at), "ands", from.map(at));
            });
        }
        for (number, value) in ["z", "u", "v", "w"].into_iter().enumerate() {
            builder.output(&format!("o{number}"), &array, Recipient::Both, value);
        }
        let function = builder.finish().expect("a function");
        let schedule = function.schedule().expect("a schedule");
        // A row of one bit of all calls has bytes of this value, and those of an input have it,
        // too.
        let bits: Vec<bool> = (0..8 * calls as usize)
            .map(|i| KEY[0] >> (i / 8 % 8) & 1 == 1)
            .collect();
        let apart: Vec<u8> = bits[..256].iter().map(|bit| u8::from(*bit)).collect();
        for (role, threads) in [(Role::Garbler, 1), (Role::Garbler, 8), (Role::Evaluator, 8)] {
            let (_, memory) = watch(|| {
                let mut mine = bits.iter().copied();
                let share = |_| mine.next().expect("a bit");
                let threads = NonZeroUsize::new(threads).expect("not zero");
                let mut rows = Rows::new(&schedule, role, threads, share);
                while let Some(step) = rows.step() {
                    let bits = step.bits[role.other() as usize];
                    rows.open(&Masks, &mut OpenedBits::default());
                    rows.absorb(&Masks, &vec![0; bits.div_ceil(64) as usize]);
                }
                drop(rows.results(0..4));
            });
            // The rows of 100 bits follow each other without a gap.
            let found = memory.freed(&KEY[..8]) + memory.freed(&[!KEY[0]; 8]);
            assert_eq!(
                found, 0,
                "{calls} calls, {role:?}, {threads} threads, as rows"
            );
            assert_eq!(
                memory.freed(&apart),
                0,
                "{calls} calls, {role:?}, bit by bit"
            );
        }
    }
}
