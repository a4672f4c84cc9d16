//! `tacit stock drop`: all instances of one component in one stock.
//!
//! The component is looked up in all stocks before anything is destroyed. Otherwise one of two
//! parties that give the same command might destroy its half before the other finds the command
//! ambiguous.

use serde_json::json;
use tacit::stock::{StockName, StockSummary, StockedKind, Stocks};

use super::TextAndJson;
use super::list::shown_digests;
use crate::failure::{Failure, usage};
use crate::report::shown_bytes;

/// Drops the component that `component` names, by a name or by the beginning of a digest, in the
/// one of these stocks that has it. Returns that stock and the output.
///
/// If this fails, nothing is destroyed.
pub(super) fn drop_component(
    stocks: &Stocks,
    names: &[StockName],
    component: &str,
) -> Result<(StockName, TextAndJson), Failure> {
    let summaries = names.iter().map(|name| stocks.summary(name));
    let summaries: Vec<_> = summaries.collect::<Result<_, _>>()?;
    let (stock, kind) = the_one(&summaries, component)?;
    let dropped = stocks.give_up(stock, &kind.digest)?;
    let freed = stocks.compact(stock)?;
    if (dropped, freed) == (0, 0) {
        return Err(usage!(
            "of {} nothing is left in stock, so there is nothing to drop", kind.name;
            "`tacit stock list` shows how many are usable"
        ));
    }
    let text = format!(
        "gave up {dropped} of {}, freed {}\n",
        kind.name,
        shown_bytes(freed)
    );
    let json = json!({
        "name": kind.name,
        "digest": kind.digest.to_string(),
        "dropped": dropped,
        "freed_bytes": freed,
    });
    Ok((*stock, (text, json)))
}

/// Returns the component that `component` names in all stocks.
fn the_one<'s>(
    summaries: &'s [StockSummary],
    component: &str,
) -> Result<(&'s StockName, &'s StockedKind), Failure> {
    let all = || {
        let kinds = |summary: &'s StockSummary| {
            let name = &summary.name;
            summary.kinds.iter().map(move |kind| (name, kind))
        };
        summaries.iter().flat_map(kinds)
    };
    let mut meant: Vec<_> = all()
        .filter(|(_, kind)| is_named(kind, component))
        .collect();
    if meant.is_empty() {
        meant = all()
            .filter(|(_, kind)| begins_with(kind, component))
            .collect();
    }
    match meant[..] {
        [one] => Ok(one),
        [] => Err(usage!(
            "{component:?} is not in stock; the stock has {}", listed(all());
            "give one of these names or digests"
        )),
        _ => Err(usage!(
            "{component:?} names several components in stock: {}", listed(meant.iter().copied());
            "choose one by --role, --scheme or the digest. Nothing was dropped"
        )),
    }
}

fn is_named(kind: &StockedKind, component: &str) -> bool {
    kind.names().any(|name| name == component)
}

/// Returns whether `component` is the beginning of the digest, or is a name without the part that
/// says how it was made.
fn begins_with(kind: &StockedKind, component: &str) -> bool {
    let mut names = kind.names().filter_map(|name| name.split_once(", "));
    let is_digest = !component.is_empty() && kind.digest.to_string().starts_with(component);
    is_digest || names.any(|(name, _)| name == component)
}

fn listed<'s>(kinds: impl Iterator<Item = (&'s StockName, &'s StockedKind)>) -> String {
    let kinds: Vec<_> = kinds.collect();
    let digests = shown_digests(kinds.iter().map(|(_, kind)| &kind.digest));
    let listed = kinds.iter().zip(digests).map(|((stock, kind), digest)| {
        let (role, scheme) = (stock.role.name(), stock.scheme);
        format!("{} {digest} ({role}, {scheme})", kind.name)
    });
    let listed: Vec<_> = listed.collect();
    if listed.is_empty() {
        "nothing".to_owned()
    } else {
        listed.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tacit::garble::SchemeId;
    use tacit::stock::{ComponentDigest, EpochId};
    use tacit::{Fingerprint, Role};

    use super::*;

    fn stock(role: Role, scheme: SchemeId, kinds: &[(&str, u8)]) -> StockSummary {
        let kinds = kinds.iter().map(|(name, digest)| StockedKind {
            name: (*name).to_owned(),
            other_names: Vec::new(),
            digest: ComponentDigest([*digest; 32]),
            available: 10,
            pending: 0,
            withdrawn: 0,
            bytes: 0,
            taken: 0,
            taken_within: Duration::ZERO,
        });
        StockSummary {
            name: StockName {
                own: Fingerprint([1; 32]),
                peer: Fingerprint([2; 32]),
                role,
                scheme,
                lanes: Default::default(),
            },
            epoch: EpochId {
                number: 1,
                nonce: [0; 16],
            },
            bytes: 0,
            max_bytes: 1,
            kinds: kinds.collect(),
        }
    }

    #[test]
    fn one_of_all_stocks_is_meant_or_nothing_is() {
        let default = SchemeId::HALF_GATES_TWO_CALL;
        let checked = ("add, checked executions at s = 40", 0xee);
        let stocks = [
            stock(Role::Garbler, default, &[("xor", 0xaa), ("xor", 0xab)]),
            stock(Role::Garbler, default, &[checked, ("mul, checked", 0xef)]),
            stock(Role::Evaluator, default, &[("xor", 0xaa), ("add", 0xcc)]),
            stock(Role::Evaluator, SchemeId::PRF, &[]),
        ];
        let found = |component| {
            let found = the_one(&stocks, component);
            found.map(|(stock, kind)| (stock.role, kind.digest.0[0]))
        };
        assert_eq!(found("add").unwrap(), (Role::Evaluator, 0xcc));
        assert_eq!(found("abab").unwrap(), (Role::Garbler, 0xab));
        assert_eq!(found("mul").unwrap(), (Role::Garbler, 0xef));
        for several in ["xor", "aa", "a"] {
            let refused = found(several).unwrap_err().to_string();
            for word in ["--role", "abababab", "(evaluator, half-gates/two-call)"] {
                let both_of_aa = several == "aa" && word == "abababab";
                assert_eq!(refused.contains(word), !both_of_aa, "{several}: {refused}");
            }
        }
        for none in ["", "sub", "dd"] {
            let refused = found(none).unwrap_err().to_string();
            assert!(refused.contains("is not in stock"), "{refused}");
            assert!(refused.contains("add cccccccc"), "{refused}");
        }
    }

    #[test]
    fn a_component_goes_by_each_of_its_names() {
        let default = SchemeId::HALF_GATES_TWO_CALL;
        let mut both = stock(Role::Garbler, default, &[("aes-128-rounds/round", 1)]);
        both.kinds[0].other_names.push("aes-round".to_owned());
        for name in ["aes-128-rounds/round", "aes-round"] {
            assert!(the_one(std::slice::from_ref(&both), name).is_ok(), "{name}");
        }
    }
}
