//! Tokens of visitors: JSON Web Tokens (RFC 7519) that a site's own login signs, in compact form.
//!
//! | claim | content |
//! |---|---|
//! | `sub` | the visitor; rates and keys are counted for each: 1 to 128 bytes of letters, digits, spaces and `-_.@+:=\|` |
//! | `aud` | the service, or a list with it |
//! | `exp` | the end of the token, at most a day from now, in seconds since 1970 |
//! | `nbf` | its beginning; may be left out |
//! | `cnf` | `{"tacit": FINGERPRINT}`: the identity that the bearer must prove in TLS (RFC 7800), so that a stolen token is of no use to another |
//!
//! The issuer's key determines the algorithm, Ed25519 (RFC 8037) or ES256 (RFC 7518), and the
//! header must name it. Nothing of a token is used before its signature was checked.

use std::fmt;
use std::str::FromStr;

use base64ct::{Base64UrlUnpadded, Encoding};
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tacit::Fingerprint;

/// The largest number of bytes of a subject.
const MAX_SUBJECT_BYTES: usize = 128;

/// The time by which the clocks of a site and a service may differ.
const SKEW_S: u64 = 30;

/// The longest time until the end of a token.
const MAX_LIFE_S: u64 = 24 * 60 * 60;

/// The reason why a token is not accepted. It has no part of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WrongToken {
    #[error("it is no JSON Web Token with the claims sub, aud, exp and cnf")]
    Malformed,
    #[error("its algorithm is not that of the issuer's key")]
    Algorithm,
    #[error("its signature is not the issuer's")]
    Signature,
    #[error("it is for another audience")]
    Audience,
    #[error("it has expired, or has no end within a day")]
    Expired,
    #[error("its time has not begun")]
    Early,
    #[error("it is for another identity than the one that brings it")]
    Bearer,
    #[error(
        "its subject is not 1 to {MAX_SUBJECT_BYTES} bytes of letters, digits, spaces and -_.@+:=|"
    )]
    Subject,
}

/// The public key with which tokens are checked.
#[derive(Clone, PartialEq, Eq)]
pub struct IssuerKey {
    algorithm: Algorithm,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    EdDsa,
    Es256,
}

impl Algorithm {
    const ALL: [Self; 2] = [Self::EdDsa, Self::Es256];

    const fn name(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
        }
    }

    fn verification(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Self::EdDsa => &ED25519,
            Self::Es256 => &ECDSA_P256_SHA256_FIXED,
        }
    }

    /// Returns what stands before a key in its SubjectPublicKeyInfo, and the length of the key (RFC
    /// 8410; RFC 5480, an uncompressed point of P-256).
    const fn encoding(self) -> (&'static [u8], usize) {
        match self {
            Self::EdDsa => (b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 32),
            Self::Es256 => (
                b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\
                  \x3d\x03\x01\x07\x03\x42\x00",
                65,
            ),
        }
    }
}

/// The error of a text that is no [`IssuerKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no public key of Ed25519 or P-256 in PEM, as `openssl pkey -pubout` writes it")]
pub struct NotAKey;

impl FromStr for IssuerKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let (label, der) = pem_rfc7468::decode_vec(text.as_bytes()).map_err(|_| NotAKey)?;
        let found = Algorithm::ALL.into_iter().find_map(|algorithm| {
            let (before, length) = algorithm.encoding();
            let key = der.strip_prefix(before)?;
            (label == "PUBLIC KEY" && key.len() == length).then(|| Self {
                algorithm,
                bytes: key.to_vec(),
            })
        });
        found.ok_or(NotAKey)
    }
}

impl fmt::Debug for IssuerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IssuerKey({})", self.algorithm.name())
    }
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    /// Extensions that must be understood; this party understands none.
    crit: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
    aud: Audience,
    exp: u64,
    nbf: Option<u64>,
    cnf: Confirmation,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn has(&self, wanted: &str) -> bool {
        match self {
            Self::One(name) => name == wanted,
            Self::Several(names) => names.iter().any(|name| name == wanted),
        }
    }
}

#[derive(Deserialize)]
struct Confirmation {
    tacit: String,
}

/// The content of a token that was checked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub(crate) subject: String,
    /// The end of the token in seconds since 1970.
    pub(crate) expires_s: u64,
}

/// Checks the token that the peer with this identity brings at a time in seconds since 1970.
pub(crate) fn check(
    token: &str,
    (key, audience): (&IssuerKey, &str),
    identity: &Fingerprint,
    now_s: u64,
) -> Result<Bearer, WrongToken> {
    let (signed, signature) = token.rsplit_once('.').ok_or(WrongToken::Malformed)?;
    let (header, claims) = signed.split_once('.').ok_or(WrongToken::Malformed)?;
    let header: Header = parsed(header)?;
    if header.crit.is_some() {
        return Err(WrongToken::Malformed);
    }
    if header.alg != key.algorithm.name() {
        return Err(WrongToken::Algorithm);
    }
    UnparsedPublicKey::new(key.algorithm.verification(), &key.bytes)
        .verify(signed.as_bytes(), &decoded(signature)?)
        .map_err(|_| WrongToken::Signature)?;
    let claims: Claims = parsed(claims)?;
    if !claims.aud.has(audience) {
        return Err(WrongToken::Audience);
    }
    let is_open = claims.exp.saturating_add(SKEW_S) > now_s;
    if !is_open || claims.exp > now_s.saturating_add(MAX_LIFE_S + SKEW_S) {
        return Err(WrongToken::Expired);
    }
    if claims
        .nbf
        .is_some_and(|begin| begin > now_s.saturating_add(SKEW_S))
    {
        return Err(WrongToken::Early);
    }
    if claims.cnf.tacit.parse() != Ok(*identity) {
        return Err(WrongToken::Bearer);
    }
    let subject = claims.sub;
    // It names the visitor in logs and to the operator's scripts.
    let is_shown = subject
        .chars()
        .all(|c| c.is_alphanumeric() || " -_.@+:=|".contains(c));
    if !is_shown || !(1..=MAX_SUBJECT_BYTES).contains(&subject.len()) {
        return Err(WrongToken::Subject);
    }
    Ok(Bearer {
        subject,
        expires_s: claims.exp.saturating_add(SKEW_S),
    })
}

fn decoded(part: &str) -> Result<Vec<u8>, WrongToken> {
    Base64UrlUnpadded::decode_vec(part).map_err(|_| WrongToken::Malformed)
}

fn parsed<T: DeserializeOwned>(part: &str) -> Result<T, WrongToken> {
    serde_json::from_slice(&decoded(part)?).map_err(|_| WrongToken::Malformed)
}

#[cfg(test)]
mod tests;
