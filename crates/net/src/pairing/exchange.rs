//! The states of a pairing, one type for each, without I/O.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Invitation, Refusal};
use crate::Fingerprint;

/// The number of codes: six digits, 19.9 bits.
const CODES: u64 = 1_000_000;

/// A code to read aloud.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code(u32);

impl Code {
    fn from_hash(hash: &[u8; 32], at: usize) -> Self {
        let bytes = std::array::from_fn(|i| hash[at + i]);
        // 2^64 is so much larger than the number of codes that the bias is below 2^-44.
        Self((u64::from_be_bytes(bytes) % CODES) as u32)
    }

    /// Returns whether `heard` is this code, with any spacing.
    #[must_use]
    pub fn is(self, heard: &str) -> bool {
        let is_space = |c: char| c.is_whitespace() || c == '-';
        let heard: String = heard.chars().filter(|&c| !is_space(c)).collect();
        heard == format!("{:06}", self.0)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03} {:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(…)")
    }
}

/// The values that both parties of a pairing know and must agree on.
struct Scene {
    invitation: Invitation,
    inviter: Fingerprint,
    accepter: Fingerprint,
    binding: [u8; 32],
}

impl Scene {
    /// Proves that the accepting party knows the secret, bound to this connection and its other
    /// claims.
    fn proof(&self, digest: &[u8; 32], commitment: &[u8; 32]) -> [u8; 32] {
        let values = [
            &self.inviter.0,
            &self.accepter.0,
            &self.binding,
            digest,
            commitment,
        ];
        let values = values.map(|value| &value[..]);
        self.invitation.hash("tacit pairing proof", &values)
    }

    /// Returns the accepting party's first message.
    fn offer(&self, commitment: &[u8; 32]) -> Vec<u8> {
        let (id, digest) = (self.invitation.id(), self.invitation.digest());
        let proof = self.proof(&digest, commitment);
        [&id[..], &proof, &digest, commitment].concat()
    }

    /// Computes the inviting party's code, the accepting one's, and the room, from everything
    /// exchanged.
    fn agree(&self, inviters: &[u8; 32], accepters: &[u8; 32]) -> (Code, Code, [u8; 32]) {
        let digest = self.invitation.digest();
        let values = [
            &digest,
            &self.inviter.0,
            &self.accepter.0,
            &self.binding,
            inviters,
            accepters,
        ];
        let values = values.map(|value| &value[..]);
        let codes = self.invitation.hash("tacit pairing codes", &values);
        let room = self.invitation.hash("tacit run room", &values);
        let code = |at| Code::from_hash(&codes, at);
        (code(0), code(8), room)
    }
}

/// Returns the commitment, which binds the accepting party to its nonce and hides it.
pub(super) fn commitment(nonce: &[u8; 32]) -> [u8; 32] {
    let hash = Sha256::new().chain_update(b"tacit pairing commitment\0");
    hash.chain_update(nonce).finalize().into()
}

/// The values that both parties have once nonces are exchanged.
pub(super) struct Agreed {
    pub(super) peer: Fingerprint,
    /// The code that this party reads aloud.
    pub(super) own: Code,
    /// The code that the other party reads aloud.
    pub(super) theirs: Code,
    pub(super) room: [u8; 32],
}

/// The state of the accepting party after it has sent its offer.
pub(super) struct Accepting {
    scene: Scene,
    nonce: [u8; 32],
}

impl Accepting {
    /// Starts with a connection of this binding to the inviting party. Returns the state, and the
    /// offer to send.
    pub(super) fn new(
        invitation: &Invitation,
        own: Fingerprint,
        binding: [u8; 32],
        nonce: [u8; 32],
    ) -> (Self, Vec<u8>) {
        let scene = Scene {
            invitation: invitation.clone(),
            inviter: invitation.inviter(),
            accepter: own,
            binding,
        };
        let offer = scene.offer(&commitment(&nonce));
        (Self { scene, nonce }, offer)
    }

    /// Reads the inviting party's nonce. Returns the opening to send, or `None` if it is no nonce.
    pub(super) fn hear(self, theirs: &[u8]) -> Option<([u8; 32], Agreed)> {
        let theirs: &[u8; 32] = theirs.try_into().ok()?;
        let (inviters, accepters, room) = self.scene.agree(theirs, &self.nonce);
        let agreed = Agreed {
            peer: self.scene.inviter,
            own: accepters,
            theirs: inviters,
            room,
        };
        Some((self.nonce, agreed))
    }
}

/// The state of the inviting party once somebody has connected to it.
pub(super) struct Invited(Scene);

impl Invited {
    pub(super) fn new(
        invitation: &Invitation,
        own: Fingerprint,
        peer: Fingerprint,
        binding: [u8; 32],
    ) -> Self {
        Self(Scene {
            invitation: invitation.clone(),
            inviter: own,
            accepter: peer,
            binding,
        })
    }

    /// Reads the offer.
    pub(super) fn hear(self, offer: &[u8]) -> Result<Offered, Refusal> {
        let malformed = Refusal::Malformed;
        let (id, rest) = offer.split_first_chunk::<16>().ok_or(malformed)?;
        let (proof, rest) = rest.split_first_chunk::<32>().ok_or(malformed)?;
        let (digest, rest) = rest.split_first_chunk::<32>().ok_or(malformed)?;
        let commitment: &[u8; 32] = rest.try_into().map_err(|_| malformed)?;
        if *id != self.0.invitation.id() {
            return Err(Refusal::Unknown);
        }
        let expected = self.0.proof(digest, commitment);
        if !bool::from(expected.ct_eq(proof)) {
            return Err(malformed);
        }
        if *digest != self.0.invitation.digest() {
            return Err(Refusal::Changed);
        }
        Ok(Offered {
            scene: self.0,
            commitment: *commitment,
        })
    }
}

/// The state of the inviting party once it has the accepting one's commitment.
pub(super) struct Offered {
    scene: Scene,
    commitment: [u8; 32],
}

impl Offered {
    /// Reads the opening, after this party's nonce was sent. Returns `None` if it does not match
    /// the commitment.
    pub(super) fn hear(self, own: &[u8; 32], opening: &[u8]) -> Option<Agreed> {
        let opening: &[u8; 32] = opening.try_into().ok()?;
        if commitment(opening) != self.commitment {
            return None;
        }
        let (inviters, accepters, room) = self.scene.agree(own, opening);
        Some(Agreed {
            peer: self.scene.accepter,
            own: inviters,
            theirs: accepters,
            room,
        })
    }
}

/// Returns the offer of a party that knows the invitation but not the opening of `commitment`.
#[cfg(test)]
pub(super) fn offer(
    invitation: &Invitation,
    own: Fingerprint,
    binding: [u8; 32],
    commitment: &[u8; 32],
) -> Vec<u8> {
    let scene = Scene {
        invitation: invitation.clone(),
        inviter: invitation.inviter(),
        accepter: own,
        binding,
    };
    scene.offer(commitment)
}
