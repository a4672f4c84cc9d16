//! Attacks by a party that lies and then computes with everything that it holds.

use core::iter;

use tacit_function::Recipient;
use tacit_garble::Scheme as _;
use tacit_kernels::Block;
use zeroize::Zeroizing;

use super::cheats::COPIES;
use super::honest::run;
use super::trio::{Ended, Past, Trio, adder, bits, kept, malicious, scheme};
use crate::Error;
use crate::bits::{bit, bytes_for, read_block};
use crate::malicious::oracle::Oracle;
use crate::message::Kind;
use crate::outsourced::Peer::{Cloud, Evaluator, Generator};
use crate::outsourced::chain::CloudChain;
use crate::outsourced::copy::CopySecrets;
use crate::outsourced::cut::Fate;
use crate::outsourced::judge::HeldCopy;
use crate::outsourced::terms::Meeting;
use crate::outsourced::toss::SHARE_BYTES;
use crate::outsourced::transfer::{EVALUATED_BYTES, accept, blinds};
use crate::outsourced::work::ServerRun;
use crate::outsourced::{Peer, Terms};
use crate::saved::{SavedState, StoredChain as _};

/// A cloud that continues after the evaluator has refused its keys.
struct LyingCloud<'a> {
    work: &'a ServerRun<'a, tacit_garble::HalfGates>,
    chain: &'a CloudChain,
    oracle: Oracle,
    ended: &'a Ended,
    /// The circuit that it checks, and claims to evaluate.
    checked: usize,
    /// The circuit that it evaluates, and claims to check.
    evaluated: usize,
}

impl LyingCloud<'_> {
    /// Returns everything that came from `from` in messages of this kind.
    fn heard(&self, from: Peer, kind: Kind) -> Vec<u8> {
        let all = self.ended.heard.iter();
        let of_kind = all.filter(|heard| heard.0 == from && heard.1 == kind);
        of_kind.flat_map(|heard| heard.2.iter().copied()).collect()
    }

    /// Returns the secrets of the circuit that it checks, opened with its check key.
    fn secrets(&self) -> CopySecrets {
        let heads = self.heard(Generator, Kind::CopyHeads);
        let bytes = self.work.head_bytes();
        let head = &heads[SHARE_BYTES + self.checked * bytes..][..bytes];
        let key = (&self.chain.keys[self.checked], Fate::Check);
        let held = HeldCopy::open(self.work, &self.oracle, self.checked, key, head);
        let seed = held.expect("an honest head").seed.clone();
        CopySecrets::derive(self.work, &self.oracle, self.checked, &seed)
    }

    /// Returns the position of the evaluator's data about the checked circuit, under the split that
    /// the evaluator was told.
    fn said(&self) -> usize {
        let wires = self.work.transfers();
        let before = (0..self.checked).map(|copy| {
            let is_evaluated = self.chain.split[copy] == Fate::Evaluate && copy != self.evaluated;
            if is_evaluated {
                EVALUATED_BYTES
            } else {
                Block::BYTES
            }
        });
        1 + Block::BYTES * wires + bytes_for(wires) + before.sum::<usize>()
    }

    /// Returns the values of the labels that it unblinds for the checked circuit, if they are
    /// labels of that circuit. It knows both labels of each wire.
    fn read(&self) -> Option<Vec<bool>> {
        let (work, wires) = (self.work, self.work.transfers());
        let handed = self.heard(Evaluator, Kind::TransferKeys);
        let strings = self.heard(Generator, Kind::TransferStrings);
        assert_eq!(
            strings.len(),
            wires * work.string_bytes(),
            "all strings came"
        );
        let keys = handed[1..1 + Block::BYTES * wires].chunks(Block::BYTES);
        let positions = &handed[1 + Block::BYTES * wires..];
        let blind = read_block(&handed[self.said()..][..Block::BYTES]);
        let mut labels = [blinds(&self.oracle, self.checked, blind, wires)];
        for (j, (key, strings)) in keys.zip(strings.chunks(work.string_bytes())).enumerate() {
            let (key, position) = (read_block(key), bit(positions, j));
            let checked = [self.checked];
            labels[0][j] ^= accept(&self.oracle, j, key, position, strings, &checked)[0];
        }
        let secrets = self.secrets();
        let value = |(label, zero): (&Block, &Block)| {
            let difference = *label ^ *zero;
            let is_label = difference == Block::ZERO || difference == secrets.delta;
            is_label.then_some(difference == secrets.delta)
        };
        labels[0].iter().zip(&secrets.encoded).map(value).collect()
    }
}

/// Returns the oracle of the run, as the cloud has it.
fn oracle_of(terms: Terms, chain: &CloudChain, own_terms: &[u8], ended: &Ended) -> Oracle {
    let state = SavedState::new(Some(chain.head.place()), iter::empty());
    let nonce = *own_terms.first_chunk().expect("a nonce");
    let mut meeting = Meeting::new(Cloud, terms, nonce, Some(state));
    for from in [Generator, Evaluator] {
        let is_terms =
            |heard: &&(Peer, Kind, Vec<u8>)| heard.0 == from && heard.1 == Kind::OutsourcedTerms;
        let heard = ended.heard.iter().find(is_terms).expect("terms");
        meeting.hear(from, &heard.2).expect("terms");
    }
    meeting.oracle().expect("all terms")
}

/// A cloud claims to the evaluator that it evaluates circuit c, although it has the check key of c
/// and so both labels of every wire. An evaluator that believed it, or that sent the data for
/// another split, would give it c's blinds. With them the cloud could unblind the transferred
/// labels and read the evaluator's input. The evaluator finds that keys disagree, and sends only
/// zeros.
#[test]
fn a_cloud_that_lies_about_its_split_reads_nothing_of_the_evaluators_input() {
    let function = adder(4, Recipient::Both);
    let parameters = malicious(COPIES);
    let input = bits(11, 4);
    let inputs = [&bits(6, 4)[..], &input[..]];
    let begun = run(&function, malicious(COPIES), inputs, 1, Past::default());
    let (generator, _, cloud) = begun.expect("a run");
    let past = kept(generator, cloud);
    let (_, chain) = past.chains.as_ref().expect("a chain");
    let chain = CloudChain::from_bytes(&chain.to_bytes()).expect("its bytes");
    let with = |fate| chain.split.iter().position(|found| *found == fate);
    let checked = with(Fate::Check).expect("a checked circuit");
    let evaluated = with(Fate::Evaluate).expect("an evaluated circuit");
    let trio = Trio::new(&function, parameters, inputs, 2, past);
    let mut own_terms = Vec::new();
    let ended = trio.run(Some(Cloud), &mut |_, kind, _, message| {
        if kind == Kind::OutsourcedTerms {
            own_terms.clone_from(message);
        }
        if kind == Kind::Split {
            for copy in [checked, evaluated] {
                message[copy / 8] ^= 1 << (copy % 8);
            }
        }
    });
    assert!(matches!(
        ended.ends[Evaluator as usize],
        Err(Error::PeerMisbehaved(_))
    ));
    let work = ServerRun::new(scheme(), &function, parameters).expect("a run");
    let terms = Terms {
        function: function.digest(),
        scheme: scheme().id(),
        parameters,
    };
    let cloud = LyingCloud {
        work: &work,
        chain: &chain,
        oracle: oracle_of(terms, &chain, &own_terms, &ended),
        ended: &ended,
        checked,
        evaluated,
    };
    let read = cloud.read().map(|encoded| {
        let bits = Zeroizing::new(work.encoding.decode_bits(&encoded));
        bits[..input.len()].to_vec()
    });
    assert_eq!(read, None, "the cloud reads the input {input:?}");
}
