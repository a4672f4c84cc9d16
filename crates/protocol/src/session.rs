//! The agreement of two parties on a run, and the tags that bind a run to it.
//!
//! Once a session, both parties send a greeting (`hello`). Once a run, the connecting party
//! proposes the run. The listening party accepts it, or the session ends and each party names the
//! difference. Everything later is bound to the [`RunTag`], which both parties compute from these
//! messages.
//!
//! `hello`, 42 or 58 bytes; the first ten keep their place in every version:
//!
//! | byte | field |
//! |---|---|
//! | 0..8 | `tacit\r\n\0` |
//! | 8..10 | version of the wire, little-endian |
//! | 10..42 | nonce |
//! | 42..58 | name of the sender's process, if its party has several: a lane |
//!
//! A proposal, 49 bytes, which `propose` and `accept` carry:
//!
//! | byte | field |
//! |---|---|
//! | 0 | protocol |
//! | 1 | sender's role: 1 garbler, 2 evaluator |
//! | 2 | statistical security parameter s; 0 in a semi-honest protocol |
//! | 3 | base OTs: 0 ristretto255, 1 ML-KEM-768 |
//! | 4..8 | scheme id; of `gmw` the version of its [rules](crate::gmw::RULES), little-endian |
//! | 8..16 | number of the run in the session, from 0, little-endian |
//! | 16..48 | the function's digest |
//! | 48 | OT extension: k from 1 to 8 for SoftSpoken, 18 for silent |

mod tags;

use core::fmt;

use tacit_circuit::Digest;
use tacit_function::Role;
use tacit_garble::SchemeId;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;

use crate::message::{Kind, array, one_byte_enum};
use crate::{Error, Incompatibility, Misbehaviour, gmw};

pub use tags::{RunId, RunTag, SessionId, SessionTag};

/// The version of the wire. Both parties must speak the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(pub u16);

impl Version {
    /// The version that this release speaks.
    pub const CURRENT: Self = Self(16);
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

one_byte_enum! {
    /// The way in which a function is run.
    ProtocolId {
        /// Garble, stream and evaluate in one pass; semi-honest.
        Direct = 1, "direct";
        /// Link components that were garbled before the run; semi-honest.
        Prepared = 2, "prepared";
        /// Fill the stock for later runs of `prepared` or, with statistical security, of `batch`.
        Prepare = 3, "prepare";
        /// Run an execution that was checked before the run; malicious.
        Batch = 4, "batch";
        /// Have a cloud do the evaluator's work, and keep values between runs; three parties.
        Outsourced = 5, "outsourced";
        /// Run any function once, with or without prepared material; malicious.
        Authenticated = 6, "authenticated";
        /// Report what the peer may ask for. This is no run, and only a service answers it.
        Offers = 7, "offers";
        /// Share values by XOR, and open one layer at a time; semi-honest.
        Gmw = 8, "gmw";
        /// Find the keys that two tables have in common: no function; semi-honest.
        Match = 9, "match";
    }
}

/// A session's greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Random; never used twice.
    pub nonce: [u8; 32],
    /// The name of the sender's process among several of its party; zeros if it has one.
    pub lane: [u8; 16],
}

impl Hello {
    /// The size in bytes without a lane.
    pub const BYTES: usize = 42;
    const MAGIC: [u8; 8] = *b"tacit\r\n\0";

    /// Returns the greeting of a party with one process.
    pub const fn of(nonce: [u8; 32]) -> Self {
        let lane = [0; 16];
        Self { nonce, lane }
    }

    /// Returns the greeting's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let version = Version::CURRENT.0.to_le_bytes();
        let lane: &[u8] = if self.lane == [0; 16] {
            &[]
        } else {
            &self.lane
        };
        [&Self::MAGIC[..], &version, &self.nonce, lane].concat()
    }

    /// Returns the peer's greeting, checked against this party's.
    ///
    /// # Errors
    ///
    /// The bytes are no greeting, or one of another version, or this party's own.
    pub fn parse(bytes: &[u8], ours: &Self) -> Result<Self, Error> {
        let Some((Self::MAGIC, rest)) = bytes.split_first_chunk().map(|(m, rest)| (*m, rest))
        else {
            return Err(Misbehaviour::NotTacit.into());
        };
        let Some((version, nonce)) = rest.split_first_chunk() else {
            return Err(Misbehaviour::NotTacit.into());
        };
        let theirs = Version(u16::from_le_bytes(*version));
        if theirs != Version::CURRENT {
            return Err(Incompatibility::Version {
                ours: Version::CURRENT,
                theirs,
            }
            .into());
        }
        let wrong_length = || Misbehaviour::WrongLength {
            kind: Kind::Hello,
            expected: Self::BYTES as u64,
            found: bytes.len() as u64,
        };
        let (nonce, lane) = nonce.split_first_chunk().ok_or_else(wrong_length)?;
        let lane = match <[u8; 16]>::try_from(lane) {
            Ok(lane) if lane != [0; 16] => lane,
            Err(_) if lane.is_empty() => [0; 16],
            _ => return Err(wrong_length().into()),
        };
        if *nonce == ours.nonce {
            return Err(Misbehaviour::Reflected.into());
        }
        Ok(Self {
            nonce: *nonce,
            lane,
        })
    }
}

/// The run that one party wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The protocol.
    pub protocol: ProtocolId,
    /// The proposing party's role.
    pub role: Role,
    /// The statistical security parameter, 0 in a semi-honest protocol.
    pub statistical_security_bits: u8,
    /// The assumption that the session's base OTs rest on.
    pub base_ot: BaseOt,
    /// The extension that makes the session's OTs.
    pub ot_extension: Extension,
    /// The garbling scheme. `gmw` has none, and its proposals do not carry it.
    pub scheme: SchemeId,
    /// The number of the run in the session.
    pub run: u64,
    /// The function.
    pub function: Digest,
}

impl Proposal {
    /// The size in bytes.
    pub const BYTES: usize = 49;

    /// Returns the garbler's proposal for the first run of a session with default OTs, by a
    /// semi-honest protocol.
    pub fn first(protocol: ProtocolId, scheme: SchemeId, function: Digest) -> Self {
        Self {
            protocol,
            role: Role::Garbler,
            statistical_security_bits: 0,
            base_ot: BaseOt::default(),
            ot_extension: Extension::default(),
            scheme,
            run: 0,
            function,
        }
    }

    /// Returns the proposal's bytes.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.protocol.byte();
        bytes[1] = role_byte(self.role);
        bytes[2] = self.statistical_security_bits;
        bytes[3] = base_ot_byte(self.base_ot);
        bytes[4..8].copy_from_slice(&match self.protocol {
            ProtocolId::Gmw => gmw::RULES.to_le_bytes(),
            _ => self.scheme.to_bytes(),
        });
        bytes[8..16].copy_from_slice(&self.run.to_le_bytes());
        bytes[16..48].copy_from_slice(&self.function.0);
        bytes[48] = self.ot_extension.id();
        bytes
    }

    /// Returns the peer's proposal from a message of kind `kind`.
    ///
    /// # Errors
    ///
    /// The message is malformed, or names a protocol, a scheme or a method of making OTs that this
    /// version does not know.
    pub fn parse(kind: Kind, bytes: &[u8]) -> Result<Self, Error> {
        let bytes: [u8; Self::BYTES] = array(kind, bytes)?;
        let invalid = |field| Misbehaviour::invalid(kind, field);
        let field = |range: core::ops::Range<usize>| &bytes[range];
        let role = match bytes[1] {
            1 => Role::Garbler,
            2 => Role::Evaluator,
            _ => return Err(invalid("role").into()),
        };
        let base_ot = base_ot_of_byte(bytes[3]);
        let base_ot = base_ot.ok_or(Incompatibility::Unknown("kind of base OT"))?;
        let ot_extension =
            Extension::from_id(bytes[48]).map_err(|_| Incompatibility::Unknown("OT extension"))?;
        let protocol =
            ProtocolId::from_byte(bytes[0]).ok_or(Incompatibility::Unknown("protocol"))?;
        let scheme: [u8; 4] = field(4..8).try_into().map_err(|_| invalid("scheme"))?;
        let run = field(8..16).try_into().map_err(|_| invalid("run"))?;
        let function = field(16..48).try_into().map_err(|_| invalid("function"))?;
        Ok(Self {
            protocol,
            role,
            statistical_security_bits: bytes[2],
            base_ot,
            ot_extension,
            scheme: scheme_of(protocol, scheme)?,
            run: u64::from_le_bytes(run),
            function: Digest(function),
        })
    }

    /// Checks that the peer wants the same as this party, in the other role.
    ///
    /// # Errors
    ///
    /// The first difference, with both sides' values.
    pub fn check(&self, theirs: &Self) -> Result<(), Incompatibility> {
        let ours = self;
        if theirs.role == ours.role {
            return Err(Incompatibility::SameRole(ours.role.name()));
        }
        if theirs.protocol != ours.protocol {
            let (ours, theirs) = (ours.protocol, theirs.protocol);
            return Err(Incompatibility::Protocol { ours, theirs });
        }
        if theirs.function != ours.function {
            let protocol = ours.protocol;
            let (ours, theirs) = (ours.function, theirs.function);
            return Err(match protocol {
                ProtocolId::Prepare => Incompatibility::Order { ours, theirs },
                ProtocolId::Match => Incompatibility::other_match(ours, theirs),
                _ => Incompatibility::Function { ours, theirs },
            });
        }
        if theirs.scheme != ours.scheme && ours.protocol != ProtocolId::Gmw {
            let (ours, theirs) = (ours.scheme, theirs.scheme);
            return Err(Incompatibility::Scheme { ours, theirs });
        }
        if theirs.statistical_security_bits != ours.statistical_security_bits {
            let (ours, theirs) = (
                ours.statistical_security_bits,
                theirs.statistical_security_bits,
            );
            return Err(Incompatibility::StatisticalSecurity { ours, theirs });
        }
        if theirs.base_ot != ours.base_ot {
            let (ours, theirs) = (ours.base_ot, theirs.base_ot);
            return Err(Incompatibility::BaseOt { ours, theirs });
        }
        if theirs.ot_extension != ours.ot_extension {
            let (ours, theirs) = (ours.ot_extension, theirs.ot_extension);
            return Err(Incompatibility::OtExtension { ours, theirs });
        }
        if theirs.run != ours.run {
            let (ours, theirs) = (ours.run, theirs.run);
            return Err(Incompatibility::RunNumber { ours, theirs });
        }
        Ok(())
    }
}

/// Returns the scheme in these bytes of a proposal. Those of `gmw` hold the version of its rules
/// instead.
fn scheme_of(protocol: ProtocolId, bytes: [u8; 4]) -> Result<SchemeId, Incompatibility> {
    match protocol {
        ProtocolId::Gmw if bytes == gmw::RULES.to_le_bytes() => Ok(SchemeId::HALF_GATES_TWO_CALL),
        ProtocolId::Gmw => Err(Incompatibility::Unknown("version of the rules of gmw")),
        _ => SchemeId::from_bytes(bytes).map_err(|_| Incompatibility::Unknown("garbling scheme")),
    }
}

fn role_byte(role: Role) -> u8 {
    match role {
        Role::Garbler => 1,
        Role::Evaluator => 2,
    }
}

/// Returns the kind's byte on the wire.
pub fn base_ot_byte(kind: BaseOt) -> u8 {
    match kind {
        BaseOt::Ristretto255 => 0,
        BaseOt::MlKem768 => 1,
        // A test checks that every kind of the library has a byte on the wire.
        _ => u8::MAX,
    }
}

/// Returns the kind with this byte.
pub fn base_ot_of_byte(byte: u8) -> Option<BaseOt> {
    BaseOt::ALL
        .into_iter()
        .find(|kind| base_ot_byte(*kind) == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn proposal() -> Proposal {
        Proposal {
            run: 7,
            ..Proposal::first(
                ProtocolId::Direct,
                SchemeId::HALF_GATES_TWO_CALL,
                Digest([9; 32]),
            )
        }
    }

    #[test]
    fn every_extension_goes_over_the_wire_and_a_difference_is_named() {
        let ours = Proposal {
            role: Role::Evaluator,
            ..proposal()
        };
        for extension in Extension::NAMED {
            let mut theirs = proposal();
            theirs.ot_extension = extension;
            let bytes = theirs.to_bytes();
            assert_eq!(Proposal::parse(Kind::Propose, &bytes), Ok(theirs));
            let differs = Incompatibility::OtExtension {
                ours: ours.ot_extension,
                theirs: extension,
            };
            let expected = if extension == ours.ot_extension {
                Ok(())
            } else {
                Err(differs)
            };
            assert_eq!(ours.check(&theirs), expected);
            let mut unknown = bytes;
            unknown[48] = 9;
            let refused = Proposal::parse(Kind::Propose, &unknown).unwrap_err();
            assert!(refused.to_string().contains("OT extension"), "{refused}");
        }
    }

    #[test]
    fn every_kind_of_base_ot_has_a_byte_of_its_own() {
        let mut proposal = proposal();
        for kind in BaseOt::ALL {
            proposal.base_ot = kind;
            let bytes = proposal.to_bytes();
            let parsed = Proposal::parse(Kind::Propose, &bytes).unwrap();
            assert_eq!(parsed.base_ot, kind);
            let mut unknown = bytes;
            unknown[3] = u8::MAX;
            let refused = Proposal::parse(Kind::Propose, &unknown).unwrap_err();
            assert!(refused.to_string().contains("kind of base OT"), "{refused}");
        }
    }
}
