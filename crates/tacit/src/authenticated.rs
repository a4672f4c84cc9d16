//! A run of `authenticated`, from nothing.

mod chained;

use tacit_garble::SchemeId;
use tacit_kernels::Construction;
use tacit_protocol::authenticated::SecurityBits;

use crate::Error;
use crate::stock::Tried;
use crate::stock::tries::CountedTry;

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
