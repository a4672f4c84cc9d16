//! Two parties that compute on shares or match tables in memory, one of which lies from some
//! message on.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use tacit_circuit::{Circuit, Component, Digest, Gate, Port, Type};
use tacit_function::{Function, FunctionBuilder, Part, Recipient, Role, Schedule};
use tacit_kernels::Block;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::Error;
use tacit_protocol::gmw::{CrossDemand, DirectionSetup, Directions, Run, StockedCrosses, prepare};
use tacit_protocol::io::Io;
use tacit_protocol::io::memory::run_both;
use tacit_protocol::matching::{
    Join, KeyEncoding, Keys, Plain, PlainSizes, Sizes, Widths, exchange_sizes,
};
use tacit_protocol::session::ProtocolId;
use tacit_protocol::setup::OtSettings;
use zeroize::Zeroizing;

use super::duels::{play_two, run_tag, session, settings};
use super::edits::Edits;

/// Returns a seed for each party.
fn seeds() -> [Zeroizing<[u8; 32]>; 2] {
    [7, 8].map(|byte| Zeroizing::new([byte; 32]))
}

/// Returns a component with ANDs of one bit of each party, of that by five bits of one, and of two
/// bits of both.
fn picking() -> Component {
    let port = |name: &str| Port::new(name, Type::bits(6));
    let mut gates = vec![Gate::And(0, 6)];
    gates.extend((1..6).map(|i| Gate::And(12, i)));
    gates.extend((0..5).map(|i| Gate::Xor(13 + i, 7 + i)));
    gates.push(Gate::And(18, 19));
    let circuit = Circuit::new(
        vec![port("x"), port("y")],
        vec![port("z")],
        gates,
        (18..24).collect(),
    );
    Component::new("picking", circuit.expect("a circuit"))
}

/// Returns a function with three calls of [`picking`] and its schedule; both parties get all
/// results.
fn picks() -> &'static (Function, Schedule) {
    static MADE: OnceLock<(Function, Schedule)> = OnceLock::new();
    MADE.get_or_init(|| {
        let mut builder = FunctionBuilder::new("picks");
        builder
            .component("pick", picking())
            .input("x", "bits[6][3]", Role::Garbler)
            .input("y", "bits[6][3]", Role::Evaluator)
            .value("z", "bits[6][3]")
            .repeat("i", 0, 3, |each, i| {
                let at = |name: &str| Part::of(name).at(i);
                each.call([at("z")], "pick", [at("x"), at("y")]);
            })
            .output("z", "bits[6][3]", Recipient::Both, "z");
        let function = builder.finish().expect("a function");
        let schedule = function.schedule().expect("a schedule");
        (function, schedule)
    })
}

/// Returns the input bits of a party.
fn inputs(role: Role) -> Vec<bool> {
    (0..18)
        .map(|i| (i * i + role as usize).is_multiple_of(3))
        .collect()
}

fn setup(role: Role, settings: OtSettings) -> DirectionSetup {
    DirectionSetup::new(&session(), (role, Role::Garbler), settings)
}

/// Returns honest directions of both parties.
fn directions(settings: OtSettings) -> (Directions, Directions) {
    let [mine, yours] = seeds();
    let made = run_both(
        async |io| setup(Role::Garbler, settings).run(io, &mine).await,
        async |io| setup(Role::Evaluator, settings).run(io, &yours).await,
    );
    made.expect("both are honest")
}

/// Returns a party's masks of a run, from blocks that it makes with the other party.
async fn stocked(
    io: &mut Io<'_>,
    directions: Directions,
    seed: &Zeroizing<[u8; 32]>,
) -> Result<StockedCrosses<'static>, Error> {
    let (role, schedule) = (directions.role(), &picks().1);
    let mut blocks = Vec::new();
    let keep = |kind, sender, block| {
        blocks.push((kind, sender, block));
        Ok(())
    };
    prepare(io, directions, &CrossDemand::of(schedule), seed, keep).await?;
    Ok(StockedCrosses::new(
        schedule,
        role,
        move |kind, sender, count| {
            let next = |_| {
                let mut all = blocks.iter();
                let place = all.position(|block| (block.0, block.1) == (kind, sender));
                let place = place.ok_or(Error::ApiMisuse("a block that was asked for"))?;
                Ok(blocks.swap_remove(place).2)
            };
            (0..count).map(next).collect()
        },
    ))
}

/// Fuzzes a run of `gmw` with honest base OTs; the base OTs of both directions; or crosses for the
/// stock and a run with them.
pub fn gmw(data: &[u8]) {
    let mut edits = Edits::new(data);
    let (function, schedule) = picks();
    let run = Run { function, schedule };
    let kinds: Vec<Extension> = Extension::NAMED
        .into_iter()
        .filter(|name| *name != Extension::Silent)
        .collect();
    let choice = edits.choice(2);
    let settings = settings(BaseOt::MlKem768, kinds[choice / 4 % kinds.len()]);
    let [mine, yours] = seeds();
    let [x, y] = Role::BOTH.map(inputs);
    let is_honest = edits.is_empty();
    let ended = match choice % 4 {
        0 => {
            let made = play_two(
                async |io| setup(Role::Garbler, settings).run(io, &mine).await,
                async |io| setup(Role::Evaluator, settings).run(io, &yours).await,
                &mut edits,
            );
            assert!(!is_honest || (made.0.is_ok() && made.1.is_ok()));
            return;
        }
        1 => {
            let (garbler, evaluator) = directions(settings);
            play_two(
                async |io| {
                    let masks = stocked(io, garbler, &mine).await?;
                    run.run_stocked(io, &x, masks, NonZeroUsize::MIN).await
                },
                async |io| {
                    let masks = stocked(io, evaluator, &yours).await?;
                    run.run_stocked(io, &y, masks, NonZeroUsize::MIN).await
                },
                &mut edits,
            )
        }
        _ => {
            let (mut garbler, mut evaluator) = directions(settings);
            play_two(
                async |io| run.run(io, &x, &mut garbler, &mine).await,
                async |io| run.run(io, &y, &mut evaluator, &yours).await,
                &mut edits,
            )
        }
    };
    let (garbler, evaluator) = (ended.0.ok(), ended.1.ok());
    for results in [&garbler, &evaluator].into_iter().flatten() {
        assert_eq!(results.len(), 18);
    }
    if is_honest {
        let expected = function.evaluate(&[x, y].concat());
        assert_eq!(garbler.as_deref(), Some(&expected));
        assert_eq!(evaluator.as_deref(), Some(&expected));
    }
}

/// Returns keys of a party: these numbers.
fn keys(numbers: core::ops::Range<u64>) -> Keys {
    let encoding = |number: u64| KeyEncoding::default().text(&number.to_le_bytes());
    Keys::new(numbers.map(encoding)).expect("different keys")
}

/// The most keys of a peer that a party takes here: the time grows with their number.
const MOST_KEYS: u64 = 64;

/// Returns the numbers of keys of the placer and the programmer, from a party's own number and the
/// other's message.
async fn told(io: &mut Io<'_>, own: u64, is_placer: bool) -> Result<[u64; 2], Error> {
    let theirs = exchange_sizes(io, Digest([9; 32]), own, None).await?;
    if theirs > MOST_KEYS {
        return Err(Error::MatchingFailed);
    }
    Ok(if is_placer {
        [own, theirs]
    } else {
        [theirs, own]
    })
}

const WIDTHS: Widths = Widths {
    placer_bits: 8,
    programmer_bits: 70,
};

/// Fuzzes a plain intersection, with the result to both or to the placer, and a join up to its
/// bins; both after the exchange of sizes.
pub fn matching(data: &[u8]) {
    let mut edits = Edits::new(data);
    let choice = edits.choice(2);
    let (tag, settings) = (
        run_tag(ProtocolId::Match, 0),
        settings(BaseOt::MlKem768, Extension::default()),
    );
    let ([mine, yours], [placer, programmer]) = (seeds(), [keys(0..9), keys(4..20)]);
    let counts = [&placer, &programmer].map(|keys| keys.len() as u64);
    let is_honest = edits.is_empty();
    if choice % 3 == 2 {
        // Two rows of 70 bits and their number take two blocks.
        let payloads = vec![Block::ONES & Block::from_u128(0x77); 2 * programmer.len()];
        let join = |[placer, programmer]: [u64; 2]| -> Result<Join, Error> {
            let sizes = Sizes::of(placer, programmer, 2, WIDTHS);
            let sizes = sizes.map_err(|_| Error::MatchingFailed)?;
            Ok(Join::new(sizes, tag, settings))
        };
        let (placed, programmed) = play_two(
            async |io| {
                let join = join(told(io, counts[0], true).await?)?;
                join.place(io, &placer, &mine).await
            },
            async |io| {
                let join = join(told(io, counts[1], false).await?)?;
                join.program(io, (&programmer, &payloads), &yours).await
            },
            &mut edits,
        );
        if let Ok(placed) = &placed {
            assert_eq!(placed.rows.len(), placed.values.values().len());
            assert_eq!(placed.rows.iter().flatten().count(), placer.len());
        }
        assert!(!is_honest || (placed.is_ok() && programmed.is_ok()));
        return;
    }
    let to_both = choice.is_multiple_of(3);
    let plain = |[placer, programmer]: [u64; 2]| -> Result<Plain, Error> {
        let sizes = PlainSizes::of(placer, programmer);
        let sizes = sizes.map_err(|_| Error::MatchingFailed)?;
        Ok(Plain::new(sizes, tag, settings, to_both))
    };
    let (placers, programmers) = play_two(
        async |io| {
            let plain = plain(told(io, counts[0], true).await?)?;
            plain.place(io, &placer, &mine).await
        },
        async |io| {
            let plain = plain(told(io, counts[1], false).await?)?;
            plain.program(io, &programmer, &yours).await
        },
        &mut edits,
    );
    if let Ok(found) = &placers {
        assert_eq!(found.len(), placer.len());
    }
    if let Ok(found) = &programmers {
        assert_eq!(
            found.as_ref().map(Vec::len),
            to_both.then(|| programmer.len())
        );
    }
    if is_honest {
        let common: Vec<bool> = (0..9).map(|number| number >= 4).collect();
        assert_eq!(placers.ok(), Some(common));
        let common = to_both.then(|| (4..20).map(|number| number < 9).collect());
        assert_eq!(programmers.ok(), Some(common));
    }
}
