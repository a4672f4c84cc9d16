//! Arguments in their written form: pairs, names, times.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use clap::builder::UnknownArgumentValueParser;
use clap::{Arg, ArgAction};
use tacit::Role;
use tacit::session::{BaseOt, OtExtension};
use tacit::stock::ChainVersion;

/// Returns an argument that other commands take and this one refuses with the hint `instead`.
pub(super) fn refused(name: &'static str, action: ArgAction, instead: &'static str) -> Arg {
    let parser = UnknownArgumentValueParser::suggest(instead);
    let arg = Arg::new(name).long(name).action(action);
    arg.hide(true).value_parser(parser)
}

/// Reads a version of a chain, as a run prints it.
pub(super) fn pin(text: &str) -> Result<ChainVersion, String> {
    text.parse().map_err(|_| {
        "expected 32 hex digits, a colon and a number from 1; copy the pin that an earlier run \
         printed"
            .to_owned()
    })
}

/// Reads `name=value`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}

/// Reads one of the two parties' roles by its name.
pub(crate) fn role(text: &str) -> Result<Role, String> {
    let mut roles = Role::BOTH.into_iter();
    let role = roles.find(|role| role.name() == text);
    role.ok_or_else(|| format!("{text:?} is not a role; write garbler or evaluator"))
}

/// Reads a kind of base OT by its name.
pub(crate) fn base_ot(text: &str) -> Result<BaseOt, String> {
    BaseOt::from_name(text).ok_or_else(|| {
        let names = BaseOt::ALL.map(BaseOt::name).join(" or ");
        format!("{text:?} is not a kind of base OT; write {names}")
    })
}

/// Reads an OT extension by its name.
pub(crate) fn ot_extension(text: &str) -> Result<OtExtension, String> {
    OtExtension::from_name(text).ok_or_else(|| {
        let names = OtExtension::NAMED.map(|extension| extension.to_string());
        let names = names.join(", ");
        format!("{text:?} is not an OT extension; write one of {names}")
    })
}

/// The default number of threads: one for each core that this process may use.
pub(super) const ALL_CORES: &str = "all";

/// Reads a number of threads, at least one, or [`ALL_CORES`].
pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    if text == ALL_CORES {
        // Where the system does not tell, one thread works everywhere.
        return Ok(thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    }
    text.parse()
        .map_err(|_| "expected a whole number of threads, at least 1, or all".to_owned())
}

/// Reads a time as [`tacit_serve::read_time`] does.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    match tacit_serve::read_time(text) {
        Some(time) if time < Duration::from_millis(1) => {
            Err("a time of 0 leaves the peer no chance; allow at least 1ms".to_owned())
        }
        Some(time) => Ok(time),
        None => Err(format!(
            "{text:?} is not a time; write a number and ms, s, m, h or d, such as 30s"
        )),
    }
}

/// Reads the origin of a page, as a browser writes it.
pub(crate) fn origin(text: &str) -> Result<String, String> {
    match text.split_once("://") {
        Some((_, host)) if !host.is_empty() && !host.contains('/') => Ok(text.to_owned()),
        _ => Err(format!(
            "{text:?} is not an origin; write scheme and host as a browser does, such as \
             https://example.org or http://127.0.0.1:8080, without a path"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_at_least_one_thread() {
        assert_eq!(threads("2").map(NonZeroUsize::get), Ok(2));
        assert_eq!(threads("all"), Ok(thread::available_parallelism().unwrap()));
        for wrong in ["0", "-1", "two", "", "99999999999999999999"] {
            let error = threads(wrong).unwrap_err();
            let expected = "expected a whole number of threads, at least 1, or all";
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_mins(90)));
        for wrong in [
            "",
            "30",
            "s",
            "-1s",
            "1x",
            "1M",
            "1ns",
            "99999999999999999999s",
            "18446744073709551615s",
            "0s",
        ] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn pairs_are_split_at_the_first_equals_sign() {
        assert_eq!(pair("key=a=b"), Ok(("key".to_owned(), "a=b".to_owned())));
        assert_eq!(pair("bits="), Ok(("bits".to_owned(), String::new())));
        assert!(pair("garbler").is_err());
        assert!(pair("=5").is_err());
    }
}
