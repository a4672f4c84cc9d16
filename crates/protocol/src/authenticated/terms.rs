//! The terms of a run, the same at both parties, and the steps that both parties perform.

use tacit_function::{Function, Role};
use tacit_kernels::{Block, Construction, TweakableHash};
use tacit_ot::Outputs;
use zeroize::Zeroizing;

use super::caught::Caught;
use super::epoch::Epoch;
use super::fold::Fold;
use super::gates::public;
use super::oracle::{Domain, Oracle, compare};
use super::parameters::{LotSize, SecurityBits};
use super::share::{Share, Shares};
use super::walk::{CallWalk, Rules};
use crate::Error;
use crate::bits::{BitWriter, bytes_for, check_bits, read_block};
use crate::message::Kind;
use crate::saved::check_size;
use crate::session::RunTag;

/// The function of a run, and the parameters of the run.
#[derive(Clone, Copy)]
pub struct Terms<'f> {
    /// The function.
    pub function: &'f Function,
    /// The run's tag.
    pub tag: RunTag,
    /// The statistical security parameter s.
    pub security: SecurityBits,
    /// The hash of gates.
    pub construction: Construction,
}

impl<'f> Terms<'f> {
    /// Returns the hash of the gates of run number `run` of the epoch.
    pub(super) fn hash(&self, epoch: &Epoch, run: u64) -> TweakableHash {
        let start = self.oracle(epoch, Domain::GateStart, None, run).finish();
        TweakableHash::new(self.construction, read_block(&start))
    }

    /// Returns the hash of `domain`, bound to the run.
    pub(super) fn oracle(
        &self,
        epoch: &Epoch,
        domain: Domain,
        from: Option<Role>,
        run: u64,
    ) -> Oracle {
        let mut oracle = epoch.oracle(domain, from, run);
        oracle.add_bytes(self.tag.as_bytes());
        oracle
    }

    /// Returns the folds of the evaluator's labels and of the garbler's ⟨0⟩.
    pub(super) fn proof_fold(&self, epoch: &Epoch, run: u64) -> Fold<2> {
        Fold::new(self.oracle(epoch, Domain::Proof, None, run))
    }

    /// Returns the walk over shares of masks. An input's mask is its owner's, and a loaded value is
    /// its own mask.
    pub(super) fn masks(
        &self,
        epoch: &Epoch,
        inputs: &Shares,
        loads: &[Share],
    ) -> Result<CallWalk<'f, Share>, Error> {
        let rules = Rules {
            constant: Share::default(),
            negation: epoch.one(),
        };
        let (mut macs, mut keys) = (inputs.macs.iter(), inputs.keys.iter());
        let mut loads = loads.iter();
        let zero = Share::default();
        CallWalk::new(self.function, rules, |port| {
            let share = match self.owner(port).map(|owner| owner == epoch.role()) {
                Some(true) => macs.next().map(|mac| Share { mac: *mac, ..zero }),
                Some(false) => keys.next().map(|key| Share { key: *key, ..zero }),
                None => loads.next().copied(),
            };
            share.ok_or(TOO_FEW)
        })
    }

    /// Returns the owner of the input with this number, or `None` if it is a loaded value.
    fn owner(&self, port: usize) -> Option<Role> {
        self.function.inputs().get(port).map(|input| input.owner)
    }

    /// Returns the walk over the contents that `of` computes from each input bit's masked value.
    /// `masked` has those of this party and of the other party. The masked value of a loaded value
    /// is 0.
    pub(super) fn walk<T: super::walk::Wire>(
        &self,
        role: Role,
        rules: Rules<T>,
        masked: [&[bool]; 2],
        mut of: impl FnMut(bool) -> T,
    ) -> Result<CallWalk<'f, T>, Error> {
        let mut bits = masked.map(|bits| bits.iter());
        CallWalk::new(self.function, rules, |port| {
            let masked = match self.owner(port) {
                Some(owner) => bits[usize::from(owner != role)].next().copied(),
                None => Some(false),
            };
            masked.map(&mut of).ok_or(TOO_FEW)
        })
    }
}

/// Returns the next lot of a run that still needs triples for `gates` gates.
pub(super) fn next_lot(gates: u64, security: SecurityBits) -> LotSize {
    #[cfg(test)]
    let gates = MOST_TRIPLES.get().map_or(gates, |most| gates.min(most));
    LotSize::cheapest(gates, security)
}

/// Checks that `authenticated` can run `function`.
///
/// # Errors
///
/// The function loads or saves more bits than one run may.
pub fn check(function: &Function) -> Result<(), Error> {
    check_size(function).map(drop)
}

/// Returns the bits of a party's inputs under its masks.
pub(super) fn mask_inputs(inputs: &[bool], masks: &Outputs) -> Zeroizing<Vec<bool>> {
    let masked = inputs.iter().zip(masks.iter());
    Zeroizing::new(
        masked
            .map(|(input, mask)| input ^ bool::from(mask.lsb()))
            .collect(),
    )
}

/// Appends this party's bits of the masks of results, and a digest of their MACs.
pub(super) fn open_results(mut macs: Oracle, masks: &[Share], message: &mut Vec<u8>) {
    masks.iter().for_each(|mask| macs.add(mask.mac));
    let mut bits = BitWriter::with_capacity(masks.len());
    masks
        .iter()
        .for_each(|mask| bits.push(mask.bit().unwrap_u8().into()));
    message.extend_from_slice(&bits.take());
    message.extend_from_slice(&macs.finish());
}

/// Returns the results with these masked values, under `masks`, which the other party opens.
pub(super) fn results(
    mut macs: Oracle,
    delta: Block,
    masks: &[Share],
    masked: impl Iterator<Item = bool>,
    (kind, opening): (Kind, &[u8]),
) -> Result<Zeroizing<Vec<bool>>, Error> {
    let (bits, digest) = opening.split_at(bytes_for(masks.len()));
    check_bits(kind, bits, masks.len())?;
    for (i, mask) in masks.iter().enumerate() {
        macs.add(mask.others_mac(public(bits, i), delta));
    }
    compare(&macs.finish(), digest, Caught::Results)?;
    let both = masks.iter().zip(masked).enumerate();
    let results = both
        .map(|(i, (mask, masked))| masked ^ bool::from(mask.bit()) ^ bool::from(public(bits, i)));
    Ok(Zeroizing::new(results.collect()))
}

#[cfg(test)]
thread_local! {
    /// The largest number of triples of a lot, so that a test need not run a function of a million
    /// gates.
    pub(super) static MOST_TRIPLES: std::cell::Cell<Option<u64>> =
        const { std::cell::Cell::new(None) };
}

const TOO_FEW: Error = Error::ApiMisuse("one bit for each input wire");
