//! Runs of `gmw`, and lots of its crosses.

use tacit_function::Role;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::gmw::{CrossDemand, DirectionSetup, Directions, Run, prepare};

use crate::{INPUTS, Transcript, adder, check, seed, session, settings};

/// Returns both parties' halves of two directions.
fn directions(
    base: BaseOt,
    extension: Extension,
    transcript: &mut Transcript,
) -> (Directions, Directions) {
    let of = |role| {
        let roles = (role, Role::Garbler);
        DirectionSetup::new(&session(), roles, settings(base, extension))
    };
    transcript.run_scripts(
        async |io| of(Role::Garbler).run(io, &seed(1)).await,
        async |io| of(Role::Evaluator).run(io, &seed(2)).await,
    )
}

#[test]
fn gmw_by_every_extension() {
    let (function, mut runs) = (adder(), Vec::new());
    let schedule = function.schedule().expect("a schedule");
    let run = Run {
        function: &function,
        schedule: &schedule,
    };
    for base in BaseOt::ALL {
        for extension in Extension::NAMED {
            let mut transcript = Transcript::default();
            let (mut garbler, mut evaluator) = directions(base, extension, &mut transcript);
            let (ours, theirs) = transcript.run_scripts(
                async |io| run.run(io, &INPUTS[0][..], &mut garbler, &seed(3)).await,
                async |io| run.run(io, &INPUTS[1][..], &mut evaluator, &seed(4)).await,
            );
            assert_eq!(ours, theirs);
            runs.push((format!("{base} {extension}"), transcript));
        }
    }
    let mut transcript = Transcript::default();
    let (base, extension) = (BaseOt::default(), Extension::default());
    let (garbler, evaluator) = directions(base, extension, &mut transcript);
    let demand = CrossDemand {
        narrow: [1, 0],
        wide: [1, 1],
    };
    transcript.run_scripts(
        async |io| prepare(io, garbler, &demand, &seed(3), |_, _, _| Ok(())).await,
        async |io| prepare(io, evaluator, &demand, &seed(4), |_, _, _| Ok(())).await,
    );
    runs.push(("crosses".to_owned(), transcript));
    check("gmw", runs);
}
