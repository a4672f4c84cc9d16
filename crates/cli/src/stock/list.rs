//! The output of `tacit stock list` about a stock.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;
use tacit::stock::{ComponentDigest, StockSummary};

use super::TextAndJson;
use crate::report::shown_bytes;

/// Returns the epoch and bytes of a stock, and a line for each kind.
pub(super) fn list(summary: &StockSummary) -> TextAndJson {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "epoch {}, {} of {}",
        summary.epoch,
        shown_bytes(summary.bytes),
        shown_bytes(summary.max_bytes)
    );
    let digests = shown_digests(summary.kinds.iter().map(|kind| &kind.digest));
    let width = digests.iter().map(String::len).max().unwrap_or_default();
    if !summary.kinds.is_empty() {
        let _ = writeln!(
            text,
            "{:>10} {:>10} {:>12} {:>10} {:>8}  {:width$}  component",
            "usable", "damaged", "bytes", "used/day", "lasts", "digest"
        );
    }
    for (kind, digest) in summary.kinds.iter().zip(digests) {
        let (usable, damaged) = (kind.available, kind.withdrawn);
        let _ = write!(
            text,
            "{usable:>10} {damaged:>10} {:>12} {:>10} {:>8}  {digest:width$}  {}",
            kind.bytes,
            kind.taken_per_day()
                .map_or("-".to_owned(), |count| format!("{count:.0}")),
            kind.lasts().map_or("-".to_owned(), shown_time),
            kind.names().collect::<Vec<_>>().join(", ")
        );
        if kind.pending > 0 {
            let _ = write!(text, " ({} more wait for the next meeting)", kind.pending);
        }
        text.push('\n');
    }
    let kinds = summary.kinds.iter().map(|kind| {
        json!({
            "name": kind.name,
            "other_names": kind.other_names,
            "digest": kind.digest.to_string(),
            "usable": kind.available,
            "pending": kind.pending,
            "damaged": kind.withdrawn,
            "bytes": kind.bytes,
            "taken": kind.taken,
            "taken_within_s": kind.taken_within.as_secs(),
            "lasts_s": kind.lasts().map(|lasts| lasts.as_secs()),
        })
    });
    let json = json!({
        "epoch": summary.epoch.to_string(),
        "bytes": summary.bytes,
        "max_bytes": summary.max_bytes,
        "kinds": kinds.collect::<Vec<_>>(),
    });
    (text, json)
}

/// Returns the beginnings of these digests, long enough to tell them apart.
pub(super) fn shown_digests<'d>(digests: impl Iterator<Item = &'d ComponentDigest>) -> Vec<String> {
    const DIGITS: usize = 12;
    let whole: Vec<_> = digests.map(ComponentDigest::to_string).collect();
    let is_clear = |digest: &String, length: usize| {
        let mut alike = whole
            .iter()
            .filter(|other| other.starts_with(&digest[..length]));
        alike.all(|other| other == digest)
    };
    let shown = whole.iter().map(|digest| {
        let length = (DIGITS..digest.len()).find(|&length| is_clear(digest, length));
        digest[..length.unwrap_or(digest.len())].to_owned()
    });
    shown.collect()
}

/// Returns a time in the largest unit that leaves a whole number.
fn shown_time(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds / 60),
        seconds @ ..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}
