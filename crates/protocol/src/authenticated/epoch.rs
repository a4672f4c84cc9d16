//! An epoch: both parties' Δ, the OTs under them, and numbers that are never used twice.
//!
//! Each party draws its Δ here for this protocol alone; a caller cannot supply one. The base OTs of
//! the two directions have their own tags, of which the epoch's id is a hash.
//!
//! An operation consumes the epoch and returns it if it succeeds. **After a failed check** the
//! epoch is not returned: both Δ and everything that rests on them are gone.

use core::num::NonZeroUsize;

use rand_core::CryptoRng;
use tacit_function::Role;
use tacit_kernels::{Block, Construction, TweakableHash};
use tacit_ot::base::BaseOt;
use tacit_ot::spare::SpareSet;
use tacit_ot::{Delta, Security};
use zeroize::Zeroizing;

use super::buffers::Buffers;
use super::oracle::{DIGEST_BYTES, Digest, Domain, Oracle};
use super::share::Share;
use crate::Error;
use crate::bits::read_block;
use crate::io::Io;
use crate::saved::{BROKEN, ChainId};
use crate::session::RunTag;
use crate::setup::{
    ChosenBase, EvaluatorOt, EvaluatorSetup, GarblerOt, GarblerSetup, OfferedBase, OtSettings,
};

/// One party's side of an epoch.
pub struct Epoch {
    role: Role,
    id: Digest,
    /// Boxed, so that a moved epoch leaves no copy behind.
    delta: Box<Zeroizing<Block>>,
    /// The OTs, or `None` where all triples come from a stock.
    transfers: Option<Transfers>,
    /// The number of lots made so far.
    lots: u64,
    /// The number of the next run.
    runs: u64,
    /// The chain that the Δ belongs to. The epoch serves one attempt of it.
    chain: Option<ChainId>,
    /// The memory of a run's lots, wiped between runs.
    pub(super) buffers: Buffers,
}

/// The OTs of an epoch.
struct Transfers {
    /// The OTs that this party sends: they give keys of the other party's bits.
    sender: GarblerOt,
    /// The OTs that this party receives: they give MACs of its own bits.
    receiver: EvaluatorOt,
}

impl Transfers {
    /// Returns a new epoch with these OTs.
    fn epoch(self, name: (Role, Digest)) -> Epoch {
        Epoch::new(name, self.sender.delta(), Some(self))
    }
}

impl Epoch {
    /// Returns this party's role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the epoch's id, the same at both parties. Not secret.
    pub fn id(&self) -> &[u8; DIGEST_BYTES] {
        &self.id
    }

    /// Returns a new epoch.
    fn new((role, id): (Role, Digest), delta: Block, transfers: Option<Transfers>) -> Self {
        Self {
            role,
            id,
            delta: Box::new(Zeroizing::new(delta)),
            transfers,
            lots: 0,
            runs: 0,
            chain: None,
            buffers: Buffers::default(),
        }
    }

    /// Returns an epoch whose triples come from a stock, for the one run that has the number `run`
    /// in it.
    pub(super) fn of_stock(role: Role, id: Digest, delta: Block, run: u64) -> Self {
        Self {
            runs: run,
            ..Self::new((role, id), delta, None)
        }
    }

    /// Returns the epoch of one attempt of a chain, for the run `tag`. Its base OTs serve it alone:
    /// those in which this party chose with its Δ, and those in which it offered.
    pub(super) fn of_chain(
        (role, chain): (Role, ChainId),
        [chosen, offered]: [SpareSet; 2],
        settings: OtSettings,
        tag: &RunTag,
    ) -> Result<Self, Error> {
        let tags = EpochTags::of_chain(tag);
        let made = (settings, Security::Malicious);
        let sender = GarblerOt::from_spare(chosen, made, tags.sent_by(role))?;
        let receiver = EvaluatorOt::from_spare(offered, made, tags.sent_by(role.other()))?;
        let transfers = Transfers { sender, receiver };
        if !is_of_role(transfers.sender.delta(), role) {
            return Err(BROKEN);
        }
        Ok(Self {
            chain: Some(chain),
            ..transfers.epoch((role, tags.id()))
        })
    }

    /// Returns the chain that the Δ belongs to.
    pub(super) fn chain(&self) -> Option<ChainId> {
        self.chain
    }

    /// Makes lots on this many threads from now on; at first on those of the settings.
    pub fn set_threads(&mut self, threads: NonZeroUsize) {
        if let Some(Transfers { sender, receiver }) = &mut self.transfers {
            sender.set_threads(threads);
            receiver.set_threads(threads);
        }
    }

    /// Returns the threads on which a lot is made.
    pub(super) fn threads(&self) -> NonZeroUsize {
        let transfers = self.transfers.as_ref();
        transfers.map_or(NonZeroUsize::MIN, |made| made.sender.threads())
    }

    /// Returns the OTs that this party sends.
    pub(super) fn sender(&mut self) -> Result<&mut GarblerOt, Error> {
        let transfers = self.transfers.as_mut().ok_or(NO_TRANSFERS)?;
        Ok(&mut transfers.sender)
    }

    /// Returns the OTs that this party receives.
    pub(super) fn receiver(&mut self) -> Result<&mut EvaluatorOt, Error> {
        let transfers = self.transfers.as_mut().ok_or(NO_TRANSFERS)?;
        Ok(&mut transfers.receiver)
    }

    /// Returns this party's Δ. Secret.
    pub(super) fn delta(&self) -> &Block {
        &self.delta
    }

    /// Returns this party's half of a public 1, which it adds to a share to flip the shared bit.
    /// The garbler flips its bit, and the evaluator flips the matching key.
    pub(super) fn one(&self) -> Share {
        let bit = Block::from_u128(1);
        match self.role {
            Role::Garbler => Share {
                mac: bit,
                key: Block::ZERO,
            },
            Role::Evaluator => Share {
                mac: Block::ZERO,
                key: **self.delta ^ bit,
            },
        }
    }

    /// Returns the number of the next lot.
    pub(super) fn next_lot(&mut self) -> u64 {
        self.lots += 1;
        self.lots - 1
    }

    /// Wipes the memory of this run's lots. An epoch of the stock has no further run.
    pub(super) fn end_run(&mut self) {
        match self.transfers {
            Some(_) => self.buffers.end_run(),
            None => self.buffers = Buffers::default(),
        }
    }

    /// Returns the number of the next run.
    pub(super) fn next_run(&mut self) -> u64 {
        self.runs += 1;
        self.runs - 1
    }

    /// Returns the hash of `domain`. `from` is the only party that outputs it, or `None` if both
    /// do.
    pub(super) fn oracle(&self, domain: Domain, from: Option<Role>, number: u64) -> Oracle {
        Oracle::new(&self.id, domain, from, number)
    }

    /// Returns the key of the hash that [`oracle`](Self::oracle) returns.
    pub(super) fn oracle_key(&self, domain: Domain, from: Option<Role>, number: u64) -> Digest {
        Oracle::key(&self.id, domain, from, number)
    }

    /// Returns the hash of labels or MACs with the start point for `domain` and `number`.
    pub(super) fn hash(
        &self,
        construction: Construction,
        domain: Domain,
        number: u64,
    ) -> TweakableHash {
        let start = read_block(&self.oracle(domain, None, number).finish());
        TweakableHash::new(construction, start)
    }
}

const NO_TRANSFERS: Error = Error::ApiMisuse("an epoch of the stock has no OTs");

/// The two different tags of an epoch's two sets of base OTs.
#[derive(Clone, Copy)]
pub struct EpochTags {
    /// The tag for OTs that the garbler sends.
    pub garbler: RunTag,
    /// The tag for OTs that the evaluator sends.
    pub evaluator: RunTag,
}

impl EpochTags {
    /// Returns the tags of a run in a chain: those of the base OTs with which it starts the chain,
    /// or those of the OTs that it makes from kept ones.
    pub fn of_chain(tag: &RunTag) -> Self {
        Self {
            garbler: tag.chain_setup(Role::Garbler),
            evaluator: tag.chain_setup(Role::Evaluator),
        }
    }

    fn sent_by(&self, role: Role) -> &RunTag {
        match role {
            Role::Garbler => &self.garbler,
            Role::Evaluator => &self.evaluator,
        }
    }

    /// Returns the id of the epoch.
    fn id(&self) -> Digest {
        let mut id = Oracle::new(self.garbler.as_bytes(), Domain::Epoch, None, 0);
        id.add_bytes(self.evaluator.as_bytes());
        id.finish()
    }
}

/// Whether bits 0 and 1 of a Δ are those of a Δ of `role`.
pub(super) fn is_of_role(delta: Block, role: Role) -> bool {
    let own = match role {
        Role::Garbler => 0b11,
        Role::Evaluator => 0b01,
    };
    delta.to_u128() & 0b11 == own
}

/// Returns a fresh Δ for `role`. Bit 0 is set. Bit 1 is set only in the garbler's Δ, and so in
/// Δ_A ⊕ Δ_B. Therefore bit 1 of d(Δ_A ⊕ Δ_B) is d, which flips a leaky AND's output.
fn fresh_delta<R: CryptoRng + ?Sized>(role: Role, rng: &mut R) -> Result<Delta, Error> {
    let mut bytes = Zeroizing::new([0; Block::BYTES]);
    rng.fill_bytes(&mut *bytes);
    match role {
        Role::Garbler => bytes[0] |= 0b11,
        Role::Evaluator => bytes[0] = bytes[0] & !0b10 | 1,
    }
    Delta::from_block(Block::from_bytes(*bytes))
        .map_err(|_| Error::ApiMisuse("a Δ whose bit 0 is set"))
}

/// One party's side of the base OTs of an epoch: first those for the OTs that the garbler sends,
/// then the others.
pub struct EpochSetup {
    role: Role,
    base: BaseOt,
    id: Digest,
    sending: GarblerSetup,
    receiving: EvaluatorSetup,
}

impl EpochSetup {
    /// Returns the setup of the party `role`.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
    pub fn new<R: CryptoRng + ?Sized>(
        role: Role,
        settings: OtSettings,
        tags: EpochTags,
        rng: &mut R,
    ) -> Result<Self, Error> {
        let delta = fresh_delta(role, rng)?;
        let sending = GarblerSetup::with_delta(settings, tags.sent_by(role), delta, rng)?;
        let receiving = EvaluatorSetup::with(settings, tags.sent_by(role.other()), rng)?;
        Ok(Self {
            role,
            base: settings.base,
            id: tags.id(),
            sending: sending.secured(Security::Malicious),
            receiving: receiving.secured(Security::Malicious),
        })
    }

    /// Returns the id of the future epoch, the same at both parties. Not secret.
    pub fn id(&self) -> &[u8; DIGEST_BYTES] {
        &self.id
    }

    /// Runs the party's side.
    ///
    /// # Errors
    ///
    /// The other party misbehaves, or the wire fails.
    pub async fn run(self, io: &mut Io<'_>) -> Result<EpochBase, Error> {
        let (chosen, offered) = match self.role {
            Role::Garbler => {
                let chosen = self.sending.run(io).await?;
                (chosen, self.receiving.run(io).await?)
            }
            Role::Evaluator => {
                let offered = self.receiving.run(io).await?;
                (self.sending.run(io).await?, offered)
            }
        };
        Ok(EpochBase {
            role: self.role,
            base: self.base,
            id: self.id,
            chosen,
            offered,
        })
    }
}

/// One party's base OTs of an epoch: those in which it chose with its Δ, and those in which it
/// offered.
pub struct EpochBase {
    role: Role,
    base: BaseOt,
    id: Digest,
    chosen: ChosenBase,
    offered: OfferedBase,
}

impl EpochBase {
    /// Returns the epoch.
    ///
    /// # Errors
    ///
    /// None that the caller can cause.
    pub fn epoch(self) -> Result<Epoch, Error> {
        let transfers = Transfers {
            sender: self.chosen.ots()?,
            receiver: self.offered.ots()?,
        };
        Ok(transfers.epoch((self.role, self.id)))
    }

    /// Returns the record that the runs of a chain keep: the party's role, the assumption of the
    /// base OTs, and both sets.
    pub(super) fn kept(self) -> (Role, BaseOt, [SpareSet; 2]) {
        let sets = [self.chosen.kept(), self.offered.kept()];
        (self.role, self.base, sets)
    }
}

/// Returns both sides of an epoch whose base OTs come from a trusted dealer, under the Δ of a test.
#[cfg(test)]
pub(super) fn dealt(
    tags: EpochTags,
    deltas: [Delta; 2],
    rng: &mut tacit_kernels::Prg,
) -> [Epoch; 2] {
    use crate::setup::dealt_under;
    let id = tags.id();
    let [garblers, evaluators] = deltas;
    let (a_sends, b_receives) = dealt_under(garblers, &tags.garbler, rng);
    let (b_sends, a_receives) = dealt_under(evaluators, &tags.evaluator, rng);
    let epoch = |role, sender, receiver| Transfers { sender, receiver }.epoch((role, id));
    [
        epoch(Role::Garbler, a_sends, a_receives),
        epoch(Role::Evaluator, b_sends, b_receives),
    ]
}

/// Returns two fresh Δ.
#[cfg(test)]
pub(super) fn fresh_deltas(rng: &mut tacit_kernels::Prg) -> [Delta; 2] {
    Role::BOTH.map(|role| fresh_delta(role, rng).expect("bit 0 is set"))
}
