//! The cloud: it checks or evaluates each circuit as it arrives.
//!
//! **It does the same work for every circuit**, checked or evaluated, so that the pace at which it
//! reads reveals nothing about the split to a generator that watches it. With its one key it opens
//! both boxes, makes a circuit from the seed that it finds, and evaluates the circuit that arrived.
//! The content of the box whose key it lacks has no meaning, and is not used.
//!
//! **Memory**: 16 bytes for each input bit of each evaluated circuit, and on several threads the
//! body of one circuit for each thread. **Cost**: each circuit is garbled and evaluated once.

mod taking;

use tacit_function::Function;
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use self::taking::Taking;
use super::chain::{CloudChain, Head};
use super::cut::{CutKey, Fate, Split, compare_all, draw_split};
use super::parameters::Parameters;
use super::same_input::InputHash;
use super::terms::Meeting;
use super::toss::{SHARE_BYTES, Share};
use super::transfer::cut_pads;
use super::work::{ServerRun, check_transfers};
use super::{ServerKept, ServerStart, messages};
use crate::Error;
use crate::bits::pack;
use crate::io::Io;
use crate::malicious::oracle::Oracle;
use crate::party::Peer;
use crate::saved::{EvaluatorHalf as CloudValue, SavedState};
use crate::setup::EvaluatorOt;

/// The chain under which a cloud runs: a new one, whose keys come from OTs with the generator, or
/// one that was started before.
pub type CloudStart = ServerStart<EvaluatorOt, CloudChain>;

/// The data that a run leaves the cloud.
pub type CloudKept = ServerKept<CloudChain, CloudValue>;

/// A run on the cloud's side.
pub struct Cloud<'f, S: Scheme<Wire = Block>> {
    work: ServerRun<'f, S>,
    threads: usize,
    meeting: Meeting,
    start: Box<CloudStart>,
    loads: Vec<CloudValue>,
    /// The split of a chain that the run starts.
    split: Split,
    share: Box<Share>,
}

impl<'f, S: Scheme<Wire = Block>> Cloud<'f, S> {
    /// Returns a run of `function` with the cloud's half of each value that the function loads, in
    /// order. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// `loads` do not match the function, a value or the parameters belong to another chain, or the
    /// function cannot be run.
    pub fn new(
        scheme: S,
        function: &'f Function,
        parameters: Parameters,
        start: CloudStart,
        loads: Vec<CloudValue>,
        threads: usize,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let work = ServerRun::new(scheme, function, parameters)?;
        let chain = match &start {
            CloudStart::NewChain(with_generator) => {
                check_transfers(&parameters, with_generator.security())?;
                None
            }
            CloudStart::Chain(chain) => Some(chain.head),
        };
        work.check_state(chain, loads.iter().map(|value| &value.0))?;
        let mut prg = Prg::from_seed(seed);
        let (mut nonce, mut share) = ([0; 32], Box::new(Share([0; SHARE_BYTES])));
        prg.fill_bytes(&mut nonce);
        prg.fill_bytes(&mut share.0);
        let state = SavedState::of_evaluator(chain.map(|head| head.place()), &loads);
        Ok(Self {
            meeting: Meeting::new(Peer::Cloud, work.terms(), nonce, Some(state)),
            work,
            threads: threads.max(1),
            start: Box::new(start),
            loads,
            split: draw_split(&parameters, &mut prg),
            share,
        })
    }

    /// Checks or evaluates all circuits. The caller gives no result before the values that the run
    /// saves are durable here and at the generator.
    ///
    /// # Errors
    ///
    /// Another party misbehaves, or the wire fails.
    pub async fn judge(self, io: &mut Io<'_, Peer>) -> Result<(CloudKept, MaskedResults), Error> {
        let (work, parameters) = (&self.work, &self.work.parameters);
        let (oracle, _) = self.meeting.meet(io).await?;
        let chain = match *self.start {
            CloudStart::Chain(chain) => chain,
            CloudStart::NewChain(ot) => begin_chain(io, &oracle, *parameters, self.split, ot)?,
        };
        messages::TOSS_COMMITMENT.send_copy(io, &self.share.commit(&oracle))?;
        write_split(&oracle, &chain, io.message());
        messages::split(parameters).send(io)?;
        let taking = Taking {
            work,
            threads: self.threads,
            oracle,
            chain: &chain,
            loads: &self.loads,
        };
        let (share, held) = taking.heads(io).await?;
        messages::TOSS_OPENING.send_copy(io, &self.share.0)?;
        let seed = self.share.with(&share);
        let hash = InputHash::new(&seed, parameters.hash_rows(), work.own_bits);
        // Send the previous messages before the long work.
        io.breathe().await?;
        let sums = taking.hash_inputs(&held, &hash);
        taking.check_decodings(&sums, messages::decodings(work).receive(io).await?)?;
        let handed = taking.handed(io, &held).await?;
        let encoded = taking.strings(io, handed).await?;
        let (masked, saved) = taking.bodies(io, &held, &encoded).await?;
        let (evaluator, generator) = masked.split_at(work.masked_bits[0]);
        let results = MaskedResults {
            generator: pack(generator),
            evaluator: pack(evaluator),
            bits: work.masked_bits,
        };
        Ok((CloudKept { chain, saved }, results))
    }

    /// Returns the split of the chain that this run continues or will start.
    #[cfg(test)]
    pub(super) fn split(&self) -> Split {
        match &*self.start {
            CloudStart::Chain(chain) => chain.split.clone(),
            CloudStart::NewChain(_) => self.split.clone(),
        }
    }
}

/// The results of a run whose circuits are judged. None of them is sent yet.
pub struct MaskedResults {
    generator: Vec<u8>,
    evaluator: Vec<u8>,
    /// The numbers of bits of the evaluator's and of the generator's result.
    bits: [usize; 2],
}

impl MaskedResults {
    /// Sends both parties their results.
    ///
    /// # Errors
    ///
    /// The wire fails.
    pub fn give(self, io: &mut Io<'_, Peer>) -> Result<(), Error> {
        let [evaluators, generators] = self.bits;
        messages::result(Peer::Generator, generators).send_copy(io, &self.generator)?;
        messages::result(Peer::Evaluator, evaluators).send_copy(io, &self.evaluator)
    }
}

/// Chooses one key of each circuit by OT.
fn begin_chain(
    io: &mut Io<'_, Peer>,
    oracle: &Oracle,
    parameters: Parameters,
    split: Split,
    mut ot: EvaluatorOt,
) -> Result<CloudChain, Error> {
    let choices = split.iter().map(|fate| *fate == Fate::Evaluate);
    let choices = Zeroizing::new(choices.collect::<Vec<_>>());
    let first = ot.next_index();
    let t = ot.choose_from(io, Peer::Generator, &choices)?;
    let given = cut_pads(oracle).chosen(first, &t);
    let keys = split.iter().zip(given.iter()).enumerate();
    let keys = keys
        .map(|(copy, (fate, key))| CutKey::from_transfer(oracle, copy, *fate, *key))
        .collect();
    let head = Head::new(oracle, parameters);
    Ok(CloudChain { head, split, keys })
}

/// Writes the split for the evaluator, and a hash that only a holder of the matching keys can
/// compute.
fn write_split(oracle: &Oracle, chain: &CloudChain, message: &mut Vec<u8>) {
    let evaluated = chain.split.iter().map(|fate| *fate == Fate::Evaluate);
    let evaluated = Zeroizing::new(evaluated.collect::<Vec<_>>());
    message.clear();
    message.extend_from_slice(&Zeroizing::new(pack(&evaluated)));
    let keys = chain.keys.iter().zip(chain.split.iter()).enumerate();
    let hashes = keys.map(|(copy, (key, fate))| key.compare(oracle, copy, *fate));
    message.extend_from_slice(&compare_all(oracle, hashes));
}
