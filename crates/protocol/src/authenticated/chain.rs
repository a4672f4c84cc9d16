//! A chain of runs that keep values: both parties' Δ, and base OTs under them.
//!
//! A run of a chain draws no Δ and no base OTs. Its epoch has the chain's Δ, and its OTs come from
//! the base OTs with which the chain started. These are hashed forward before every attempt: the
//! attempt takes one half of each hash, and the other half is kept. So the other party's Δ remains
//! the one with which it chose when the chain started, however it behaves later. No attempt has the
//! OTs of another, and the stored state reveals nothing about earlier OTs.
//!
//! After the fields of [`PairChain`], all secret:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | the assumption of the base OTs: 0 ristretto255, 1 ML-KEM-768; not secret |
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
    /// Base OTs for later attempts: those in which this party chose, and those in which it offered.
    later: [SpareSet; 2],
    /// Base OTs for this attempt, until a run takes them.
    now: Option<[SpareSet; 2]>,
}

impl SharedChain {
    /// Returns the chain that the run `tag` starts, from base OTs that were made only for it.
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

    /// Returns this party's role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the assumption of the chain's base OTs, on which every run of the chain rests.
    pub fn base_ot(&self) -> BaseOt {
        self.base
    }

    /// Returns the version that a run loads from, and the attempt.
    pub fn place(&self) -> (ChainVersion, u64) {
        self.place.place()
    }

    fn forward(&mut self) {
        self.now = Some(self.later.each_mut().map(SpareSet::forward));
    }

    /// Returns the epoch of the chain's current attempt, for the run `tag`. An attempt has one
    /// epoch.
    ///
    /// # Errors
    ///
    /// The chain was not forwarded since it was read or since its last epoch, or does not have this
    /// role.
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
        let role = Role::BOTH.into_iter().find(of);
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
