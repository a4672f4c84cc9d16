//! The material that a run takes from this party's folder, and its security.

use tacit::protocols::{Protocol, StatisticalSecurity, StockUse, ThreatModel};
use tacit::stock::{StockName, Stocks};
use tacit::{Function, Role};

use crate::args::RunArgs;
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::function::scheme;
use crate::party::Party;
use crate::stock;

/// Returns this party's stocks, if the protocol takes material from them, may take some, or counts
/// tries in them.
pub(super) fn stocks(
    args: &RunArgs,
    config: &Config,
    protocol: Protocol,
) -> Result<Option<Stocks>, Failure> {
    let has_stock = protocol.stock_use() != StockUse::Nothing;
    if args.plain_loopback && has_stock {
        return Err(usage!(
            "what is in stock belongs to two identities, and --plain-loopback has none";
            "leave it out, and give --identity and --peer, or --with once you have paired"
        ));
    }
    // Without identities there is no peer to count tries of or to share crosses with.
    let may_take = matches!(protocol, Protocol::Authenticated | Protocol::Gmw);
    if has_stock || (may_take && !args.plain_loopback) {
        Ok(Some(stock::open(args.stock.stock.as_deref(), config)?))
    } else {
        Ok(None)
    }
}

/// Returns whether the arguments leave open which protocol against a malicious party runs.
pub(super) fn is_open(args: &RunArgs) -> bool {
    args.protocol.is_none() && args.security == ThreatModel::Malicious
}

/// Returns whether a checked execution of `function` is in stock, for `batch` to run. Each party
/// has one half of it, so both get the same answer.
pub(super) fn checked_in_stock(
    args: &RunArgs,
    config: &Config,
    party: &Party,
    function: &Function,
    role: Role,
) -> Result<bool, Failure> {
    let Some([own, peer]) = party.fingerprints() else {
        return Ok(false);
    };
    let scheme = scheme(args.runs.scheme.as_deref(), Some(function))?.id;
    let stocks = stock::open(args.stock.stock.as_deref(), config)?;
    let stock = stocks.name((own, peer), role, scheme);
    match security(Protocol::Batch, args) {
        Ok(security) => {
            let left = |stock: &StockName| stocks.executions_left(stock, function, security);
            Ok(stocks.total(&stock, left)? > 0)
        }
        // If that s does not exist, nothing is in stock for it.
        Err(_) => Ok(false),
    }
}

/// Returns s of a run by `protocol`.
pub(super) fn security(
    protocol: Protocol,
    args: &RunArgs,
) -> Result<StatisticalSecurity, tacit::Error> {
    super::statistical_security(protocol, args.security_bits)
}
