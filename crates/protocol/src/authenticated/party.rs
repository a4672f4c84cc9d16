//! How a run starts and ends, the same at both parties.

use tacit_function::Role;
use zeroize::Zeroizing;

use super::epoch::Epoch;
use super::stocked::StockedTriples;
use super::terms::Terms;
use crate::Error;
use crate::party::Party;
use crate::saved::SharedHalf;

/// A party of a run: [`Garbler`](super::Garbler) or [`Evaluator`](super::Evaluator).
pub trait AuthenticatedParty<'f>: Party + Sized {
    /// Its role.
    const ROLE: Role;

    /// A run from nothing with this party's input bits, in port order. `seed` is random, secret
    /// and used for this run alone.
    ///
    /// # Errors
    ///
    /// `inputs` are not as many as the function asks of this party, the function has saved values,
    /// or the epoch is the other party's.
    fn new(
        terms: Terms<'f>,
        inputs: &[bool],
        epoch: Epoch,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        Self::in_chain(terms, (inputs, &[]), epoch, seed)
    }

    /// The same of a function that loads or saves values, under the epoch of an attempt of their
    /// chain, with this party's halves of what is loaded.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new); or what is loaded is not there, of another chain, or of another
    /// type than was saved.
    fn in_chain(
        terms: Terms<'f>,
        given: (&[bool], &[SharedHalf]),
        epoch: Epoch,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        Self::begin(terms, given, (epoch, None), seed)
    }

    /// The same from triples of a stock, as many as [`blocks_for`](super::blocks_for) says. The
    /// epoch that it gives back serves no other run.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), or a block cannot be read or is of another lot.
    fn from_stock(
        terms: Terms<'f>,
        inputs: &[bool],
        triples: StockedTriples<'f>,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error> {
        let epoch = triples.epoch(Self::ROLE)?;
        Self::begin(terms, (inputs, &[]), (epoch, Some(triples)), seed)
    }

    /// A run under an epoch, from the triples of a stock if there are any: what the three others
    /// come to.
    ///
    /// # Errors
    ///
    /// Theirs.
    fn begin(
        terms: Terms<'f>,
        given: (&[bool], &[SharedHalf]),
        source: (Epoch, Option<StockedTriples<'f>>),
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Self, Error>;

    /// What the run saves, in the function's order; and the run, which goes on to its results from
    /// there. To be called when the run has stopped, with nothing to do and no results yet; and to
    /// be driven on only when both parties have kept what they save.
    ///
    /// # Errors
    ///
    /// The run saves nothing, or has not stopped for it.
    fn save(self) -> Result<(Vec<SharedHalf>, Self), Error>;

    /// This party's output bits in port order, and the epoch for the next run.
    ///
    /// # Errors
    ///
    /// The run is not done.
    fn finish(self) -> Result<(Zeroizing<Vec<bool>>, Epoch), Error>;
}
