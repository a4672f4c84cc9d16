//! The sender of silent OT.

use core::fmt;

use rand_core::CryptoRng;
use tacit_kernels::{Block, Prg, share_out};
use zeroize::Zeroizing;

use super::batch::{ANSWER_BYTES, REPLY_BYTES, Rounds, Sums};
use super::params::{BOOTSTRAP, Schedule};
use crate::correlated::CotSender;
use crate::{Delta, Error, Message, Outputs, Security, SessionTag};

/// The garbler's half between two batches: it has Δ, and gets q for each OT.
pub struct SilentSender {
    pub(super) delta: Delta,
    pub(crate) rounds: Rounds,
}

/// A sender that waits for the receiver's reply to its batch.
pub struct SenderBatch {
    sender: SilentSender,
    /// The leaves of all trees. Once expanded, they include their sums of the secret.
    outputs: Zeroizing<Vec<Block>>,
    expanded: bool,
    sums: Option<Sums>,
}

/// A tree of a batch: its number, its root, its OTs, its leaves and its message.
struct Tree<'a> {
    number: usize,
    root: &'a Block,
    q: &'a [Block],
    leaves: &'a mut [Block],
    sent: &'a mut [u8],
}

impl SilentSender {
    /// Starts a sender whose first COTs come from `cot`, by the message of
    /// [`SilentReceiver::start`](super::SilentReceiver::start). It is as secure as `cot`. The tag
    /// must be the receiver's and no other extension's.
    ///
    /// # Errors
    ///
    /// Those of [`CotSender::extend`].
    pub fn start(mut cot: CotSender, tag: &SessionTag, message: &[u8]) -> Result<Self, Error> {
        let mut q = Zeroizing::new(vec![Block::ZERO; BOOTSTRAP.inputs()]);
        cot.extend_random(&mut q, message)?;
        let mut rounds = Rounds::new(*tag, cot.security(), Schedule::START, q);
        rounds.threads = cot.threads();
        Ok(Self {
            delta: cot.delta().clone(),
            rounds,
        })
    }

    #[cfg(test)]
    pub(super) fn for_test(delta: Delta, rounds: Rounds) -> Self {
        Self { delta, rounds }
    }

    /// Returns the number of OTs in the first message of [`start`](Self::start).
    #[must_use]
    pub const fn base_count() -> usize {
        BOOTSTRAP.inputs()
    }

    /// Returns the offset of all OTs. Secret.
    #[must_use]
    pub fn delta(&self) -> &Delta {
        &self.delta
    }

    /// Returns the number of OTs in the next batch: zero for the first one.
    #[must_use]
    pub fn next_count(&self) -> usize {
        self.rounds.schedule.next_count()
    }

    /// Returns the size of the receiver's reply to a batch, in bytes; zero if semi-honest.
    #[must_use]
    pub fn reply_bytes(&self) -> usize {
        match self.rounds.security {
            Security::SemiHonest => 0,
            Security::Malicious => REPLY_BYTES,
        }
    }

    /// Makes the message for the next batch. Most of the work is left for [`SenderBatch::expand`],
    /// which is best done while the message is on its way.
    ///
    /// # Errors
    ///
    /// [`Error::Device`].
    pub fn begin<R: CryptoRng + ?Sized>(
        mut self,
        rng: &mut R,
    ) -> Result<(SenderBatch, Vec<u8>), Error> {
        let params = self.rounds.params();
        let mut message = vec![0; self.rounds.schedule.trees_bytes()];
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut roots = Zeroizing::new(vec![Block::ZERO; params.batch_trees]);
        Prg::from_seed(&seed).fill_blocks(&mut roots);
        let batch = self.rounds.device_batch();
        if let Some(far) = self.rounds.hand_over(Some(&self.delta))? {
            far.grow(&batch, &roots, &mut message)?;
            let batch = SenderBatch {
                sender: self,
                outputs: Outputs::default(),
                expanded: true,
                sums: None,
            };
            return Ok((batch, message));
        }
        let mut outputs = self.rounds.outputs();
        let mut sums = self.rounds.check();
        let (q, _) = self.rounds.batch_inputs();
        let sent = message.chunks_exact_mut(params.depth * Block::BYTES);
        let made = outputs.chunks_exact_mut(params.leaves()).zip(sent);
        let given = roots.iter().zip(q.chunks_exact(params.depth));
        let trees = given.zip(made).enumerate();
        let trees = trees.map(|(number, ((root, q), (leaves, sent)))| Tree {
            number,
            root,
            q,
            leaves,
            sent,
        });
        self.grow(&mut trees.collect::<Vec<_>>(), &mut sums);
        let sender = self;
        let batch = SenderBatch {
            sender,
            outputs,
            expanded: false,
            sums,
        };
        Ok((batch, message))
    }

    /// Grows the trees of a batch, and adds them to the sums of its check.
    fn grow(&self, trees: &mut [Tree<'_>], sums: &mut Option<Sums>) {
        let delta = self.delta.to_block();
        let mut growers = self.rounds.growers();
        // A tree's coefficients depend on what is sent of all before it. One thread adds a tree
        // while it is in the cache, several add all trees when they are grown.
        let together = match (growers.len(), &sums) {
            (1, Some(_)) => 1,
            _ => trees.len(),
        };
        for trees in trees.chunks_mut(together) {
            share_out(&mut growers, trees.iter_mut(), |grower, tree| {
                let hashes = &mut grower.hashes;
                hashes.pass_to(tree.number, tree.q.len());
                hashes.grow(*tree.root, delta, tree.q, tree.leaves, tree.sent);
            });
            if let Some(sums) = sums {
                let seeds = trees.iter().map(|tree| sums.seed_after(tree.sent));
                let seeds: Vec<_> = seeds.collect();
                let trees = trees.iter().zip(&seeds);
                share_out(&mut growers, trees, |grower, (tree, seed)| {
                    grower.sums.add(seed, tree.leaves);
                });
            }
        }
        if let Some(sums) = sums {
            sums.add(&growers);
        }
    }
}

impl SenderBatch {
    /// Does the work for which no message waits, if it is not done yet.
    pub fn expand(&mut self) {
        if !self.expanded {
            self.sender.rounds.expand(&mut self.outputs);
            self.expanded = true;
        }
    }

    /// Returns the size of the receiver's reply, in bytes; zero if semi-honest.
    #[must_use]
    pub fn reply_bytes(&self) -> usize {
        self.sender.reply_bytes()
    }

    /// Returns the number of OTs that this batch hands out.
    pub(crate) fn count(&self) -> usize {
        self.sender.next_count()
    }

    pub(crate) fn rounds(&mut self) -> &mut Rounds {
        &mut self.sender.rounds
    }

    /// Returns its rounds and its leaves, if these lack their sums and nothing is to be checked
    /// before.
    pub(super) fn unsummed(&mut self) -> Option<(&Rounds, &mut [Block])> {
        let rounds = &self.sender.rounds;
        let lacks = !self.expanded && rounds.security == Security::SemiHonest;
        lacks.then_some((rounds, &mut self.outputs))
    }

    /// Says that its leaves have their sums.
    pub(super) fn set_summed(&mut self) {
        self.expanded = true;
    }

    /// Takes the receiver's reply, which is empty if semi-honest. Returns the sender, the q of each
    /// OT, secret and with bit 0 clear, and the answer for the receiver, which is empty if
    /// semi-honest. OTs on a device stay there.
    ///
    /// # Errors
    ///
    /// [`PeerMisbehaved::WrongLength`](crate::PeerMisbehaved::WrongLength); [`Error::Device`].
    pub fn finish(mut self, reply: &[u8]) -> Result<(SilentSender, Outputs, Vec<u8>), Error> {
        super::check_length(Message::SilentReply, self.reply_bytes(), reply)?;
        if self.sender.rounds.far().is_some() {
            self.sender.rounds.finish_far()?;
            return Ok((self.sender, Outputs::default(), Vec::new()));
        }
        self.expand();
        let Self {
            mut sender,
            mut outputs,
            sums,
            ..
        } = self;
        let answer = sums.map(|sums| {
            let mut bytes = [0; REPLY_BYTES];
            bytes.copy_from_slice(reply);
            let shift = (sender.delta.to_block(), Block::from_bytes(bytes));
            sums.answer(sender.rounds.batch_inputs().1, Some(shift))
        });
        let answer = answer.map_or(Vec::new(), Vec::from);
        debug_assert!(answer.is_empty() || answer.len() == ANSWER_BYTES);
        sender.rounds.finish(&mut outputs);
        Ok((sender, outputs, answer))
    }
}

impl fmt::Debug for SilentSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "SilentSender {{ next_count: {}, .. }}",
            self.next_count()
        )
    }
}

impl fmt::Debug for SenderBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SenderBatch(..)")
    }
}
