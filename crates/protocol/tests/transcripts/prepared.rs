//! Lots and runs of `prepared`.

use std::borrow::Cow;

use tacit_function::Function;
use tacit_garble::{SCHEMES, Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_kernels::Block;
use tacit_protocol::prepared::{
    self, Demand, EvaluatorOts, GarblerInstance, GarblerOts, InstanceSeed, InstanceTables, Past,
    QueuedInstances, receive_lot, send_lot,
};
use tacit_protocol::saved::{ChainId, EvaluatorHalf, GarblerHalf};
use tacit_protocol::session::ProtocolId;

use crate::{INPUTS, Transcript, adder, check, keeping, prg, run_tag, seed};

const CHAIN: ChainId = ChainId([9; 16]);

type Kept = (Vec<GarblerHalf>, Vec<EvaluatorHalf>);

/// Runs `function` with the kept values of both parties, from lots that are part of the transcript.
/// Returns the values that the run saves, if any.
fn run<S: Scheme>(
    scheme: S,
    function: &Function,
    kept: &Kept,
    transcript: &mut Transcript,
) -> Kept {
    let mut prg = prg(2);
    let delta = prg.next_block().with_lsb(1.into());
    let demand = Demand::of(function).expect("in bounds");
    let mut mine: QueuedInstances<GarblerInstance<S::Wire>> = QueuedInstances(Vec::new());
    let mut theirs = QueuedInstances(Vec::new());
    for (component, count) in function.components().iter().zip(&demand.instances) {
        let program = component.program();
        let seeds: Vec<_> = (0..*count)
            .map(|_| InstanceSeed::random(&mut prg))
            .collect();
        let mut lot = Vec::new();
        let keep = |bytes: Cow<'_, [u8]>, _: &mut Vec<u8>| {
            lot.extend_from_slice(&bytes);
            Ok(())
        };
        transcript.run_scripts(
            async |io| send_lot(io, (scheme, program), &delta, &seeds, 1),
            async |io| receive_lot(io, (scheme, program), *count, keep).await,
        );
        let wires = seeds.iter().map(|seed| seed.wires(scheme, program, delta));
        mine.0.push(wires.collect());
        let size = InstanceTables::size(scheme, program) as usize;
        let tables = lot.chunks(size).map(<[u8]>::to_vec);
        let tables = tables.filter_map(|bytes| InstanceTables::from_bytes(scheme, program, bytes));
        theirs.0.push(tables.collect());
    }
    let numbers: Vec<u64> = (0..demand.ots).collect();
    let q: Vec<Block> = numbers.iter().map(|_| prg.next_block()).collect();
    let choices: Vec<bool> = numbers.iter().map(|number| number % 2 == 1).collect();
    let labels = q.iter().zip(&choices);
    let labels = labels.map(|(q, choice)| *q ^ delta.and_bit(u8::from(*choice).into()));
    let ots = EvaluatorOts {
        numbers: numbers.clone(),
        choices: choices.clone(),
        labels: labels.collect(),
    };
    let chain = (!kept.0.is_empty()).then_some(CHAIN);
    let (a, b) = (&kept.0[..], &kept.1[..]);
    let run = prepared::Run {
        scheme,
        function,
        tag: run_tag(ProtocolId::Prepared, scheme.id(), function),
    };
    let (offers, seed) = (GarblerOts { numbers, q }, seed(7));
    let ((mine, ours), (theirs, yours)) = transcript.run_scripts(
        async |io| {
            let given = (&INPUTS[0][..], Past { chain, loads: a });
            let linked = run
                .garble(io, given, (&delta, &offers), mine, &seed)
                .await?;
            let (saves, opening) = linked.save(CHAIN);
            Ok((saves, opening.open(io).await?))
        },
        async |io| {
            let early = run.gather(io).await?;
            let given = (&INPUTS[1][..], Past { chain, loads: b });
            let linked = run.evaluate(io, given, early, &ots, theirs).await?;
            let (saves, opening) = linked.save(CHAIN);
            Ok((saves, opening.open(io).await?))
        },
    );
    assert_eq!(ours, yours);
    (mine, theirs)
}

struct Run;

impl SchemeVisitor for Run {
    type Output = Transcript;

    fn visit<S: Scheme>(self, scheme: S) -> Transcript {
        let mut transcript = Transcript::default();
        run(scheme, &adder(), &Kept::default(), &mut transcript);
        transcript
    }
}

/// Two runs of a chain.
struct Chain;

impl SchemeVisitor for Chain {
    type Output = Transcript;

    fn visit<S: Scheme>(self, scheme: S) -> Transcript {
        let mut transcript = Transcript::default();
        let kept = run(scheme, &keeping(false), &Kept::default(), &mut transcript);
        run(scheme, &keeping(true), &kept, &mut transcript);
        transcript
    }
}

#[test]
fn prepared_under_every_scheme() {
    let mut runs = Vec::new();
    for scheme in &SCHEMES {
        let transcript = with_scheme(scheme.id, Run).expect("known");
        runs.push((scheme.name.to_owned(), transcript));
    }
    for (id, name) in [
        (SchemeId::HALF_GATES_TWO_CALL, "half-gates-two-call"),
        (SchemeId::HALF_GATES_REKEYED, "half-gates-re-keyed"),
        (SchemeId::THREE_HALVES, "three-halves"),
    ] {
        let transcript = with_scheme(id, Chain).expect("known");
        runs.push((format!("chain {name}"), transcript));
    }
    check("prepared", runs);
}
