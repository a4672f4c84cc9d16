//! The tables that peers may match with theirs.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use tacit::matching::{Match, MatchRecipient};
use tacit_serve::TableOffer;

use super::config::Matched;
use super::policy::{RUN_TIME, peers, wrong};
use crate::args::RowArgs;
use crate::config::Config;
use crate::failure::Failure;
use crate::matching::{KeyColumn, Table};

/// Reads the keys of one `[[serve.match]]`. They are held until the next reload.
pub(super) fn matched(config: &Config, matched: &Matched) -> Result<TableOffer, Failure> {
    if matched.to == MatchRecipient::Me {
        return Err(wrong(
            "to",
            "a service keeps no result of a matching; write both or peer",
        ));
    }
    let peers = peers(config, matched.peers.as_deref())?;
    let rows = RowArgs {
        drop_missing: matched.drop_missing,
        keep: matched.keep,
    };
    let column = KeyColumn {
        named: &matched.table,
        normalize: matched.normalize,
        rules: rows.rules(),
        part: None,
    };
    let table = Table::read(column, available_parallelism().unwrap_or(NonZeroUsize::MIN))?;
    let order = Match::new(table.keys())?;
    let order = order.normalized(matched.normalize).to(matched.to);
    Ok(TableOffer {
        name: matched.shown_name().to_owned(),
        matching: Arc::new(order.held()),
        peers,
        rate: matched.rate,
        time_limit: matched
            .time_limit
            .or(config.timeouts.run)
            .unwrap_or(RUN_TIME),
    })
}
