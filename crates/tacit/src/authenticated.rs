//! A run of `authenticated`, from nothing.

mod chained;

use tacit_function::Role;
use tacit_garble::SchemeId;
use tacit_kernels::Construction;
use tacit_protocol::authenticated::{
    AuthenticatedParty, Epoch, Evaluator, Garbler, SecurityBits, Terms,
};
use tacit_protocol::party::Progress;
use zeroize::Zeroizing;

use crate::driver::{drive, seed};
use crate::stock::Tried;
use crate::stock::tries::CountedTry;
use crate::{Error, Session};

pub(crate) use chained::{ChainedOutcome, ChainedRun};

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

/// The s of a run that was asked for at `bits` and is raised by `charge_bits` for tries that were
/// not finished.
///
/// # Errors
///
/// There is no such s, or it is more than there is.
pub(crate) fn planned_at(
    bits: u8,
    charge_bits: u8,
    tried: Option<&CountedTry>,
) -> Result<SecurityBits, Error> {
    let charged = SecurityBits::new(bits)?.charged(charge_bits);
    charged.ok_or(Error::TooManyTries {
        tried: Tried::Authenticated,
        unfinished: tried.map_or(0, |tried| tried.before),
    })
}

/// One party's side of a run, once both have agreed on it.
pub(crate) struct AuthenticatedRun<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) terms: Terms<'a>,
    pub(crate) inputs: &'a [bool],
    pub(crate) watch: &'a mut dyn FnMut(Progress),
}

impl<'a> AuthenticatedRun<'a> {
    /// This party's output bits in port order, and the epoch for the next run.
    ///
    /// # Errors
    ///
    /// Whatever ends the run. The epoch is then gone.
    pub(crate) fn run(self, epoch: Epoch) -> Result<(Zeroizing<Vec<bool>>, Epoch), Error> {
        match epoch.role() {
            Role::Garbler => self.play::<Garbler<'a>>(epoch),
            Role::Evaluator => self.play::<Evaluator<'a>>(epoch),
        }
    }

    fn play<P: AuthenticatedParty<'a>>(
        self,
        epoch: Epoch,
    ) -> Result<(Zeroizing<Vec<bool>>, Epoch), Error> {
        let mut party = P::new(self.terms, self.inputs, epoch, &seed())?;
        drive(self.session.channel(), &mut party, self.watch)?;
        Ok(party.finish()?)
    }
}
