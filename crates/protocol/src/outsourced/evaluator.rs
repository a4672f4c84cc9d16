//! The evaluator: a thin client. It chooses, compares and forwards data. It garbles nothing, holds
//! no circuit and needs no thread.
//!
//! **Encoded bits**: the n bits of input and, with a result of r bits, the r + 128 bits that mask
//! it, are encoded in as many bits and some 9 to 15 more for each 2 bits of distance: 128 in 309,
//! 8192 in 8487 at k = 40.
//!
//! **Cost** of an encoded bit: 24 bytes and a bit sent; 2 cipher calls for its OT; one cipher call
//! and a key schedule for its key; and 1/128 cipher call for each circuit. Cost of a circuit: 80
//! bytes received, at most 48 sent, 3 hashes. **State** during a run: 50 bytes and a few bits for
//! each encoded bit, 80 bytes for each circuit, and the encoding's redundancy, some 40 to 80 bytes
//! for each input bit. Nothing is kept between runs.

use tacit_kernels::{Block, Prg};
use zeroize::Zeroizing;

use super::copy::{blind_seed, expected_selects, order_bits, permutation};
use super::cut::{Fate, Split, compare_all};
use super::messages::BLIND_ROOT_BYTES;
use super::parameters::Parameters;
use super::terms::{EvaluatorBits, Meeting, Terms};
use super::transfer::{AGREED, REFUSED, wire_pads};
use super::work::{check_transfers, encoding_of};
use super::{Cheat, cheated, messages, read_result};
use crate::Error;
use crate::bits::{append_blocks, bit, bytes_for, check_bits, differ, pack, random_bits, xor_into};
use crate::io::Io;
use crate::malicious::frames::Outgoing;
use crate::malicious::oracle::{Hash, Oracle};
use crate::malicious::returned::{added_inputs, returned_bits};
use crate::message::{AbortReason, Kind};
use crate::party::{Peer, Progress};
use crate::saved::ChainVersion;
use crate::setup::EvaluatorOt;

/// The evaluator's result of a run.
pub struct EvaluatorOutcome {
    /// The evaluator's output bits, in port order.
    pub outputs: Zeroizing<Vec<bool>>,
    /// The chain at the loaded version, which is 0 if the run started the chain.
    pub loaded: ChainVersion,
    /// The chain at the saved version, if the function saves anything.
    pub saved: ChainVersion,
}

/// A run on the evaluator's side.
pub struct Evaluator {
    parameters: Parameters,
    counts: EvaluatorBits,
    meeting: Meeting,
    ot: EvaluatorOt,
    secrets: Box<Secrets>,
}

/// The values that only the evaluator knows.
struct Secrets {
    /// The mask of its result: the MAC's key, and the pad.
    added: Zeroizing<Vec<bool>>,
    /// a: its input and `added`, encoded.
    choices: Zeroizing<Vec<bool>>,
    /// The seed of p.
    permutation: Zeroizing<Block>,
}

/// The evaluator's finding about the cloud's keys in a run that ended with an error.
///
/// The evaluator reports it to the cloud, and to **nobody else**. A disagreement of generator and
/// cloud about a key reveals the fate of one circuit. A generator that heard of it while the chain
/// exists would learn the split circuit by circuit.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Whether the cloud has been told that keys disagree.
    has_refused: bool,
}

impl Verdict {
    /// Returns the error that keys disagree, for the evaluator's user, if the user may know it: if
    /// the run ended with `error` of `party`, and that is the cloud's report that a party cheated.
    /// The cloud has then read the verdict and destroyed the chain.
    ///
    /// For any other end, returns `None`, and the caller must report `error` unchanged. While the
    /// chain exists, a generator that lies about one key and then ends the run could otherwise
    /// learn from the evaluator's user whether that circuit is checked.
    pub fn refusal(&self, party: Peer, error: &Error) -> Option<Error> {
        let has_killed = *error == Error::PeerAborted(AbortReason::Misbehaved);
        (self.has_refused && party == Peer::Cloud && has_killed).then(|| cheated(Cheat::Keys))
    }
}

impl Evaluator {
    /// Returns a run with the evaluator's input bits, in port order. `with_generator` are OTs with
    /// the generator in which the evaluator chooses. `seed` is random, secret and used for this run
    /// alone.
    ///
    /// # Errors
    ///
    /// The number of `inputs` is not that of `counts`, or exceeds what can be encoded.
    pub fn new(
        terms: Terms,
        counts: EvaluatorBits,
        inputs: &[bool],
        with_generator: EvaluatorOt,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        if inputs.len() != counts.input_bits {
            return Err(Error::ApiMisuse(
                "as many input bits as the evaluator's ports have",
            ));
        }
        let parameters = terms.parameters;
        check_transfers(&parameters, with_generator.security())?;
        let encoding = encoding_of(counts, &parameters)?;
        let mut prg = Prg::from_seed(seed);
        let mut nonce = [0; 32];
        prg.fill_bytes(&mut nonce);
        let permutation = Zeroizing::new(prg.next_block());
        let added = random_bits(&mut prg, added_inputs(counts.output_bits));
        let mut bits = Zeroizing::new(Vec::with_capacity(encoding.bits()));
        bits.extend_from_slice(inputs);
        bits.extend_from_slice(&added);
        Ok(Self {
            parameters,
            counts,
            meeting: Meeting::new(Peer::Evaluator, terms, nonce, None),
            ot: with_generator,
            secrets: Box::new(Secrets {
                added,
                choices: encoding.encode(&bits, &mut prg),
                permutation,
            }),
        })
    }

    /// Requires that the servers bring this chain, at this version or a later one.
    #[must_use]
    pub fn pinned(mut self, pin: ChainVersion) -> Self {
        self.meeting.pin = Some(pin);
        self
    }

    /// Runs the evaluator. After an error, `verdict` tells what else its user may know.
    ///
    /// # Errors
    ///
    /// Another party misbehaves, or the wire fails.
    pub async fn evaluate(
        mut self,
        io: &mut Io<'_, Peer>,
        verdict: &mut Verdict,
    ) -> Result<EvaluatorOutcome, Error> {
        let (parameters, choices) = (self.parameters, &self.secrets.choices);
        let (oracle, [loaded, saved]) = self.meeting.meet(io).await?;
        // The evaluator counts no gates; this only reports that the run continues.
        io.progressed(Progress::default());
        let hashes = messages::key_hashes(&parameters).receive(io).await?;
        let hashes: Vec<Hash> = hashes.as_chunks().0.to_vec();
        let payload = messages::split(&parameters).receive(io).await?;
        let (split, agree) = read_split(&parameters, &oracle, &hashes, payload)?;

        let first = self.ot.next_index();
        let t = self.ot.choose_from(io, Peer::Generator, choices)?;
        messages::PERMUTATION.send_copy(io, &self.secrets.permutation.to_bytes())?;

        let keys = messages::transfer_keys(&parameters, choices.len());
        let mut handed = Outgoing::default();
        let out = handed.buffer();
        out.reserve_exact(keys.bytes);
        out.push(if agree { AGREED } else { REFUSED });
        append_blocks(out, &wire_pads(&oracle).chosen(first, &t));
        let orders = messages::orders(&parameters).receive(io).await?;
        self.secrets.hand(&oracle, &split, orders, out);
        let mask = 0_u8.wrapping_sub(u8::from(agree));
        out.iter_mut().for_each(|byte| *byte &= mask);
        keys.send_rest(io, handed)?;
        io.progressed(Progress::default());

        verdict.has_refused = !agree;
        let bits = returned_bits(self.counts.output_bits);
        let payload = messages::result(Peer::Evaluator, bits).receive(io).await?;
        if !agree {
            // A party that got only zeros has no result.
            return Err(cheated(Cheat::Result));
        }
        Ok(EvaluatorOutcome {
            outputs: read_result(payload, bits, &self.secrets.added)?,
            loaded,
            saved,
        })
    }
}

/// Returns the cloud's split, and whether its keys match the generator's `hashes`.
fn read_split(
    parameters: &Parameters,
    oracle: &Oracle,
    hashes: &[Hash],
    payload: &[u8],
) -> Result<(Split, bool), Error> {
    let copies = parameters.copies();
    let (split, hash) = payload.split_at(bytes_for(copies));
    check_bits(Kind::Split, split, copies)?;
    let fate = |copy| {
        if bit(split, copy) {
            Fate::Evaluate
        } else {
            Fate::Check
        }
    };
    let split: Split = Zeroizing::new((0..copies).map(fate).collect());
    let evaluated = split.iter().filter(|fate| **fate == Fate::Evaluate);
    let (found, expected) = (evaluated.count(), parameters.evaluated());
    if found != expected {
        return Err(cheated(Cheat::SplitSize { found, expected }));
    }
    let pairs = hashes.as_chunks::<2>().0.iter().zip(split.iter());
    let due = pairs.map(|(pair, fate)| pair[*fate as usize]);
    let agree = !differ(&compare_all(oracle, due), hash);
    Ok((split, agree))
}

impl Secrets {
    /// Appends the positions of the evaluator's strings, and the data about each circuit, from the
    /// generator's orders.
    fn hand(&self, oracle: &Oracle, split: &Split, orders: &[u8], out: &mut Vec<u8>) {
        let (root, orders) = orders.split_at(BLIND_ROOT_BYTES);
        let mut blind_root = Zeroizing::new([0; BLIND_ROOT_BYTES]);
        blind_root.copy_from_slice(root);
        let count = self.choices.len();
        let choices = Zeroizing::new(pack(&self.choices));
        let mut positions = permutation(oracle, *self.permutation, count);
        xor_into(&mut positions, &choices);
        out.extend_from_slice(&positions);
        let orders = orders.as_chunks::<{ Block::BYTES }>().0.iter();
        for (copy, (order, fate)) in orders.zip(split.iter()).enumerate() {
            match fate {
                Fate::Check => out.extend_from_slice(order),
                Fate::Evaluate => {
                    let seed = blind_seed(oracle, &blind_root, copy);
                    out.extend_from_slice(&seed.to_bytes());
                    let order = Block::from_bytes(*order);
                    let mut selects = order_bits(oracle, copy, order, count);
                    xor_into(&mut selects, &choices);
                    out.extend_from_slice(&expected_selects(oracle, copy, &selects));
                }
            }
        }
    }
}
