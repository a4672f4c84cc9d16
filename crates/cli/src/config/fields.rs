//! Fields of `tacit.toml`, as serde reads them.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use tacit::Role;
use tacit::session::{BaseOt, OtExtension};

use crate::args::{self, base_ot, duration, ot_extension};

/// Reads a text field with `read`.
pub(crate) fn required_text<'de, D: Deserializer<'de>, T, E: Display>(
    from: D,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    read(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

/// Reads a text field that may be left out.
pub(crate) fn read_text<'de, D: Deserializer<'de>, T, E: Display>(
    from: D,
    read: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, D::Error> {
    required_text(from, read).map(Some)
}

/// Reads a field whose text the type itself parses.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    from: D,
) -> Result<T, D::Error> {
    required_text(from, str::parse)
}

/// Reads such a field that may be left out.
pub(crate) fn parsed_if_given<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    read_text(from, str::parse)
}

pub(crate) fn kind<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BaseOt>, D::Error> {
    read_text(from, base_ot)
}

pub(crate) fn extension<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<OtExtension>, D::Error> {
    read_text(from, ot_extension)
}

pub(crate) fn room<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[u8; 32]>, D::Error> {
    read_text(from, |text| {
        let digest: Result<tacit::circuit::Digest, _> = text.parse();
        let refused = "a room is 64 hexadecimal digits, as `tacit pair` wrote them";
        digest.map(|digest| digest.0).map_err(|_| refused)
    })
}

pub(crate) fn role<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Role>, D::Error> {
    read_text(from, args::role)
}

pub(crate) fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match u64::deserialize(from)? {
        0 => Err(serde::de::Error::custom(
            "limit_gib is 0; at least 1 is expected",
        )),
        limit => Ok(Some(limit)),
    }
}

pub(crate) fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    read_text(from, duration)
}
