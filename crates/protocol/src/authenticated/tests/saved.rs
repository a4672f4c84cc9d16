//! Values that one run of a chain saves and a later one loads.

mod tampering;

use tacit_kernels::Block;

use super::super::EpochBase;
use super::*;
use crate::io::memory::run_both;
use crate::saved::functions::{begin, bits, function, go_on, go_on_showing};
use crate::saved::{GarblerHalf, PairChain, SavedState, SharedHalf, StoredChain, StoredValue};
use crate::setup::OtSettings;

/// Returns a function that shows both parties the kept value, without a gate, and saves nothing.
fn look() -> Function {
    look_at("u8")
}

fn look_at(ty: &str) -> Function {
    function(|f| {
        f.load("total", ty)
            .output("shown", ty, Recipient::Both, "total");
    })
}

/// The halves of values that both parties keep.
type Kept = [Vec<SharedHalf>; 2];

/// Both ends of a chain, and its OT settings.
struct Chains([SharedChain; 2], OtSettings);

impl Chains {
    /// Starts a chain with a run of `function`.
    fn begun(function: &Function) -> Self {
        let (run, mut rng) = (tag(function), UnwrapErr(getrandom::SysRng));
        let setups = Role::BOTH.map(|role| {
            let (settings, tags) = (OtSettings::default(), EpochTags::of_chain(&run));
            EpochSetup::new(role, settings, tags, &mut rng).unwrap()
        });
        let [a, b] = setups;
        let bases = run_both(async |io| a.run(io).await, async |io| b.run(io).await);
        let bases: [EpochBase; 2] = bases.unwrap().into();
        let chains = bases.map(|base| SharedChain::new(&run, base));
        Self(chains, OtSettings::default())
    }

    /// Moves to the next attempt, from the stored bytes.
    fn forward(&mut self) {
        self.0 = self.0.each_ref().map(|chain| {
            let mut chain = SharedChain::from_bytes(&chain.to_bytes()).unwrap();
            chain.forward_to(chain.place().1 + 1).unwrap();
            chain
        });
    }

    fn epochs(&mut self, terms: &Terms<'_>) -> [Epoch; 2] {
        let settings = self.1;
        self.0
            .each_mut()
            .map(|chain| chain.epoch(&terms.tag, settings).unwrap())
    }

    /// Runs this attempt until its gates are proven, with messages that go through `change`.
    fn prove<'f>(
        &mut self,
        terms: Terms<'f>,
        inputs: [&[bool]; 2],
        kept: &Kept,
        change: &mut Change<'_>,
    ) -> (Result<(Proven<'f>, Proven<'f>), Failure>, Sent) {
        let ([a, b], [mine, yours]) = (self.epochs(&terms), [seed(), seed()]);
        run_changed(
            async |io| terms.prove(io, (inputs[0], &kept[0]), a, &mine).await,
            async |io| terms.prove(io, (inputs[1], &kept[1]), b, &yours).await,
            change,
        )
    }

    /// Runs honest parties. Returns the results, and the saved values, converted to bytes and back.
    fn run(
        &mut self,
        terms: Terms<'_>,
        inputs: [&[bool]; 2],
        kept: &Kept,
    ) -> ([Vec<bool>; 2], Kept) {
        let (mine, yours) = self.prove(terms, inputs, kept, &mut unchanged).0.unwrap();
        let again = |half: &SharedHalf| SharedHalf::from_bytes(&half.to_bytes()).unwrap();
        let saves = [&mine, &yours].map(|run| run.saves().unwrap().iter().map(again).collect());
        (open(mine, yours, &mut unchanged).0.unwrap(), saves)
    }
}

/// Opens the results of a run whose gates are proven, with messages that go through `change`.
fn open(
    mine: Proven<'_>,
    yours: Proven<'_>,
    change: &mut Change<'_>,
) -> (Result<[Vec<bool>; 2], Failure>, Sent) {
    let (ended, sent) = run_changed(
        async |io| mine.open(io).await,
        async |io| yours.open(io).await,
        change,
    );
    let results = ended.map(|(mine, yours)| [mine.0.to_vec(), yours.0.to_vec()]);
    (results, sent)
}

fn pick(kept: &Kept, places: &[usize]) -> Kept {
    kept.each_ref()
        .map(|halves| places.iter().map(|at| halves[*at].clone()).collect())
}

/// Returns a chain that holds 30, 4 and 77, at its first later attempt.
fn chain() -> (Chains, Kept) {
    chain_of(&begin())
}

/// Returns the same, in a chain that is named by a run of `first`.
fn chain_of(first: &Function) -> (Chains, Kept) {
    let begin = begin();
    let mut chains = Chains::begun(first);
    let inputs: [&[bool]; 2] = [&bits(30), &bits(4)];
    let (told, kept) = chains.run(terms(&begin, 40), inputs, &Kept::default());
    assert!(told.iter().all(Vec::is_empty));
    chains.forward();
    (chains, kept)
}

#[test]
fn values_go_on_from_run_to_run() {
    let (mut chains, begun) = chain();
    let (go_on, look) = (go_on(), look());
    let mut kept = begun.clone();
    for (number, (more, total)) in [(7, 41), (200, 245), (20, 13)].into_iter().enumerate() {
        chains.1.extension = Extension::NAMED[Extension::NAMED.len() - 1 - number];
        let inputs: [&[bool]; 2] = [&[], &bits(more)];
        let (told, after) = chains.run(terms(&go_on, 40), inputs, &kept);
        assert_eq!(told, [bits(77), bits(total)]);
        chains.forward();
        // The value is loaded several times, each time with other OTs.
        for _ in 0..2 {
            let (told, _) = chains.run(terms(&look, 40), [&[]; 2], &pick(&after, &[0]));
            assert_eq!(told, [bits(total), bits(total)]);
            chains.forward();
        }
        // The limit stays as the first run saved it.
        let limit = pick(&begun, &[2]);
        kept = [0, 1].map(|party| [&after[party][..], &limit[party]].concat());
        let states = kept
            .each_ref()
            .map(|loads| SavedState::of_shared(None, loads));
        assert_eq!(states[0], states[1]);
    }
}

#[test]
fn what_is_kept_is_a_share_under_the_chains_offsets() {
    let (mut chains, kept) = chain();
    let begin = begin();
    let [a, b] = chains
        .epochs(&terms(&begin, 40))
        .map(|epoch| *epoch.delta());
    for (value, halves) in [30, 4, 77].into_iter().zip(kept[0].iter().zip(&kept[1])) {
        assert_eq!(halves.0.mark(), halves.1.mark());
        let [mine, theirs] = [halves.0, halves.1].map(|half| &half.0.copies);
        for (i, bit) in bits(value).into_iter().enumerate() {
            let of = |copies: &[crate::saved::SavedCopy], c: usize| copies[c].labels[i];
            let [ma, kb] = [0, 1].map(|column| of(mine, column));
            let [mb, ka] = [0, 1].map(|column| of(theirs, column));
            assert_eq!(ma, ka ^ b.and_bit(ma.lsb()));
            assert_eq!(mb, kb ^ a.and_bit(mb.lsb()));
            assert_eq!(bool::from(ma.lsb() ^ mb.lsb()), bit);
            assert!(!bool::from(ka.lsb() | kb.lsb()));
        }
    }
}

/// Drives both parties until they stop to keep what they save. Nothing that opens a result is sent
/// before, so an evaluator that then goes back to the previous version has learnt nothing from this
/// one.
#[test]
fn no_result_leaves_before_what_is_saved_is_kept() {
    let go_on = go_on_showing(Recipient::Evaluator, Recipient::Evaluator);
    let (mut chains, kept) = chain();
    let terms = terms(&go_on, 40);
    let (ended, sent) = chains.prove(terms, [&[], &bits(1)], &kept, &mut unchanged);
    assert!(ended.is_ok());
    let last = sent.last().unwrap();
    assert_eq!((last.0, last.1), (Role::Garbler, Kind::GateProof));
    assert_eq!(last.2.len(), 16);
    for role in Role::BOTH {
        assert_eq!(count(&sent, role, Kind::ResultOpening), 0);
    }
}

/// A party keeps nothing of a run before its checks: the evaluator's check of the garbler's gates,
/// and the garbler's check of the evaluator's labels.
#[test]
fn nothing_is_kept_of_a_run_that_is_not_checked() {
    let go_on = go_on();
    for (liar, kind) in [
        (Role::Garbler, Kind::GateProof),
        (Role::Evaluator, Kind::LabelDigest),
    ] {
        let (mut chains, kept) = chain();
        let lie = &mut |from, found, payload: &mut Vec<u8>| {
            if (from, found) == (liar, kind) {
                payload[3] ^= 1;
            }
        };
        // The honest party has nothing to keep.
        let (ended, _) = chains.prove(terms(&go_on, 40), [&[], &bits(1)], &kept, lie);
        let (role, error) = ended.err().expect("a lie");
        assert_ne!(role, liar);
        assert!(matches!(error, Error::PeerMisbehaved(_)), "{error}");
    }
}

/// An evaluator, or a garbler, claims to load the latest version and loads the previous one.
#[test]
fn a_value_of_another_version_is_found_out() {
    let (go_on, look) = (go_on(), look());
    for liar in Role::BOTH {
        for function in [&go_on, &look] {
            let (mut chains, before) = chain();
            let inputs: [&[bool]; 2] = [&[], &bits(1)];
            let (_, after) = chains.run(terms(&go_on, 40), inputs, &before);
            chains.forward();
            let (places, inputs) = match function.saves() {
                [] => (&[0][..], [&[][..]; 2]),
                _ => (&[0, 1, 2][..], inputs),
            };
            let limit = pick(&before, &[2]);
            let latest = [0, 1].map(|party| [&after[party][..], &limit[party]].concat());
            let (mut loads, old) = (pick(&latest, places), pick(&before, places));
            loads[liar as usize] = old[liar as usize].clone();
            let terms = terms(function, 40);
            let opened = match chains.prove(terms, inputs, &loads, &mut unchanged).0 {
                Ok((mine, yours)) => open(mine, yours, &mut unchanged).0.map(drop),
                Err(failure) => Err(failure),
            };
            let (_, error) = opened.unwrap_err();
            let due = match function.saves() {
                [] => Caught::Results,
                _ => Caught::Gates,
            };
            assert_eq!(error, cheated(due));
        }
    }
}

#[test]
fn no_attempt_has_the_transfers_of_another() {
    let look = look();
    let (mut chains, _) = chain();
    let terms = terms(&look, 40);
    let settings = OtSettings::default();
    let kept = chains.0.each_ref().map(SharedChain::to_bytes);
    let [a, b] = chains.epochs(&terms);
    // An attempt has one epoch. A stored chain has none before it is forwarded.
    for (chain, kept) in chains.0.iter_mut().zip(&kept) {
        assert!(chain.epoch(&terms.tag, settings).is_err());
        let mut read = SharedChain::from_bytes(kept).unwrap();
        assert_eq!(read.place().1, 1);
        assert!(read.epoch(&terms.tag, settings).is_err());
        assert!(read.forward_to(1).is_err());
    }
    let ids = [*a.id(), *b.id()];
    assert_eq!(ids[0], ids[1]);
    let first = first_keys(a, b);
    chains.forward();
    let [a, b] = chains.epochs(&terms);
    assert_ne!(first_keys(a, b), first);
    // The stored data has nothing in common with earlier stored data except the party's Δ.
    for (chain, kept) in chains.0.iter().zip(&kept) {
        let (now, place) = (chain.to_bytes(), PairChain::BYTES);
        let blocks = |bytes: &[u8]| bytes[place..].as_chunks::<16>().0.to_vec();
        let same = blocks(&now)
            .iter()
            .zip(blocks(kept))
            .filter(|(a, b)| **a == *b)
            .count();
        assert_eq!(same, 1);
    }
}

/// Returns the keys of the first OTs that the garbler sends.
fn first_keys(mut a: Epoch, mut b: Epoch) -> Vec<Block> {
    let (mut macs, mut keys) = (vec![Block::ZERO; 64], vec![Block::ZERO; 64]);
    let (mut message, mut rng) = (Vec::new(), Prg::new(Block::ONES));
    b.receiver()
        .unwrap()
        .extend_random(&mut rng, &mut macs, &mut message)
        .unwrap();
    a.sender()
        .unwrap()
        .extend_random(&mut keys, &message)
        .unwrap();
    for (mac, key) in macs.iter().zip(&keys) {
        assert_eq!(*mac, *key ^ a.delta().and_bit(mac.lsb()));
    }
    keys
}

/// Both ends agree again after one was further ahead than the other. An end of the other party or
/// of another protocol, whose Δ serve no run of this one, is refused.
#[test]
fn a_chain_is_of_this_protocol_and_of_its_party() {
    let look = look();
    let (mut chains, kept) = chain();
    let terms = terms(&look, 40);
    chains.0[0].forward_to(3).unwrap();
    for chain in &mut chains.0 {
        chain.forward_to(5).unwrap();
    }
    let loads = pick(&kept, &[0]);
    let (told, _) = chains.run(terms, [&[]; 2], &loads);
    assert_eq!(told, [bits(30), bits(30)]);
    let bytes = chains.0.each_ref().map(SharedChain::to_bytes);
    for (bytes, role) in bytes.iter().zip(Role::BOTH) {
        let read = SharedChain::from_bytes(bytes).unwrap();
        assert_eq!((read.role(), read.base_ot()), (role, BaseOt::default()));
        assert!(PairChain::from_bytes(bytes).is_err());
        for end in [0, 1, 2, 26, bytes.len() - 16, bytes.len() - 1] {
            assert!(SharedChain::from_bytes(&bytes[..end]).is_err(), "{end}");
        }
        let mut others = bytes.to_vec();
        others[1] ^= 1;
        let mut others = SharedChain::from_bytes(&others).unwrap();
        others.forward_to(6).unwrap();
        // The Δ has the form of the other party's, as far as its bits show.
        assert!(others.epoch(&terms.tag, OtSettings::default()).is_err());
        assert!(SharedChain::from_bytes(&[&bytes[..], &[0; 16]].concat()).is_err());
    }
    let prepared = PairChain::new(&terms.tag).to_bytes();
    assert!(SharedChain::from_bytes(&prepared).is_err());
    chains.forward();
    let [a, _] = chains.epochs(&terms);
    // A value that `prepared` keeps has labels of one circuit.
    let labels = loads[0][0].0.clone();
    let one = GarblerHalf(crate::saved::Labels {
        copies: labels.copies[..1].to_vec(),
        ..labels
    });
    let as_shared = SharedHalf::from_bytes(&one.to_bytes()).unwrap();
    let error = refused(terms, (&[], &[as_shared]), a);
    assert!(matches!(error, Error::ApiMisuse(_)), "{error}");
}

#[test]
fn values_and_offsets_stay_in_their_chain() {
    let (look, go_on) = (look(), go_on());
    let adder = component("adder", Recipient::Both);
    let (mut chains, kept) = chain();
    let (mut others, of_others) = chain_of(&adder);
    let terms_of = |function| terms(function, 40);
    // The value belongs to another chain.
    let [a, _] = chains.epochs(&terms_of(&look));
    let loads = pick(&of_others, &[0]);
    let error = refused(terms_of(&look), (&[], &loads[0]), a);
    assert!(matches!(error, Error::OtherChain { .. }), "{error}");
    // The value has another type.
    chains.forward();
    let [a, _] = chains.epochs(&terms_of(&look));
    let bits = look_at("bits[8]");
    let loads = pick(&kept, &[0]);
    let error = refused(terms_of(&bits), (&[], &loads[0]), a);
    assert!(matches!(error, Error::SavedType { .. }), "{error}");
    // The epoch has the Δ of a session or a stock, or that of a chain for a function without saved
    // values.
    for function in [&look, &go_on] {
        let [a, _] = epochs();
        let inputs = vec![false; function.input_bits(Role::Garbler)];
        let error = refused(terms_of(function), (&inputs, &loads[0]), a);
        assert!(matches!(error, Error::ApiMisuse(_)), "{error}");
    }
    let inputs = vec![false; adder.input_bits(Role::Garbler)];
    let [a, _] = others.epochs(&terms_of(&adder));
    let error = refused(terms_of(&adder), (&inputs, &[]), a);
    assert!(matches!(error, Error::ApiMisuse(_)), "{error}");
    // A run outside a chain would open results before anything is kept.
    let begin = begin();
    let [a, _] = chain_of(&begin).0.epochs(&terms_of(&begin));
    let inputs = vec![false; begin.input_bits(Role::Garbler)];
    let (error, sent) = run_alone(async |io| terms_of(&begin).run(io, &inputs, a, &seed()).await);
    assert!(matches!(error, Error::SavedValue { .. }), "{error}");
    assert_eq!(sent, 0);
}

/// Returns the error with which a garbler refuses a run. Nothing is sent.
fn refused(terms: Terms<'_>, given: (&[bool], &[SharedHalf]), epoch: Epoch) -> Error {
    let (error, sent) = run_alone(async |io| terms.prove(io, given, epoch, &seed()).await);
    assert_eq!(sent, 0);
    assert_ne!(error, Error::ApiMisuse(STUCK));
    error
}
