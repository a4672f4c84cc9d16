//! The material that is kept in stock, from `[[serve.stock]]`.

use std::sync::Arc;

use tacit::Function;
use tacit::protocols::Protocol;
use tacit::stock::{LOT_SCHEME, Material};
use tacit_serve::Level;

use super::config::Stocked;
use super::policy::{choice, peers, security, wrong};
use crate::config::Config;
use crate::failure::Failure;
use crate::function;

/// Returns the levels of one table, one for each of its peers.
pub(super) fn levels(config: &Config, stocked: &Stocked) -> Result<Vec<Level>, Failure> {
    let (material, scheme, amount) = match (&stocked.function, stocked.ands) {
        (Some(name), None) => {
            let params = stocked.params.iter();
            let params = params.map(|(name, value)| (name.clone(), value.to_string()));
            let ports = [&stocked.owners, &stocked.results, &stocked.types];
            let order = stocked.bit_order.as_deref();
            let protocol = stocked.protocol.map_or(Protocol::Prepared, |named| named.0);
            let entry = stocked.entry.as_deref();
            let choice = choice(entry, params.collect(), &stocked.public, ports, order)?;
            let found = function::find(name, &choice)?;
            if found.joins() {
                let what = "a service keeps no stock for a program that joins tables; list \
                            another function that runs by gmw, whose crosses any run takes, or \
                            none: the run then makes them";
                return Err(wrong("function", what));
            }
            let runnable = found.in_form_of(protocol).runnable(&choice)?;
            let function = Arc::new(runnable.function().clone());
            let scheme = function::scheme(stocked.scheme.as_deref(), Some(&function))?;
            let missing = "it is missing; write for how many runs there is to be enough";
            let runs = stocked.runs.ok_or_else(|| wrong("runs", missing))?;
            (of_function(stocked, protocol, function)?, scheme.id, runs)
        }
        (None, Some(ands)) => (triples(stocked)?, LOT_SCHEME, ands),
        _ => {
            let what = "write a function and runs, or ands alone";
            return Err(wrong("function", what));
        }
    };
    let peers = peers(config, stocked.peers.as_deref())?.into_iter();
    let levels = peers.map(|peer| Level {
        peer,
        role: stocked.role,
        scheme,
        material: material.clone(),
        amount,
        refill_below: stocked.refill_below.unwrap_or(amount.div_ceil(2)),
    });
    Ok(levels.collect())
}

/// Returns the material for runs of a function by `protocol`.
fn of_function(
    stocked: &Stocked,
    protocol: Protocol,
    function: Arc<Function>,
) -> Result<Material, Failure> {
    if stocked.security_bits.is_some() && !protocol.has_security_bits() {
        let name = protocol.name();
        let what = format!(
            "{name} has none; write protocol = \"batch\" or \"authenticated\", or leave it out"
        );
        return Err(wrong("security_bits", &what));
    }
    if stocked.scheme.is_some() && !protocol.is_garbled() {
        return Err(wrong("scheme", "gmw garbles nothing; leave it out"));
    }
    let security = security(protocol, stocked.security_bits)?;
    Material::for_runs(protocol, function, security).ok_or_else(|| {
        let what = "it takes nothing from the stock; write prepared, batch, authenticated or gmw";
        wrong("protocol", what)
    })
}

/// Returns triples for any functions.
fn triples(stocked: &Stocked) -> Result<Material, Failure> {
    let is_for_other = stocked
        .protocol
        .is_some_and(|named| named.0 != Protocol::Authenticated);
    let of_functions = [
        ("protocol", is_for_other),
        ("runs", stocked.runs.is_some()),
        ("scheme", stocked.scheme.is_some()),
        ("entry", stocked.entry.is_some()),
        ("params", !stocked.params.is_empty()),
        ("public", !stocked.public.is_empty()),
        ("owners", !stocked.owners.is_empty()),
        ("results", !stocked.results.is_empty()),
        ("types", !stocked.types.is_empty()),
        ("bit_order", stocked.bit_order.is_some()),
    ];
    match of_functions.iter().find(|(_, is_given)| *is_given) {
        Some((field, _)) => {
            let what = "ands is for authenticated and for any function; leave one of them out";
            Err(wrong(field, what))
        }
        None => {
            let security = security(Protocol::Authenticated, stocked.security_bits)?;
            Ok(Material::Triples(security))
        }
    }
}
