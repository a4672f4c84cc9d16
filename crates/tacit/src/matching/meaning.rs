//! The settings of a matching on which both parties must agree: the types of keys, their
//! normalisation, and the recipient of the result.

use core::fmt;
use core::str::FromStr;

use sha2::{Digest as _, Sha256};
use tacit_circuit::Digest;
use tacit_function::join::{KeyKind, KeyNormalization, Part};
use tacit_protocol::matching::KeyEncoding;
use zeroize::Zeroizing;

use crate::session::Side;

/// The party that gets the common keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchRecipient {
    /// This party alone.
    Me,
    /// The peer alone.
    Peer,
    /// Both parties.
    #[default]
    Both,
}

impl MatchRecipient {
    /// All recipients.
    pub const ALL: [Self; 3] = [Self::Me, Self::Peer, Self::Both];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Me => "me",
            Self::Peer => "peer",
            Self::Both => "both",
        }
    }

    /// Returns the same recipient, as the other party names it.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Me => Self::Peer,
            Self::Peer => Self::Me,
            Self::Both => Self::Both,
        }
    }

    /// Returns the byte for a party on this side of the connection.
    fn byte(self, side: Side) -> u8 {
        match (self, side) {
            (Self::Both, _) => 3,
            (Self::Me, Side::Connecting) | (Self::Peer, Side::Listening) => 1,
            (Self::Me, Side::Listening) | (Self::Peer, Side::Connecting) => 2,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Me => "with the result to this party",
            Self::Peer => "with the result to the peer",
            Self::Both => "with the result to both",
        }
    }
}

impl fmt::Display for MatchRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MatchRecipient {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|one| one.name() == text);
        known.ok_or_else(|| format!("{text:?} is nobody; write me, peer or both"))
    }
}

/// A key of one part, or one part of a key. Two keys match if they have the same parts. Both
/// parties must agree on the types: a text never equals an integer.
#[derive(Clone, Copy)]
pub enum KeyPart<'k> {
    /// A text, compared byte by byte.
    Text(&'k str),
    /// Bytes.
    Bytes(&'k [u8]),
    /// An integer.
    Integer(i128),
}

/// The type of a part of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartType {
    Text = 1,
    Bytes = 2,
    Integer = 3,
}

impl fmt::Debug for KeyPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPart({}, ..)", self.part_type().name())
    }
}

impl KeyPart<'_> {
    pub(super) fn part_type(&self) -> PartType {
        match self {
            Self::Text(_) => PartType::Text,
            Self::Bytes(_) => PartType::Bytes,
            Self::Integer(_) => PartType::Integer,
        }
    }

    /// Returns the kind of this part in the [cut](Part::cut) of a table whose texts are normalised
    /// like this.
    pub fn kind(&self, how: KeyNormalization) -> KeyKind {
        match self {
            Self::Text(_) => KeyKind::Text(how),
            Self::Bytes(_) => KeyKind::Bytes,
            Self::Integer(_) => KeyKind::Fixed { bits: i128::BITS },
        }
    }

    /// Returns the encoding of the key with these parts.
    pub fn encoded(parts: &[Self]) -> KeyEncoding {
        let begin = KeyEncoding::default();
        parts
            .iter()
            .fold(begin, |key, part| part.encoded_behind(key))
    }

    /// Appends this part to `encoding`.
    fn encoded_behind(&self, encoding: KeyEncoding) -> KeyEncoding {
        match self {
            Self::Text(text) => encoding.text(text.as_bytes()),
            Self::Bytes(bytes) => encoding.text(bytes),
            Self::Integer(integer) => {
                encoding.fixed(&*Zeroizing::new(integer.to_le_bytes()), i128::BITS as usize)
            }
        }
    }
}

impl PartType {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Integer => "integer",
        }
    }
}

/// Describes the types of a key's parts in words.
pub(super) fn in_words(types: &[PartType]) -> String {
    let names: Vec<_> = types.iter().map(|one| one.name()).collect();
    match names[..] {
        [name] => name.to_owned(),
        _ => format!("({})", names.join(", ")),
    }
}

/// The settings of a matching on which both parties must agree, from this party's side.
#[derive(Clone)]
pub(super) struct Meaning {
    /// The types of a key's parts. Empty for a single text.
    pub(super) types: Vec<PartType>,
    pub(super) normalization: KeyNormalization,
    pub(super) to: MatchRecipient,
    /// The part of both tables' keys that is matched, if it is not all of them.
    pub(super) part: Option<Part>,
}

impl Meaning {
    /// Iterates over what the peer may have been told by mistake: any other meaning of this part of
    /// the tables, for keys of one part and for keys of these types, and another part.
    pub(super) fn mistaken(&self) -> impl Iterator<Item = Self> {
        let parts = Part::mistaken(self.part).map(|part| Self {
            part,
            ..self.clone()
        });
        Self::all(&self.types, self.part).chain(parts)
    }

    /// Iterates over every meaning of this part of the tables for keys of one part, and for keys of
    /// these types.
    pub(super) fn all(types: &[PartType], part: Option<Part>) -> impl Iterator<Item = Self> {
        let mut of_types = vec![Vec::new(), vec![PartType::Bytes], vec![PartType::Integer]];
        if !of_types.iter().any(|known| known == types) {
            of_types.push(types.to_vec());
        }
        of_types.into_iter().flat_map(move |types| {
            KeyNormalization::ALL
                .into_iter()
                .flat_map(move |normalization| {
                    let types = types.clone();
                    MatchRecipient::ALL.map(|to| Self {
                        types: types.clone(),
                        normalization,
                        to,
                        part,
                    })
                })
        })
    }

    pub(super) fn digest(&self, side: Side) -> Digest {
        let normalization = match self.normalization {
            KeyNormalization::None => 0,
            KeyNormalization::Email => 2,
            KeyNormalization::Phone => 3,
            KeyNormalization::Date => 4,
        };
        let types: Vec<u8> = self.types.iter().map(|one| *one as u8).collect();
        let hash = Sha256::new_with_prefix(b"tacit match meaning 1\0")
            .chain_update([normalization, self.to.byte(side)])
            .chain_update(types);
        Part::agreed(self.part, Digest(hash.finalize().into()))
    }

    pub(super) fn text(&self) -> String {
        let to = self.to.text();
        let keys = match self.normalization {
            KeyNormalization::None => "keys as they are".to_owned(),
            how => format!("keys normalised as {how}"),
        };
        let keys = match self.part {
            Some(part) => format!("part {part} of {keys}"),
            None => keys,
        };
        match &self.types[..] {
            [] => format!("to match {keys} {to}"),
            types => format!(
                "to match {keys}, each of the type {}, {to}",
                in_words(types)
            ),
        }
    }
}
