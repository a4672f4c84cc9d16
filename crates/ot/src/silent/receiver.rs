//! The receiver of silent OT.

use core::fmt;

use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use tacit_kernels::{Block, Prg, share_out};
use zeroize::Zeroizing;

use super::batch::{ANSWER_BYTES, Rounds};
use super::params::{BOOTSTRAP, Schedule};
use crate::correlated::CotReceiver;
use crate::{Check, Error, Message, Outputs, PeerMisbehaved, Security, SessionTag};

/// The evaluator's half between two batches. For each OT it gets a random choice b and t = q ⊕ bΔ,
/// where b is bit 0 of t.
pub struct SilentReceiver {
    pub(crate) rounds: Rounds,
}

/// A receiver that waits for the sender's answer before it releases its batch.
pub struct ReceiverBatch {
    receiver: SilentReceiver,
    /// The leaves of all trees. Once expanded, they include their sums of the secret.
    outputs: Zeroizing<Vec<Block>>,
    expanded: bool,
    /// The expected answer, if malicious.
    expected: Option<Zeroizing<[u8; ANSWER_BYTES]>>,
}

impl SilentReceiver {
    /// Starts a receiver whose first COTs come from `cot`, and makes the message for the sender's.
    /// It is as secure as `cot`. The tag must be the sender's and no other extension's.
    ///
    /// # Errors
    ///
    /// Those of [`CotReceiver::extend`].
    pub fn start<R: CryptoRng + ?Sized>(
        mut cot: CotReceiver,
        tag: &SessionTag,
        rng: &mut R,
    ) -> Result<(Self, Vec<u8>), Error> {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut t = Zeroizing::new(vec![Block::ZERO; BOOTSTRAP.inputs()]);
        let mut message = Vec::new();
        cot.extend_random(&mut Prg::from_seed(&seed), &mut t, &mut message)?;
        let mut rounds = Rounds::new(*tag, cot.security(), Schedule::START, t);
        rounds.threads = cot.threads();
        Ok((Self { rounds }, message))
    }

    #[cfg(test)]
    pub(super) fn for_test(rounds: Rounds) -> Self {
        Self { rounds }
    }

    /// Returns the number of OTs in the next batch: zero for the first one.
    #[must_use]
    pub fn next_count(&self) -> usize {
        self.rounds.schedule.next_count()
    }

    /// Returns the size of the sender's message for the next batch, in bytes.
    #[must_use]
    pub fn trees_bytes(&self) -> usize {
        self.rounds.schedule.trees_bytes()
    }

    /// Returns the size of the sender's answer to a reply, in bytes; zero if semi-honest.
    #[must_use]
    pub fn answer_bytes(&self) -> usize {
        match self.rounds.security {
            Security::SemiHonest => 0,
            Security::Malicious => ANSWER_BYTES,
        }
    }

    /// Takes the sender's message for the next batch. Returns the batch and the reply, which is
    /// empty if semi-honest. Most of the work is left for [`ReceiverBatch::expand`], which is best
    /// done while the reply is on its way.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::WrongLength`]; [`Error::Device`].
    pub fn take(mut self, message: &[u8]) -> Result<(ReceiverBatch, Vec<u8>), Error> {
        super::check_length(Message::SilentTrees, self.trees_bytes(), message)?;
        let batch = self.rounds.device_batch();
        if let Some(far) = self.rounds.hand_over(None)? {
            far.grow_punctured(&batch, message)?;
            let batch = ReceiverBatch {
                receiver: self,
                outputs: Outputs::default(),
                expanded: true,
                expected: None,
            };
            return Ok((batch, Vec::new()));
        }
        let params = self.rounds.params();
        let mut outputs = self.rounds.outputs();
        let mut sums = self.rounds.check();
        let (t, _) = self.rounds.batch_inputs();
        let sent = message.chunks_exact(params.depth * Block::BYTES);
        let seeds = sums.as_mut().map(|sums| {
            let seeds = sent.clone().map(|sent| sums.seed_after(sent));
            seeds.collect::<Vec<_>>()
        });
        let trees = outputs.chunks_exact_mut(params.leaves()).zip(sent);
        let trees = trees.zip(t.chunks_exact(params.depth)).enumerate();
        let mut growers = self.rounds.growers();
        let expanded = {
            // If no reply waits for the trees, each is expanded while it is in a cache.
            let expand = self.rounds.expand_tree().filter(|_| seeds.is_none());
            share_out(&mut growers, trees, |grower, (number, tree)| {
                let ((leaves, sent), t) = tree;
                grower.hashes.pass_to(number, params.depth);
                grower.hashes.grow_punctured(t, sent, leaves);
                if let Some(seeds) = &seeds {
                    grower.sums.add(&seeds[number], leaves);
                }
                if let Some(expand) = &expand {
                    expand(number, leaves);
                }
            });
            expand.is_some()
        };
        let (mut reply, mut expected) = (Vec::new(), None);
        if let Some(mut sums) = sums {
            sums.add(&growers);
            let cots = self.rounds.batch_inputs().1;
            reply.extend_from_slice(&sums.reply(cots).to_bytes());
            expected = Some(Zeroizing::new(sums.answer(cots, None)));
        }
        let receiver = self;
        let batch = ReceiverBatch {
            receiver,
            outputs,
            expanded,
            expected,
        };
        Ok((batch, reply))
    }
}

impl ReceiverBatch {
    /// Does the work for which no message waits, if it is not done yet.
    pub fn expand(&mut self) {
        if !self.expanded {
            self.receiver.rounds.expand(&mut self.outputs);
            self.expanded = true;
        }
    }

    /// Returns the size of the sender's answer, in bytes; zero if semi-honest.
    #[must_use]
    pub fn answer_bytes(&self) -> usize {
        self.receiver.answer_bytes()
    }

    /// Returns the number of OTs that this batch hands out.
    pub(crate) fn count(&self) -> usize {
        self.receiver.next_count()
    }

    pub(crate) fn rounds(&mut self) -> &mut Rounds {
        &mut self.receiver.rounds
    }

    /// Returns its rounds and its leaves, if these lack their sums and nothing is to be checked
    /// before.
    pub(super) fn unsummed(&mut self) -> Option<(&Rounds, &mut [Block])> {
        let rounds = &self.receiver.rounds;
        let lacks = !self.expanded && rounds.security == Security::SemiHonest;
        lacks.then_some((rounds, &mut self.outputs))
    }

    /// Says that its leaves have their sums.
    pub(super) fn set_summed(&mut self) {
        self.expanded = true;
    }

    /// Takes the sender's answer, which is empty if semi-honest. Returns the receiver and the t of
    /// each OT, secret, whose bit 0 is the OT's choice. OTs on a device stay there.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::WrongLength`]; [`PeerMisbehaved::CheckFailed`]; [`Error::Device`].
    pub fn finish(mut self, answer: &[u8]) -> Result<(SilentReceiver, Outputs), Error> {
        super::check_length(Message::SilentAnswer, self.answer_bytes(), answer)?;
        if self.receiver.rounds.far().is_some() {
            self.receiver.rounds.finish_far()?;
            return Ok((self.receiver, Outputs::default()));
        }
        if let Some(expected) = &self.expected
            && !bool::from(expected.as_slice().ct_eq(answer))
        {
            let check = Check::SilentTrees;
            return Err(PeerMisbehaved::CheckFailed { check }.into());
        }
        self.expand();
        let Self {
            mut receiver,
            mut outputs,
            ..
        } = self;
        receiver.rounds.finish(&mut outputs);
        Ok((receiver, outputs))
    }
}

impl fmt::Debug for SilentReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SilentReceiver {{ next_count: {}, .. }}",
            self.next_count()
        )
    }
}

impl fmt::Debug for ReceiverBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReceiverBatch(..)")
    }
}
