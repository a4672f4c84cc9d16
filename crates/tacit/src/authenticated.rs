//! A run of `authenticated`, from nothing.

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::Role;
use tacit_garble::SchemeId;
use tacit_kernels::Construction;
use tacit_protocol::authenticated::{Epoch, Evaluator, Garbler, Terms};
use tacit_protocol::party::Progress;
use zeroize::Zeroizing;

use crate::driver::drive;
use crate::{Error, Session};

/// The hash of gates under a scheme, which is half-gates.
///
/// # Errors
///
/// The scheme is another.
pub(crate) fn construction(scheme: SchemeId) -> Result<Construction, Error> {
    match scheme {
        SchemeId::HALF_GATES_TWO_CALL => Ok(Construction::TwoCall),
        SchemeId::HALF_GATES_REKEYED => Ok(Construction::Rekeyed),
        scheme => Err(Error::SchemeNotForAuthenticated { scheme }),
    }
}

/// One party's side of a run, once both have agreed on it.
pub(crate) struct AuthenticatedRun<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) terms: Terms<'a>,
    pub(crate) inputs: &'a [bool],
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

impl AuthenticatedRun<'_> {
    /// This party's output bits in port order, and the epoch for the next run.
    ///
    /// # Errors
    ///
    /// Whatever ends the run. The epoch is then gone.
    pub(crate) fn run(self, epoch: Epoch) -> Result<(Zeroizing<Vec<bool>>, Epoch), Error> {
        let Self {
            session,
            terms,
            inputs,
            watch,
        } = self;
        let mut seed = Zeroizing::new([0; 32]);
        UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
        Ok(match epoch.role() {
            Role::Garbler => {
                let mut party = Garbler::new(terms, inputs, epoch, &seed)?;
                drive(session.channel(), &mut party, watch)?;
                party.finish()?
            }
            Role::Evaluator => {
                let mut party = Evaluator::new(terms, inputs, epoch, &seed)?;
                drive(session.channel(), &mut party, watch)?;
                party.finish()?
            }
        })
    }
}
