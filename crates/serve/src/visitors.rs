//! Visitors: strangers that a site's own login lets in by a token.
//!
//! All visitors of a site are one peer of the policy, whose fingerprint no key has: offers name it.
//! Sessions, rates, refusals and keys of a day count for each subject of tokens, under a
//! fingerprint of its own, which no key has either.

mod token;

use sha2::{Digest as _, Sha256};
use tacit::Fingerprint;

pub(crate) use token::{Bearer, WrongToken};
pub use token::{IssuerKey, NotAKey};

/// The largest number of sites.
pub(crate) const MAX_SITES: usize = 16;

/// The largest number of visitors whose rates are known at once.
pub(crate) const MAX_VISITORS: usize = 1 << 16;

/// The visitors of one site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visitors {
    /// The name of their peer in the policy.
    pub name: String,
    /// The key with which the site signs tokens.
    pub key: IssuerKey,
    /// This service's name in the tokens.
    pub audience: String,
    /// Whether this party counts on each of them to follow protocols. Visitors are strangers, and
    /// all that they may run is semi-honest: one who does not follow the protocol can learn more
    /// than results, up to everything that this party puts into the run, such as a table's rows.
    pub semi_honest: bool,
    /// The number of keys about which runs may tell one visitor on a day; that of peers if `None`.
    pub keys_per_day: Option<u64>,
}

impl Visitors {
    /// Returns the fingerprint of the peer that stands for all of them.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Self::peer_named(&self.name)
    }

    /// Returns the fingerprint of the peer that stands for the visitors of this name.
    #[must_use]
    pub fn peer_named(name: &str) -> Fingerprint {
        digest("tacit visitors 1\0", name, "")
    }

    /// Returns the fingerprint under which the visitor of this subject counts.
    pub(crate) fn of_subject(&self, subject: &str) -> Fingerprint {
        digest("tacit visitor 1\0", &self.name, subject)
    }

    /// Whether a token for `other` would be accepted here as far as key and audience go.
    pub(crate) fn takes_tokens_of(&self, other: &Self) -> bool {
        (&self.key, &self.audience) == (&other.key, &other.audience)
    }

    /// Checks the token that the peer with this identity brings now.
    pub(crate) fn check(
        &self,
        token: &str,
        identity: &Fingerprint,
        now_s: u64,
    ) -> Result<Bearer, WrongToken> {
        token::check(token, (&self.key, &self.audience), identity, now_s)
    }
}

fn digest(domain: &str, name: &str, subject: &str) -> Fingerprint {
    let hash = Sha256::new_with_prefix(domain)
        .chain_update((name.len() as u64).to_le_bytes())
        .chain_update(name)
        .chain_update(subject);
    Fingerprint(hash.finalize().into())
}
