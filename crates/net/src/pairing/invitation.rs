//! An invitation: the inviting party, its address, an expiry, and a secret that proves who was
//! invited.
//!
//! Its text is `tacit-invitation:` and base32 (RFC 4648, in lower case, unpadded) of these bytes,
//! whose number is a multiple of five:
//!
//! | bytes | field |
//! |---|---|
//! | 0 | version, 1 |
//! | 1..33 | the inviting party's fingerprint |
//! | 33..49 | the secret |
//! | 49..57 | the expiry, in seconds since 1970, big-endian |
//! | 57 | 0: the address is the inviting party's; 1: a relay's; 2: a relay's, for pages |
//! | 58 | length n of the address |
//! | 59..59+n | the address, `HOST:PORT`; for pages a URL, `wss://…` or `ws://…` |
//! | … | zeros as padding |
//! | last 4 | the first four bytes of SHA-256 of `tacit invitation` and all bytes before |

use std::fmt;
use std::str::FromStr;

use base32ct::{Base32Unpadded, Encoding};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{Fingerprint, NetError};

const PREFIX: &str = "tacit-invitation:";
const VERSION: u8 = 1;
const HEAD_BYTES: usize = 59;
const CHECK_BYTES: usize = 4;
/// The number of digits for the longest address.
const MAX_DIGITS: usize = (HEAD_BYTES + 255 + CHECK_BYTES).div_ceil(5) * 8;

/// The way in which the accepting party reaches the inviting one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The inviting party listens at the address.
    Direct,
    /// A relay listens at the address, and both connect to it.
    Relay,
    /// A relay listens at the address, which is a URL, and both are pages that connect to it.
    RelayOfPages,
}

/// The line that the inviting party gives to the other, over any channel.
///
/// Anyone who reads it can take the other party's place once, until the codes are compared.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    inviter: Fingerprint,
    secret: Zeroizing<[u8; 16]>,
    expires: u64,
    way: Route,
    address: String,
}

impl Invitation {
    /// Makes a new invitation by `inviter` to `address`, valid until `expires`, in seconds since
    /// 1970.
    ///
    /// # Errors
    ///
    /// The address is invalid, or the operating system gives no randomness.
    pub fn new(
        inviter: Fingerprint,
        way: Route,
        address: &str,
        expires: u64,
    ) -> Result<Self, NetError> {
        let mut secret = Zeroizing::new([0; 16]);
        getrandom::fill(&mut *secret).map_err(|error| NetError::KeyGeneration {
            reason: error.to_string(),
        })?;
        check_address(way, address).map_err(|error| NetError::Address {
            address: address.to_owned(),
            reason: std::io::Error::new(std::io::ErrorKind::InvalidInput, error),
        })?;
        Ok(Self {
            inviter,
            secret,
            expires,
            way,
            address: address.to_owned(),
        })
    }

    /// Returns the inviting party's fingerprint.
    #[must_use]
    pub fn inviter(&self) -> Fingerprint {
        self.inviter
    }

    /// Returns the address to which the accepting party connects.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns whether the inviting party or a relay listens there.
    #[must_use]
    pub fn way(&self) -> Route {
        self.way
    }

    /// Returns the expiry, in seconds since 1970.
    #[must_use]
    pub fn expires(&self) -> u64 {
        self.expires
    }

    /// Returns whether it has expired at `now`.
    #[must_use]
    pub fn is_late(&self, now: u64) -> bool {
        now >= self.expires
    }

    /// Returns the room at a relay in which the parties pair.
    #[must_use]
    pub fn room(&self) -> [u8; 32] {
        self.hash("tacit pairing room", &[])
    }

    /// Returns the secret's identifier in the inviting party's ledger and in an offer.
    pub(super) fn id(&self) -> [u8; 16] {
        self.short("tacit pairing id")
    }

    /// Returns the secret's identifier in the accepting party's ledger, which both parties may
    /// share.
    pub(super) fn accepted_id(&self) -> [u8; 16] {
        self.short("tacit pairing accepted id")
    }

    fn short(&self, label: &str) -> [u8; 16] {
        let hash = self.hash(label, &[]);
        std::array::from_fn(|i| hash[i])
    }

    /// Returns SHA-256 of a label, the secret and these values, all of fixed lengths.
    pub(super) fn hash(&self, label: &str, values: &[&[u8]]) -> [u8; 32] {
        let mut hash = Sha256::new()
            .chain_update(label.as_bytes())
            .chain_update([0])
            .chain_update(self.secret.as_slice());
        for value in values {
            hash.update(value);
        }
        hash.finalize().into()
    }

    /// Returns a digest of the whole invitation.
    pub(super) fn digest(&self) -> [u8; 32] {
        let hash = Sha256::new().chain_update(b"tacit pairing digest\0");
        hash.chain_update(&*self.bytes()).finalize().into()
    }

    /// Returns the line to give to the other party.
    #[must_use]
    pub fn to_text(&self) -> Zeroizing<String> {
        let digits = Zeroizing::new(Base32Unpadded::encode_string(&self.bytes()));
        Zeroizing::new(format!("{PREFIX}{}", *digits))
    }

    fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_DIGITS));
        bytes.push(VERSION);
        bytes.extend(self.inviter.0);
        bytes.extend(*self.secret);
        bytes.extend(self.expires.to_be_bytes());
        bytes.push(match self.way {
            Route::Direct => 0,
            Route::Relay => 1,
            Route::RelayOfPages => 2,
        });
        // `check_address` bounds the length.
        bytes.push(self.address.len() as u8);
        bytes.extend(self.address.bytes());
        while !(bytes.len() + CHECK_BYTES).is_multiple_of(5) {
            bytes.push(0);
        }
        let check = check(&bytes);
        bytes.extend(check);
        bytes
    }
}

/// Changes that an attacker on the way can make.
#[cfg(test)]
impl Invitation {
    pub(super) fn with_expires(self, expires: u64) -> Self {
        Self { expires, ..self }
    }

    pub(super) fn with_inviter(self, inviter: Fingerprint) -> Self {
        Self { inviter, ..self }
    }
}

impl fmt::Debug for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invitation({} at {})", self.inviter, self.address)
    }
}

fn check(bytes: &[u8]) -> [u8; CHECK_BYTES] {
    let hash = Sha256::new().chain_update(b"tacit invitation");
    let hash: [u8; 32] = hash.chain_update(bytes).finalize().into();
    std::array::from_fn(|i| hash[i])
}

/// Checks that `address` may be a `HOST:PORT` or, for pages, the URL of a WebSocket, and is safe in
/// a file and on a terminal without escapes.
fn check_address(way: Route, address: &str) -> Result<(), NotAnInvitation> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:-_[]%/".contains(c);
    if address.len() > 255 || !address.chars().all(is_plain) {
        return Err(NotAnInvitation::Address);
    }
    if way == Route::RelayOfPages {
        let rest = address.strip_prefix("wss://");
        let rest = rest.or_else(|| address.strip_prefix("ws://"));
        return match rest {
            Some(rest) if !rest.is_empty() && !rest.starts_with('/') => Ok(()),
            _ => Err(NotAnInvitation::Url),
        };
    }
    let (host, port) = address.rsplit_once(':').ok_or(NotAnInvitation::Address)?;
    let port: u16 = port.parse().map_err(|_| NotAnInvitation::Address)?;
    if host.is_empty() || port == 0 || address.contains('/') {
        return Err(NotAnInvitation::Address);
    }
    Ok(())
}

/// The error of a text that is no invitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnInvitation {
    /// It does not begin like one.
    #[error("an invitation begins with `{PREFIX}`; copy the whole line that the other party gave")]
    Prefix,
    /// Its length or a character is wrong, or its check does not fit.
    #[error(
        "the invitation was changed or cut off on the way (its check does not fit); copy the whole \
         line again, or ask for a new one"
    )]
    Changed,
    /// It has another version.
    #[error("the invitation is of version {0} and this Tacit reads {VERSION}; use the same Tacit")]
    Version(u8),
    /// Its address is invalid.
    #[error("an address is HOST:PORT, with a port from 1 to 65535")]
    Address,
    /// Its address is no URL of a relay.
    #[error("the address of a relay for pages begins with wss:// or ws://, without spaces")]
    Url,
}

impl FromStr for Invitation {
    type Err = NotAnInvitation;

    /// Parses the text. Spaces around it are allowed, as is any case of letters.
    fn from_str(text: &str) -> Result<Self, NotAnInvitation> {
        let text = text.trim();
        if text.len() > PREFIX.len() + MAX_DIGITS {
            return Err(NotAnInvitation::Changed);
        }
        let text = Zeroizing::new(text.to_ascii_lowercase());
        let digits = text.strip_prefix(PREFIX).ok_or(NotAnInvitation::Prefix)?;
        if digits.is_empty() || !digits.len().is_multiple_of(8) || !digits.is_ascii() {
            return Err(NotAnInvitation::Changed);
        }
        let mut bytes = Zeroizing::new(vec![0; digits.len() / 8 * 5]);
        let decoded = Base32Unpadded::decode(digits, &mut bytes);
        if decoded.map_or(0, <[u8]>::len) != digits.len() / 8 * 5 {
            return Err(NotAnInvitation::Changed);
        }
        let (body, sum) = bytes
            .split_last_chunk::<CHECK_BYTES>()
            .ok_or(NotAnInvitation::Changed)?;
        if check(body) != *sum {
            return Err(NotAnInvitation::Changed);
        }
        parse(body)
    }
}

/// Parses the bytes that the check covers.
fn parse(body: &[u8]) -> Result<Invitation, NotAnInvitation> {
    const CHANGED: NotAnInvitation = NotAnInvitation::Changed;
    let (&[version], rest) = body.split_first_chunk().ok_or(CHANGED)?;
    if version != VERSION {
        return Err(NotAnInvitation::Version(version));
    }
    let (inviter, rest) = rest.split_first_chunk().ok_or(CHANGED)?;
    let (secret, rest) = rest.split_first_chunk().ok_or(CHANGED)?;
    let (expires, rest) = rest.split_first_chunk().ok_or(CHANGED)?;
    let (&[way, length], rest) = rest.split_first_chunk().ok_or(CHANGED)?;
    let way = match way {
        0 => Route::Direct,
        1 => Route::Relay,
        2 => Route::RelayOfPages,
        _ => return Err(CHANGED),
    };
    let (address, zeros) = rest.split_at_checked(usize::from(length)).ok_or(CHANGED)?;
    if zeros.len() > 4 || zeros.iter().any(|&byte| byte != 0) {
        return Err(CHANGED);
    }
    let address = str::from_utf8(address).map_err(|_| CHANGED)?;
    check_address(way, address)?;
    Ok(Invitation {
        inviter: Fingerprint(*inviter),
        secret: Zeroizing::new(*secret),
        expires: u64::from_be_bytes(*expires),
        way,
        address: address.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn invitation(address: &str) -> Invitation {
        Invitation::new(Fingerprint([7; 32]), Route::Direct, address, 1_800_000_000).unwrap()
    }

    #[test]
    fn every_changed_letter_is_noticed() {
        let made = invitation("alice.example:7000");
        let text = made.to_text();
        assert_eq!(text.parse(), Ok(made.clone()));
        assert_eq!(format!(" {} \n", text.to_uppercase()).parse(), Ok(made));
        for place in PREFIX.len()..text.len() {
            let mut changed = text.as_bytes().to_vec();
            changed[place] = if changed[place] == b'a' { b'b' } else { b'a' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(changed.parse::<Invitation>(), Err(NotAnInvitation::Changed));
            let cut = text[..place].parse::<Invitation>();
            assert_eq!(cut, Err(NotAnInvitation::Changed));
        }
    }

    #[test]
    fn an_address_is_one() {
        let made = |way, address| Invitation::new(Fingerprint([7; 32]), way, address, 1);
        for wrong in [
            "",
            "alice",
            ":7000",
            "alice:0",
            "alice:65536",
            "a b:1",
            "a\u{1b}:1",
            "ws://alice:1",
        ] {
            assert!(made(Route::Direct, wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "alice:1", "wss://", "ws:///a", "https://a", "wss://a b"] {
            assert!(made(Route::RelayOfPages, wrong).is_err(), "{wrong}");
        }
        let page = made(Route::RelayOfPages, "wss://relay.example/meet").unwrap();
        assert_eq!(page.to_text().parse(), Ok(page));
        assert!(!format!("{:?}", invitation("[::1]:7000")).contains("secret"));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in ".*", bytes: Vec<u8>) {
            let _ = text.parse::<Invitation>();
            let _ = format!("{PREFIX}{text}").parse::<Invitation>();
            let _ = parse(&bytes);
        }

        #[test]
        fn what_is_parsed_is_written_as_it_came(
            mut body in proptest::collection::vec(0_u8..3, 60..80)
        ) {
            body[0] = VERSION;
            if let Ok(parsed) = parse(&body) {
                let bytes = parsed.bytes();
                prop_assert_eq!(&bytes[..body.len()], &body[..]);
            }
        }
    }
}
