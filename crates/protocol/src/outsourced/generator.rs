//! The generator: it makes all circuits, and never learns which of them are evaluated.
//!
//! It keeps a root seed and makes the data of a circuit when it sends it. A circuit's secrets are
//! derived three times, and its tables once. **Memory**: 16 bytes for each encoded bit of the
//! evaluator and each circuit while transfers are offered; later a message of a body or, on several
//! threads, a body for each thread.

mod making;

use tacit_function::{Function, Role};
use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::chain::{GeneratorChain, Head};
use super::copy::permutation;
use super::cut::{CutKey, Fate};
use super::parameters::Parameters;
use super::same_input::InputHash;
use super::terms::Meeting;
use super::toss::{Share, TossCommitment};
use super::transfer::cut_pads;
use super::work::{ServerRun, check_transfers};
use super::{ServerKept, ServerStart, messages, read_result};
use crate::Error;
use crate::bits::{pack, random_bits, read_blocks, unpack};
use crate::io::Io;
use crate::malicious::oracle::Oracle;
use crate::message::{Kind, array};
use crate::party::Peer;
use crate::saved::{GarblerHalf as GeneratorValue, SavedState};
use crate::setup::GarblerOt;

/// The chain under which a generator runs: a new one, whose keys come from OTs with the cloud, or
/// one that was started before.
pub type GeneratorStart = ServerStart<GarblerOt, GeneratorChain>;

/// The data that a run leaves the generator.
pub type GeneratorKept = ServerKept<GeneratorChain, GeneratorValue>;

/// A run on the generator's side.
pub struct Generator<'f, S: Scheme<Wire = Block>> {
    work: ServerRun<'f, S>,
    threads: usize,
    meeting: Meeting,
    start: Box<GeneratorStart>,
    ot: GarblerOt,
    secrets: Box<Secrets>,
    /// The way in which a test's generator cheats with its input.
    #[cfg(test)]
    pub(super) spoiling: Option<super::tests::OtherInput>,
}

/// The values that only the generator knows.
struct Secrets {
    loads: Vec<GeneratorValue>,
    /// Its input, the mask of its result, and the bits that hide both under the hash, eight to a
    /// byte.
    input: Zeroizing<Vec<u8>>,
    root: Zeroizing<[u8; 32]>,
    blind_root: Zeroizing<[u8; 32]>,
    share: Share,
}

impl<'f, S: Scheme<Wire = Block>> Generator<'f, S> {
    /// Returns a run of `function` with the generator's input bits, in port order, and its half of
    /// each value that the function loads, in order. `with_evaluator` are OTs with the evaluator in
    /// which the generator offers. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// `inputs` or `loads` do not match the function, a value or the parameters belong to another
    /// chain, or the function cannot be run.
    #[expect(clippy::too_many_arguments, reason = "each is of another kind")]
    pub fn new(
        scheme: S,
        function: &'f Function,
        parameters: Parameters,
        inputs: &[bool],
        start: GeneratorStart,
        loads: Vec<GeneratorValue>,
        with_evaluator: GarblerOt,
        threads: usize,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let work = ServerRun::new(scheme, function, parameters)?;
        if inputs.len() != function.input_bits(Role::Garbler) {
            return Err(Error::ApiMisuse(
                "as many input bits as the generator's ports have",
            ));
        }
        let chain = match &start {
            GeneratorStart::NewChain(with_cloud) => {
                check_transfers(&parameters, with_cloud.security())?;
                None
            }
            GeneratorStart::Chain(chain) => Some(chain.head),
        };
        work.check_state(chain, loads.iter().map(|value| &value.0))?;
        check_transfers(&parameters, with_evaluator.security())?;
        let mut prg = Prg::from_seed(seed);
        let mut draw = || {
            let mut bytes = Zeroizing::new([0; 32]);
            prg.fill_bytes(&mut *bytes);
            bytes
        };
        let (nonce, root, blind_root, share) = (draw(), draw(), draw(), Share(*draw()));
        let mut bits = Zeroizing::new(Vec::with_capacity(work.own_bits));
        bits.extend_from_slice(inputs);
        bits.extend_from_slice(&random_bits(&mut prg, work.own_bits - inputs.len()));
        let state = SavedState::of_garbler(chain.map(|head| head.place()), &loads);
        Ok(Self {
            meeting: Meeting::new(Peer::Generator, work.terms(), *nonce, Some(state)),
            work,
            threads: threads.max(1),
            start: Box::new(start),
            ot: with_evaluator,
            secrets: Box::new(Secrets {
                loads,
                input: Zeroizing::new(pack(&bits)),
                root,
                blind_root,
                share,
            }),
            #[cfg(test)]
            spoiling: None,
        })
    }

    /// Makes and sends all circuits. The caller awaits no result before the values that the run
    /// saves are durable here and at the cloud.
    ///
    /// # Errors
    ///
    /// Another party misbehaves, or the wire fails.
    pub async fn make(
        mut self,
        io: &mut Io<'_, Peer>,
    ) -> Result<(GeneratorKept, AwaitedResult), Error> {
        let (oracle, _) = self.meeting.meet(io).await?;
        let chain = match *self.start {
            GeneratorStart::Chain(chain) => chain,
            GeneratorStart::NewChain(mut ot) => {
                let first = ot.next_index();
                let q = ot.offer_to(io, Peer::Cloud, self.work.copies()).await?;
                let [zeros, ones] = cut_pads(&oracle).both(first, &q, ot.delta());
                begin_chain(&oracle, self.work.parameters, &zeros, &ones)
            }
        };
        let making = Making {
            work: &self.work,
            threads: self.threads,
            secrets: &self.secrets,
            oracle,
            chain: &chain,
            #[cfg(test)]
            spoiling: self.spoiling.as_ref(),
        };
        let parameters = &self.work.parameters;
        let commitment = messages::TOSS_COMMITMENT.receive(io).await?;
        let commitment = TossCommitment(array(Kind::TossCommitment, commitment)?);
        making.write_hashes(io.message());
        messages::key_hashes(parameters).send(io)?;

        let first = self.ot.next_index();
        let transfers = self.work.transfers();
        let q = self.ot.offer_to(io, Peer::Evaluator, transfers).await?;
        let seed = messages::PERMUTATION.receive(io).await?;
        let [seed] = read_blocks(Kind::Permutation, seed)?;
        let permutation = permutation(&oracle, seed, transfers);

        making.write_orders(io.message());
        messages::orders(parameters).send(io)?;
        making.send_heads(io)?;
        let theirs = messages::TOSS_OPENING.receive(io).await?;
        let theirs = Share(array(Kind::TossOpening, theirs)?);
        let seed = commitment.open(&oracle, &self.secrets.share, &theirs)?;
        let hash = InputHash::new(&seed, parameters.hash_rows(), self.work.own_bits);
        making.write_decodings(&hash, io.message());
        messages::decodings(&self.work).send(io)?;
        // Send the previous messages before the long work.
        io.breathe().await?;
        making.send_strings(io, (first, &q, self.ot.delta()), permutation)?;
        let saved = making.send_bodies(io)?;

        let added = self.work.function.input_bits(Role::Garbler);
        let input = unpack(&self.secrets.input, self.work.garbled_bits);
        let awaited = AwaitedResult {
            added: Zeroizing::new(input[added..].to_vec()),
            bits: self.work.masked_bits[1],
        };
        Ok((GeneratorKept { chain, saved }, awaited))
    }
}

/// A run whose circuits are sent.
pub struct AwaitedResult {
    /// The mask of the result.
    added: Zeroizing<Vec<bool>>,
    /// The number of bits of the masked result.
    bits: usize,
}

impl AwaitedResult {
    /// Waits for the generator's output bits and returns them, in port order.
    ///
    /// # Errors
    ///
    /// The result is forged, the cloud misbehaves, or the wire fails.
    pub async fn receive(self, io: &mut Io<'_, Peer>) -> Result<Zeroizing<Vec<bool>>, Error> {
        let result = messages::result(Peer::Generator, self.bits);
        read_result(result.receive(io).await?, self.bits, &self.added)
    }
}

/// Returns the keys of a new chain, from both strings of each of the cloud's OTs.
fn begin_chain(
    oracle: &Oracle,
    parameters: Parameters,
    zeros: &[Block],
    ones: &[Block],
) -> GeneratorChain {
    let pairs = (0..).zip(zeros.iter().zip(ones));
    let keys = pairs.map(|(copy, (zero, one))| {
        let key = |fate, given| CutKey::from_transfer(oracle, copy, fate, given);
        [key(Fate::Check, *zero), key(Fate::Evaluate, *one)]
    });
    GeneratorChain {
        head: Head::new(oracle, parameters),
        keys: keys.collect(),
    }
}

/// The context in which circuits are made.
struct Making<'m, 'f, S: Scheme<Wire = Block>> {
    work: &'m ServerRun<'f, S>,
    threads: usize,
    secrets: &'m Secrets,
    oracle: Oracle,
    chain: &'m GeneratorChain,
    #[cfg(test)]
    spoiling: Option<&'m super::tests::OtherInput>,
}
