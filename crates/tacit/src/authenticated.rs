//! A run of `authenticated` that takes nothing from the stock.

mod chained;

use tacit_garble::SchemeId;
use tacit_kernels::Construction;
use tacit_protocol::authenticated::SecurityBits;

use crate::Error;
use crate::protocols::Protocol;
use crate::stock::Tried;
use crate::stock::tries::CountedTry;

pub(crate) use chained::ChainedRun;

/// Returns the hash that gates use under a scheme. The scheme must be half-gates.
pub(crate) fn construction(scheme: SchemeId) -> Result<Construction, Error> {
    match scheme {
        SchemeId::HALF_GATES_TWO_CALL => Ok(Construction::TwoCall),
        SchemeId::HALF_GATES_REKEYED => Ok(Construction::Rekeyed),
        scheme => Err(Error::SchemeNotFor {
            protocol: Protocol::Authenticated,
            scheme,
        }),
    }
}

/// Returns the s at which a run is planned: `bits`, as asked for, plus `charge_bits` for tries that
/// were not finished.
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
