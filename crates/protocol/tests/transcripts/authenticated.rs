//! Runs of `authenticated`: from nothing, from a stock, in a chain.

use std::collections::VecDeque;
use std::sync::Mutex;

use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_kernels::Construction;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::Error;
use tacit_protocol::authenticated::{
    BLOCK_BYTES, Epoch, EpochBase, EpochSetup, EpochTags, InstanceOrder, LinkedRun, Proven,
    SecurityBits, SharedChain, StockedTriples, Terms, TripleBlocks, TripleOrder, blocks_for,
};
use tacit_protocol::prepared::{Demand, QueuedInstances};
use tacit_protocol::saved::{SharedHalf, StoredChain as _};
use tacit_protocol::session::{ProtocolId, RunTag};
use zeroize::Zeroizing;

use crate::{INPUTS, Transcript, adder, check, keeping, prg, run_tag, seed, session, settings};

const BITS: u8 = 9;

fn security() -> SecurityBits {
    SecurityBits::insecure_for_measurements(BITS).expect("in bounds")
}

fn tag(function: &Function) -> RunTag {
    run_tag(
        ProtocolId::Authenticated,
        SchemeId::HALF_GATES_TWO_CALL,
        function,
    )
}

fn terms(function: &Function, construction: Construction) -> Terms<'_> {
    Terms {
        function,
        tag: tag(function),
        security: security(),
        construction,
    }
}

/// Runs both parties' setups of an epoch.
fn setups(extension: Extension, tags: EpochTags, transcript: &mut Transcript) -> [EpochBase; 2] {
    let (settings, mut prg) = (settings(BaseOt::default(), extension), prg(5));
    let [a, b] =
        Role::BOTH.map(|role| EpochSetup::new(role, settings, tags, &mut prg).expect("a setup"));
    let bases = transcript.run_scripts(async |io| a.run(io).await, async |io| b.run(io).await);
    bases.into()
}

/// Returns a new epoch.
fn epochs(extension: Extension, transcript: &mut Transcript) -> [Epoch; 2] {
    let tag =
        |sender| session().authenticated_setup(Role::Garbler, sender, BaseOt::default(), extension);
    let tags = EpochTags {
        garbler: tag(Role::Garbler),
        evaluator: tag(Role::Evaluator),
    };
    setups(extension, tags, transcript).map(|base| base.epoch().expect("base OTs"))
}

/// Runs twice from nothing.
fn from_nothing(construction: Construction, extension: Extension) -> Transcript {
    let (function, mut transcript) = (adder(), Transcript::default());
    let [mut a, mut b] = epochs(extension, &mut transcript);
    for number in [1, 2] {
        let terms = terms(&function, construction);
        let (first, second) = (seed(number), seed(7));
        let (garbler, evaluator) = transcript.run_scripts(
            async |io| terms.run(io, &INPUTS[0], a, &first).await,
            async |io| terms.run(io, &INPUTS[1], b, &second).await,
        );
        assert_eq!(garbler.0, evaluator.0);
        (a, b) = (garbler.1, evaluator.1);
    }
    transcript
}

/// Makes instances of an adder, and runs from them.
fn from_instances(construction: Construction) -> Transcript {
    let (function, mut transcript) = (adder(), Transcript::default());
    let [a, b] = epochs(Extension::default(), &mut transcript);
    let id = *a.id();
    let demand = Demand::of(&function).expect("in bounds");
    let order = function.components().iter().zip(demand.instances);
    let order: Vec<_> = order.collect();
    let order = InstanceOrder {
        components: &order,
        security: security(),
        construction,
        ordered_at: security(),
    };
    let mut queues =
        [0, 1].map(|_| QueuedInstances(vec![VecDeque::new(); function.components().len()]));
    let [ours, theirs] = &mut queues;
    let keep = |queue: &mut QueuedInstances<_>, place: usize, bytes: &[u8]| {
        queue.0[place].push_back(Zeroizing::new(bytes.to_vec()));
        Ok(())
    };
    let ours = |place, bytes: &[u8]| keep(ours, place, bytes);
    let theirs = |place, bytes: &[u8]| keep(theirs, place, bytes);
    transcript.run_scripts(
        async |io| order.make(io, a, ours, &seed(1)).await,
        async |io| order.make(io, b, theirs, &seed(2)).await,
    );
    let [ours, theirs] = queues;
    let run = LinkedRun {
        terms: terms(&function, construction),
        id,
        ordered_at: security(),
    };
    let (ours, theirs) = transcript.run_scripts(
        async |io| run.garble(io, &INPUTS[0], ours).await,
        async |io| run.evaluate(io, &INPUTS[1], theirs).await,
    );
    assert_eq!(ours, theirs);
    transcript
}

/// Leased blocks of triples, in order.
struct Leased(VecDeque<(u64, Vec<u8>)>);

impl TripleBlocks for Leased {
    fn next(&mut self, block: &mut [u8; BLOCK_BYTES]) -> Result<u64, Error> {
        let none = || Error::Material("no block is left".to_owned());
        let (number, bytes) = self.0.pop_front().ok_or_else(none)?;
        block.copy_from_slice(&bytes);
        Ok(number)
    }
}

/// Makes a lot of triples, and runs from them.
fn from_triples() -> Transcript {
    let (function, mut transcript) = (adder(), Transcript::default());
    let [a, b] = epochs(Extension::default(), &mut transcript);
    let (id, blocks) = (*a.id(), blocks_for(&function));
    let mut lots = [VecDeque::new(), VecDeque::new()];
    let [ours, theirs] = lots.each_mut().map(Mutex::new);
    let keep = |lot: &Mutex<&mut VecDeque<_>>, bytes: &[u8]| {
        let mut lot = lot.lock().expect("no thread has failed");
        for block in bytes.as_chunks::<BLOCK_BYTES>().0 {
            let number = lot.len() as u64;
            lot.push_back((number, block.to_vec()));
        }
        Ok(())
    };
    let ours = |_, bytes: &[u8]| keep(&ours, bytes);
    let theirs = |_, bytes: &[u8]| keep(&theirs, bytes);
    let security = security();
    let order = TripleOrder { blocks, security };
    transcript.run_scripts(
        async |io| order.make(io, a, ours, &seed(1)).await,
        async |io| order.make(io, b, theirs, &seed(2)).await,
    );
    let terms = terms(&function, Construction::TwoCall);
    let [ours, theirs] =
        lots.map(|lot| StockedTriples::new(id, Box::new(Leased(lot))).expect("blocks of the lot"));
    let [garbler, evaluator] = Role::BOTH;
    let (garbler, evaluator) = transcript.run_scripts(
        async |io| {
            let seed = seed(3);
            terms
                .run_from_stock(io, garbler, &INPUTS[0], ours, &seed)
                .await
        },
        async |io| {
            let seed = seed(4);
            terms
                .run_from_stock(io, evaluator, &INPUTS[1], theirs, &seed)
                .await
        },
    );
    assert_eq!(garbler, evaluator);
    transcript
}

/// Runs a chain twice.
fn chain() -> Transcript {
    let mut transcript = Transcript::default();
    let functions = [keeping(false), keeping(true)];
    let run = tag(&functions[0]);
    let setups = setups(
        Extension::default(),
        EpochTags::of_chain(&run),
        &mut transcript,
    );
    let mut chains = setups.map(|setup| SharedChain::new(&run, setup));
    let mut kept: [Vec<SharedHalf>; 2] = Default::default();
    for (function, number) in functions.iter().zip([1, 5]) {
        let terms = terms(function, Construction::TwoCall);
        let settings = settings(BaseOt::default(), Extension::default());
        let [a, b] = chains
            .each_mut()
            .map(|chain| chain.epoch(&terms.tag, settings).expect("an attempt"));
        let (first, second) = (seed(number), seed(number + 1));
        let (garbler, evaluator) = transcript.run_scripts(
            async |io| terms.prove(io, (&INPUTS[0], &kept[0]), a, &first).await,
            async |io| terms.prove(io, (&INPUTS[1], &kept[1]), b, &second).await,
        );
        let saves = [&garbler, &evaluator].map(Proven::saves);
        kept = saves.map(|saves| saves.expect("a run of a chain"));
        transcript.run_scripts(
            async |io| garbler.open(io).await,
            async |io| evaluator.open(io).await,
        );
        for chain in &mut chains {
            let next = chain.place().1 + 1;
            chain.forward_to(next).expect("a later attempt");
        }
    }
    transcript
}

#[test]
fn authenticated_from_nothing_from_stock_and_in_a_chain() {
    use Construction::{Rekeyed, TwoCall};
    let mut runs = Vec::new();
    for extension in Extension::NAMED {
        let transcript = from_nothing(TwoCall, extension);
        runs.push((format!("two-call {extension}"), transcript));
    }
    let transcript = from_nothing(Rekeyed, Extension::default());
    runs.push(("re-keyed".to_owned(), transcript));
    for (name, construction) in [("two-call", TwoCall), ("re-keyed", Rekeyed)] {
        runs.push((format!("instances {name}"), from_instances(construction)));
    }
    runs.push(("triples".to_owned(), from_triples()));
    runs.push(("chain".to_owned(), chain()));
    check("authenticated", runs);
}
