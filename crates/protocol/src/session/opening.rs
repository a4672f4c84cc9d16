//! What `propose` and `accept` carry: a proposal, and base OTs that the parties have left from an
//! earlier session.
//!
//! | byte | field |
//! |---|---|
//! | 0..49 | the [`Proposal`] |
//! | 49 | spare base OTs: 0 none are kept, 1 none serve, 2 the set that follows |
//! | 50..66 | name of the set's batch, else zeros |
//! | 66..68 | the set's number, little-endian, else zeros |

use tacit_ot::spare::BatchName;

use super::Proposal;
use crate::message::{Kind, array};
use crate::{Error, Misbehaviour};

/// What a party says of spare base OTs for the roles of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpareOffer {
    /// It keeps none, or the run takes none.
    #[default]
    None,
    /// It keeps them, and has none that serve: both make a batch.
    Wanted,
    /// The connecting party has taken this set for the run, and the listening one takes it, too.
    Set {
        /// Its batch.
        batch: BatchName,
        /// Its number in the batch.
        number: u16,
    },
}

/// What an offer and its answer lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpareAgreement {
    /// Base OTs are made for this session alone.
    Fresh,
    /// A batch is made, and its first set is the session's.
    Make,
    /// Both take the set that was named.
    Take,
}

impl SpareOffer {
    /// Returns what this offer of the connecting party and the listening one's answer lead to.
    ///
    /// # Errors
    ///
    /// The answer names what was not offered.
    pub fn agreement(self, answer: Self) -> Result<SpareAgreement, Error> {
        match (self, answer) {
            (_, Self::None) => Ok(SpareAgreement::Fresh),
            (Self::Wanted | Self::Set { .. }, Self::Wanted) => Ok(SpareAgreement::Make),
            (Self::Set { .. }, answer) if answer == self => Ok(SpareAgreement::Take),
            _ => Err(invalid(Kind::Accept)),
        }
    }
}

fn invalid(kind: Kind) -> Error {
    let field = "spare base OTs";
    Misbehaviour::InvalidField { kind, field }.into()
}

/// The payload of `propose` and of `accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// What the party wants to run.
    pub proposal: Proposal,
    /// What it says of spare base OTs.
    pub spare: SpareOffer,
}

impl Opening {
    /// Size in bytes.
    pub const BYTES: usize = Proposal::BYTES + 19;

    /// The payload.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (proposal, spare) = bytes.split_at_mut(Proposal::BYTES);
        proposal.copy_from_slice(&self.proposal.to_bytes());
        match self.spare {
            SpareOffer::None => (),
            SpareOffer::Wanted => spare[0] = 1,
            SpareOffer::Set { batch, number } => {
                spare[0] = 2;
                spare[1..17].copy_from_slice(&batch);
                spare[17..].copy_from_slice(&number.to_le_bytes());
            }
        }
        bytes
    }

    /// The peer's payload, in a message of kind `kind`.
    ///
    /// # Errors
    ///
    /// As [`Proposal::parse`].
    pub fn parse(kind: Kind, bytes: &[u8]) -> Result<Self, Error> {
        let bytes: [u8; Self::BYTES] = array(kind, bytes)?;
        let (proposal, spare) = bytes.split_at(Proposal::BYTES);
        let proposal = Proposal::parse(kind, proposal)?;
        let (batch, number) = spare[1..].split_at(16);
        let spare = match spare[0] {
            0 | 1 if spare[1..].iter().any(|byte| *byte != 0) => return Err(invalid(kind)),
            0 => SpareOffer::None,
            1 => SpareOffer::Wanted,
            2 => SpareOffer::Set {
                batch: array(kind, batch)?,
                number: u16::from_le_bytes(array(kind, number)?),
            },
            _ => return Err(invalid(kind)),
        };
        Ok(Self { proposal, spare })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: SpareOffer = SpareOffer::Set {
        batch: [7; 16],
        number: 300,
    };

    #[test]
    fn offers_go_over_the_wire() {
        let proposal = super::super::tests::proposal();
        for spare in [SpareOffer::None, SpareOffer::Wanted, SET] {
            let opening = Opening { proposal, spare };
            let mut bytes = opening.to_bytes();
            assert_eq!(Opening::parse(Kind::Propose, &bytes), Ok(opening));
            assert!(Opening::parse(Kind::Propose, &bytes[1..]).is_err());
            bytes[Proposal::BYTES] = match spare {
                SET => 1,
                _ => 3,
            };
            let refused = Opening::parse(Kind::Accept, &bytes);
            assert_eq!(refused, Err(invalid(Kind::Accept)));
        }
    }

    #[test]
    fn only_what_was_offered_is_taken() {
        let other = SpareOffer::Set {
            batch: [7; 16],
            number: 301,
        };
        let (none, wanted) = (SpareOffer::None, SpareOffer::Wanted);
        for (offer, answer, agreed) in [
            (none, none, Some(SpareAgreement::Fresh)),
            (none, wanted, None),
            (none, SET, None),
            (wanted, none, Some(SpareAgreement::Fresh)),
            (wanted, wanted, Some(SpareAgreement::Make)),
            (wanted, SET, None),
            (SET, none, Some(SpareAgreement::Fresh)),
            (SET, wanted, Some(SpareAgreement::Make)),
            (SET, SET, Some(SpareAgreement::Take)),
            (SET, other, None),
        ] {
            assert_eq!(offer.agreement(answer).ok(), agreed, "{offer:?} {answer:?}");
        }
    }
}
