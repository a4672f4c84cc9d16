//! Fingerprints: the short names of identities.

use std::fmt;
use std::str::FromStr;

use base32ct::{Base32Unpadded, Encoding};
use sha2::{Digest, Sha256};

/// SHA-256 of an identity's public key (its `SubjectPublicKeyInfo`, RFC 7250).
///
/// Its text form is `tacit:` and 56 letters and digits: base32 (RFC 4648, in lower case) of the 32
/// bytes and of three check bytes, the first ones of SHA-256 over `tacit fingerprint` and the 32
/// bytes. So a typing error does not name another identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

const PREFIX: &str = "tacit:";
const CHECK_BYTES: usize = 3;
const TEXT_BYTES: usize = 32 + CHECK_BYTES;
const DIGITS: usize = TEXT_BYTES / 5 * 8;

impl Fingerprint {
    /// Returns the fingerprint of a public key.
    pub fn of_public_key(subject_public_key_info: &[u8]) -> Self {
        Self(Sha256::digest(subject_public_key_info).into())
    }

    fn check(&self) -> [u8; CHECK_BYTES] {
        let hash: [u8; 32] = Sha256::new()
            .chain_update(b"tacit fingerprint")
            .chain_update(self.0)
            .finalize()
            .into();
        [hash[0], hash[1], hash[2]]
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; TEXT_BYTES];
        bytes[..32].copy_from_slice(&self.0);
        bytes[32..].copy_from_slice(&self.check());
        write!(f, "{PREFIX}{}", Base32Unpadded::encode_string(&bytes))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// The error of a text that is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAFingerprint {
    /// It does not begin with `tacit:`.
    #[error("a fingerprint begins with `tacit:`; copy the whole text that the other party gave")]
    Prefix,
    /// It is too short or too long.
    #[error(
        "a fingerprint has 56 letters and digits after `tacit:` and this one has {0}; copy the \
         whole text that the other party gave"
    )]
    Length(usize),
    /// It holds a character that is not in base32.
    #[error("a fingerprint holds only the letters a to z and the digits 2 to 7")]
    Character,
    /// The check bytes at its end do not match the rest.
    #[error("the fingerprint is mistyped somewhere (its check does not fit); copy it again")]
    Check,
}

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    /// Parses the text form. Spaces around it are allowed, as is any case of letters.
    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let text = text.trim().to_ascii_lowercase();
        let digits = text.strip_prefix(PREFIX).ok_or(NotAFingerprint::Prefix)?;
        let count = digits.chars().count();
        if count != DIGITS {
            return Err(NotAFingerprint::Length(count));
        }
        let mut bytes = [0; TEXT_BYTES];
        match Base32Unpadded::decode(digits, &mut bytes) {
            Ok(decoded) if decoded.len() == TEXT_BYTES => {}
            _ => return Err(NotAFingerprint::Character),
        }
        let (value, check) = bytes
            .split_first_chunk::<32>()
            .ok_or(NotAFingerprint::Character)?;
        let fingerprint = Self(*value);
        if fingerprint.check() != *check {
            return Err(NotAFingerprint::Check);
        }
        Ok(fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slips_are_noticed() {
        let text = Fingerprint([7; 32]).to_string();
        assert_eq!(text.len(), 62);
        assert_eq!(text.parse(), Ok(Fingerprint([7; 32])));
        assert_eq!(
            format!(" {} ", text.to_uppercase()).parse(),
            Ok(Fingerprint([7; 32]))
        );
        let parse = |text: &str| text.parse::<Fingerprint>();
        assert_eq!(parse(&text[6..]), Err(NotAFingerprint::Prefix));
        assert_eq!(parse(&text[..61]), Err(NotAFingerprint::Length(55)));
        assert_eq!(
            parse(&text.replace('b', "1")),
            Err(NotAFingerprint::Character)
        );
        assert_eq!(
            parse(&format!("tacit:{}", "é".repeat(28))),
            Err(NotAFingerprint::Length(28))
        );
        assert_eq!(
            parse(&format!("tacit:{}", "é".repeat(56))),
            Err(NotAFingerprint::Character)
        );
        for place in 6..62 {
            let mut digits = text.clone().into_bytes();
            digits[place] = if digits[place] == b'a' { b'b' } else { b'a' };
            let slip = String::from_utf8(digits).unwrap();
            assert_eq!(parse(&slip), Err(NotAFingerprint::Check));
        }
    }

    proptest! {
        #[test]
        fn text_form_goes_round(bytes: [u8; 32]) {
            let fingerprint = Fingerprint(bytes);
            prop_assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in ".*") {
            let _ = text.parse::<Fingerprint>();
            let _ = format!("tacit:{text}").parse::<Fingerprint>();
        }
    }
}
