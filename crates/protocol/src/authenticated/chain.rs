//! A chain of runs that keep values: the Δ of both parties, and base OTs under them.
//!
//! A run of a chain draws nothing of its own. Its epoch has the chain's Δ, and its OTs come of the
//! base OTs that the chain began with, which are hashed forward before every attempt: the attempt
//! takes one half of each hash, and the other half is kept. So the other party's Δ is what it chose
//! with when the chain began, however it behaves later; no attempt has the OTs of another; and what
//! is on the disk tells nothing of those that were.
//!
//! After the fields of [`PairChain`], all secret:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | on what the base OTs rest: 0 ristretto255, 1 ML-KEM-768; no secret |
//! | 129 · 16 | this party's Δ, and the key of each OT in which it chose with it |
//! | 256 · 16 | both keys of each OT in which it offered |

use tacit_function::Role;
use tacit_kernels::Block;
use tacit_ot::Delta;
use tacit_ot::base::BaseOt;
use tacit_ot::spare::SpareSet;
use zeroize::Zeroizing;

use super::epoch::{Epoch, EpochBase};
use crate::Error;
use crate::saved::{BROKEN, ChainId, ChainVersion, PairChain, Reader, StoredChain};
use crate::session::{RunTag, base_ot_byte, base_ot_of_byte};
use crate::setup::OtSettings;

const CHOSEN_BYTES: usize = (1 + Delta::BITS) * Block::BYTES;
const OFFERED_BYTES: usize = 2 * Delta::BITS * Block::BYTES;

/// One party's end of a chain of runs. Secret.
pub struct SharedChain {
    place: PairChain,
    role: Role,
    base: BaseOt,
    /// Base OTs of later attempts: those in which this party chose, and those in which it offered.
    later: [SpareSet; 2],
    /// Those of this attempt, until a run takes them.
    now: Option<[SpareSet; 2]>,
}

impl SharedChain {
    /// The chain that the run `tag` begins, from base OTs that were made for it alone.
    #[must_use]
    pub fn new(tag: &RunTag, base: EpochBase) -> Self {
        let (role, base, later) = base.kept();
        let mut chain = Self {
            place: PairChain::new(tag),
            role,
            base,
            later,
            now: None,
        };
        chain.forward();
        chain
    }

    /// Which party this is.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// On what its base OTs rest, and with them every run of it.
    #[must_use]
    pub fn base_ot(&self) -> BaseOt {
        self.base
    }

    /// The version that a run loads from, and the attempt.
    #[must_use]
    pub fn place(&self) -> (ChainVersion, u64) {
        self.place.place()
    }

    fn forward(&mut self) {
        self.now = Some(self.later.each_mut().map(SpareSet::forward));
    }

    /// The epoch of the attempt that the chain is at, for the run `tag`. An attempt has one.
    ///
    /// # Errors
    ///
    /// The chain was not forwarded since it was read or had an epoch, or is not of this role.
    pub fn epoch(&mut self, tag: &RunTag, settings: OtSettings) -> Result<Epoch, Error> {
        let sets = self.now.take().ok_or(Error::ApiMisuse(
            "a chain goes forward before each attempt, which has one epoch",
        ))?;
        Epoch::of_chain((self.role, self.id()), sets, settings, tag)
    }

    const fn whose(role: Role) -> u8 {
        match role {
            Role::Garbler => 4,
            Role::Evaluator => 5,
        }
    }
}

impl StoredChain for SharedChain {
    fn id(&self) -> ChainId {
        self.place.id()
    }

    fn forward_to(&mut self, attempt: u64) -> Result<(), Error> {
        let (_, before) = self.place();
        self.place.forward_to(attempt)?;
        (before..attempt).for_each(|_| self.forward());
        Ok(())
    }

    fn at_version(mut self, version: u64) -> Self {
        self.place = self.place.at_version(version);
        self
    }

    fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let room = PairChain::BYTES + 1 + CHOSEN_BYTES + OFFERED_BYTES;
        let mut bytes = Zeroizing::new(Vec::with_capacity(room));
        self.place.write(Self::whose(self.role), &mut bytes);
        bytes.push(base_ot_byte(self.base));
        for set in &self.later {
            bytes.extend_from_slice(&set.to_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let of = |role: &Role| bytes.get(1) == Some(&Self::whose(*role));
        let role = [Role::Garbler, Role::Evaluator].into_iter().find(of);
        let role = role.ok_or(BROKEN)?;
        let mut reader = Reader(bytes);
        let place = PairChain::read(Self::whose(role), &mut reader)?;
        let [base] = reader.array()?;
        if reader.0.len() != CHOSEN_BYTES + OFFERED_BYTES {
            return Err(BROKEN);
        }
        let (chosen, offered) = reader.0.split_at(CHOSEN_BYTES);
        let set = |bytes| SpareSet::from_bytes(bytes).ok_or(BROKEN);
        Ok(Self {
            place,
            role,
            base: base_ot_of_byte(base).ok_or(BROKEN)?,
            later: [set(chosen)?, set(offered)?],
            now: None,
        })
    }
}
