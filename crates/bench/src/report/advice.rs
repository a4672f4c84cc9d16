//! What to choose when, in words.

use super::page::{Grid, Section, heads};
use crate::{Figures, Record};

/// The page for a reader who wants to know what to take.
pub(super) fn section(records: &[Record]) -> Option<Section> {
    let rows = [
        [
            "answer soon after the inputs are known, and can work ahead",
            "`prepared`: `tacit prepare`, then `tacit run --protocol prepared`",
            "one round trip and few bytes online; gains most on slow links",
        ],
        [
            "run a function once, or do not know it beforehand",
            "`direct`, the default",
            "nothing to prepare; memory does not grow with the circuit's length",
        ],
        [
            "withstand a peer that cheats",
            "`batch`: `tacit prepare --protocol batch`, then `tacit run --security malicious`",
            "many executions are checked together ahead; each then takes four short messages",
        ],
        [
            "have a cloud work for a thin client, or keep values from run to run",
            "`outsourced`: `tacit run --protocol outsourced`",
            "the client neither garbles nor evaluates; cheating is found out as long as no two \
             parties pool what they see",
        ],
        [
            "trust AES as little as possible",
            "`--assumption prf`",
            "a pseudorandom function and nothing more; two to three times the bytes on circuits \
             full of XOR gates",
        ],
        [
            "save bytes on a slow link",
            "`--scheme three-halves`",
            "a fifth less than half-gates, for nearly twice the work",
        ],
        [
            "run deep, narrow circuits on a fast link",
            "`--scheme half-gates/re-keyed`",
            "its keys do not wait for labels, so that chains of gates go faster; where no scheme \
             is named, a run takes it for functions of that shape",
        ],
        [
            "be safe against quantum computers later",
            "`--base-ot ml-kem-768`",
            "a few milliseconds and about 440 KB for a session's base OTs; AES-128 and SHA-256 \
             stay as they are",
        ],
    ];
    let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
    let mut section = Section::new("choose", "What to choose when").grid(Grid {
        caption: "All but `batch`, `authenticated` and `outsourced` are semi-honest: both parties \
             follow the protocol. `SECURITY.md` and the protocol's page say what that leaves open"
            .to_owned(),
        heads: heads(&["you want to", "take", "because"]),
        rows,
    });
    if let Some(text) = gain(records) {
        section = section.text(&text);
    }
    Some(section)
}

/// Where preparing pays most and least among what was measured.
fn gain(records: &[Record]) -> Option<String> {
    let prepared = records.iter().filter_map(|record| match &record.figures {
        Figures::Prepared(figures) => Some(figures),
        _ => None,
    });
    let gains = prepared.map(|of| (of.naive_ms.median / of.online_ms.median, of));
    let mut gains: Vec<_> = gains.collect();
    gains.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, low), (most, high)) = (gains.first()?, gains.last()?);
    Some(format!(
        "Preparing pays where tables are larger than the link carries in half a round trip. Of \
         what was measured here it gains most, {most:.1} times, for `{}` with {} AND gates over \
         {}; and least, {least:.1} times, for `{}` with {} over {}.",
        high.function, high.ands, high.link, low.function, low.ands, low.link
    ))
}
