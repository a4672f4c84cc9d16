//! The tags of a session, of its runs, and of the setups of both.

use core::fmt;

use sha2::{Digest as _, Sha256};
use tacit_function::Role;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;

use super::{Hello, Proposal, Version, base_ot_byte, role_byte};
use crate::saved::SavedState;

/// The value that a session is bound to. Both parties compute the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionTag([u8; 32]);

impl SessionTag {
    /// Returns the tag with these bytes, for test values that do not depend on the version of the
    /// wire.
    #[cfg(test)]
    pub(crate) const fn of_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the tag of a session between these identities after these greetings. `binding` is
    /// the TLS exporter's value of the channel. The identities are fingerprints, or zero where the
    /// channel has none.
    pub fn new(
        binding: &[u8; 32],
        connecting: (&[u8; 32], &Hello),
        listening: (&[u8; 32], &Hello),
    ) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit session 1\0")
            .chain_update(Version::CURRENT.0.to_le_bytes())
            .chain_update(binding)
            .chain_update(connecting.0)
            .chain_update(connecting.1.nonce)
            .chain_update(listening.0)
            .chain_update(listening.1.nonce);
        let lanes = [connecting.1.lane, listening.1.lane];
        let hash = if lanes == [[0; 16]; 2] {
            hash
        } else {
            hash.chain_update(lanes.concat())
        };
        Self(hash.finalize().into())
    }

    /// Returns the session's name for people, which both parties can show to anyone.
    pub fn id(&self) -> SessionId {
        let hash = Sha256::new_with_prefix(b"tacit session id 1\0").chain_update(self.0);
        let mut id = [0; 8];
        id.copy_from_slice(&hash.finalize()[..8]);
        SessionId(id)
    }

    /// Returns the tag of the setup that a session does once between two roles: its base OTs and
    /// the OTs that are made from them.
    pub fn setup(&self, connecting_role: Role, base_ot: BaseOt, extension: Extension) -> RunTag {
        let hash = Sha256::new_with_prefix(b"tacit setup 2\0")
            .chain_update(self.0)
            .chain_update([role_byte(connecting_role), base_ot_byte(base_ot)])
            .chain_update([extension.id()]);
        RunTag(hash.finalize().into())
    }

    /// Returns the tag of the base OTs of an epoch of `authenticated`, for OTs that `sender` sends.
    /// Each direction has its own tag.
    pub fn authenticated_setup(
        &self,
        connecting_role: Role,
        sender: Role,
        base_ot: BaseOt,
        extension: Extension,
    ) -> RunTag {
        let hash = Sha256::new_with_prefix(b"tacit authenticated setup 1\0")
            .chain_update(self.0)
            .chain_update([role_byte(connecting_role), role_byte(sender)])
            .chain_update([base_ot_byte(base_ot), extension.id()]);
        RunTag(hash.finalize().into())
    }

    /// Returns the tag of the OTs of `gmw` that the connecting party sends, or that the other party
    /// sends. Each direction has its own tag.
    pub fn gmw_setup(
        &self,
        connecting_party_sends: bool,
        base_ot: BaseOt,
        extension: Extension,
    ) -> RunTag {
        let hash = Sha256::new_with_prefix(b"tacit gmw setup 1\0")
            .chain_update(self.0)
            .chain_update([u8::from(!connecting_party_sends)])
            .chain_update([base_ot_byte(base_ot), extension.id()]);
        RunTag(hash.finalize().into())
    }

    /// Returns the tag of a run that the connecting party proposed by `proposal`.
    pub fn run(&self, proposal: &Proposal) -> RunTag {
        let hash = Sha256::new_with_prefix(b"tacit run 1\0")
            .chain_update(self.0)
            .chain_update(proposal.to_bytes());
        RunTag(hash.finalize().into())
    }
}

/// The name of a session in the logs of both parties: the beginning of a hash of its tag. It is 16
/// hexadecimal digits as text. It identifies a session, and proves nothing about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 8]);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The name of a run, an order or a matching in the logs of both parties: `SESSION-NUMBER`, with
/// numbers from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunId {
    /// The session.
    pub session: SessionId,
    /// Its number in the session, from 1.
    pub number: u64,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.session, self.number)
    }
}

/// The value that every message and hash of one run, or of a session's setup, is bound to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RunTag([u8; 32]);

impl RunTag {
    /// Returns the tag of the base OTs of a lot of `authenticated`, of triples or instances, that
    /// this order makes for the stock, for OTs that `sender` sends. Each direction has its own tag.
    pub fn triples_setup(&self, sender: Role) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit triples setup 1\0")
            .chain_update(self.0)
            .chain_update([role_byte(sender)]);
        Self(hash.finalize().into())
    }

    /// Returns the tag of the base OTs of lot number `lot`, from 0, of crosses that this order
    /// makes for the stock, for OTs that `sender` sends. Each direction has its own tag.
    pub fn crosses_setup(&self, sender: Role, lot: u64) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit crosses setup 1\0")
            .chain_update(self.0)
            .chain_update([role_byte(sender)])
            .chain_update(lot.to_le_bytes());
        Self(hash.finalize().into())
    }

    /// Returns the tag of the base OTs of the chain of `authenticated` that this run starts, and of
    /// the OTs that a run of a chain makes from them, for OTs that `sender` sends. Each direction
    /// has its own tag.
    pub fn chain_setup(&self, sender: Role) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit chain setup 1\0")
            .chain_update(self.0)
            .chain_update([role_byte(sender)]);
        Self(hash.finalize().into())
    }

    /// Returns the tag of a set of base OTs of this run's matching, whose OTs serve only its VOLE.
    /// Sets are numbered from 0.
    pub fn match_setup(&self, set: u32) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit match setup 1\0").chain_update(self.0);
        let hash = if set > 0 {
            hash.chain_update(set.to_le_bytes())
        } else {
            hash
        };
        Self(hash.finalize().into())
    }

    /// Returns the tag of the same run from this state of saved values on: the chain, its version
    /// and attempt, and the loads.
    pub fn on(&self, state: &SavedState) -> Self {
        let hash = Sha256::new_with_prefix(b"tacit run on saved values 1\0")
            .chain_update(self.0)
            .chain_update(state.to_bytes());
        Self(hash.finalize().into())
    }

    /// Returns the tag's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use tacit_ot::FieldBits;

    use super::*;

    /// OTs of two set-ups under one tag would have the same coefficients, hashes and masks. So
    /// direction, kind, lot, set, base OTs and extension are all in a tag.
    #[test]
    fn no_two_set_ups_have_one_tag() {
        let softspoken = [1, 2].map(|k| Extension::SoftSpoken(FieldBits::new(k).expect("a field")));
        let [one, two] = softspoken;
        let mut tags = Vec::new();
        for session in [SessionTag::of_bytes([1; 32]), SessionTag::of_bytes([2; 32])] {
            for (base, extension) in [
                (BaseOt::Ristretto255, one),
                (BaseOt::Ristretto255, two),
                (BaseOt::Ristretto255, Extension::Silent),
                (BaseOt::MlKem768, one),
            ] {
                for role in Role::BOTH {
                    tags.push(session.setup(role, base, extension));
                    for sender in Role::BOTH {
                        tags.push(session.authenticated_setup(role, sender, base, extension));
                    }
                }
                for sends in [true, false] {
                    tags.push(session.gmw_setup(sends, base, extension));
                }
            }
        }
        assert_eq!(tags.len(), 2 * 4 * (2 + 4 + 2));
        for order in [RunTag([3; 32]), RunTag([4; 32])] {
            tags.push(order);
            tags.extend([0, 1, 1 << 8].map(|set| order.match_setup(set)));
            for sender in Role::BOTH {
                tags.extend([order.triples_setup(sender), order.chain_setup(sender)]);
                tags.extend([0, 1, 1 << 32].map(|lot| order.crosses_setup(sender, lot)));
            }
        }
        let different: HashSet<_> = tags.iter().map(|tag| *tag.as_bytes()).collect();
        assert_eq!(different.len(), tags.len());
    }
}
