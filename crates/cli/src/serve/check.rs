//! Checks for errors that would otherwise appear only when a peer asks. They are made before the
//! service starts, before it accepts another configuration, and by `--check`.
//!
//! They read the files for inputs with every function that takes them, look up addresses, and look
//! for the folders of results. They run no commands.

use std::net::{SocketAddr, ToSocketAddrs};

use tacit::Fingerprint;
use tacit_serve::Policy;
use tacit_serve::inputs::RunRequest;

use super::Fixed;
use crate::failure::{Failure, input, usage};

/// Checks the things that the configuration names. Returns warnings about settings that are valid
/// but probably not meant.
pub(super) fn check(fixed: &Fixed, policy: &Policy) -> Result<Vec<String>, Failure> {
    let listen = addresses("listen", &fixed.listen)?;
    let mut warnings = Vec::new();
    if !fixed.metrics.is_empty() {
        let metrics = addresses("metrics", &fixed.metrics)?;
        let mut pairs = listen
            .iter()
            .flat_map(|one| metrics.iter().map(move |two| (one, two)));
        if pairs.any(|(one, two)| is_taken(*one, *two)) {
            return Err(usage!(
                "[serve]: listen = {:?} and metrics = {:?} are one address",
                fixed.listen, fixed.metrics;
                "give one of them another port"
            ));
        }
        if metrics.iter().any(|address| !address.ip().is_loopback()) {
            warnings.push(format!(
                "metrics = {:?} is open to other machines, and shows them the peers and how often \
                 they come; 127.0.0.1 is not",
                fixed.metrics
            ));
        }
    }
    if let Some(audit) = policy.audit() {
        let checked = audit.check();
        checked.map_err(
            |reason| input!("[serve] audit_file: {reason}"; "every run would be refused"),
        )?;
    }
    sources(policy)?;
    warnings.extend(policy.table_offers().iter().filter_map(|offer| {
        let (rows, most) = (offer.matching.row_count(), policy.limits().keys_per_day);
        let name = &offer.name;
        (rows > most).then(|| {
            format!(
                "{name} has {rows} rows, and keys_per_day = {most} refuses every peer with as \
                 large a table; write a larger one, if peers may have that"
            )
        })
    }));
    Ok(warnings)
}

/// Returns whether nobody can listen at `two` while somebody listens at `one`.
fn is_taken(one: SocketAddr, two: SocketAddr) -> bool {
    let is_any = one.ip().is_unspecified() || two.ip().is_unspecified();
    // For port 0 each gets one of its own.
    one.port() == two.port() && one.port() != 0 && (is_any || one.ip() == two.ip())
}

/// Returns the addresses that the field `name` stands for.
fn addresses(name: &str, text: &str) -> Result<Vec<SocketAddr>, Failure> {
    let found = text.to_socket_addrs();
    let found = found.map_err(
        |error| usage!("[serve]: {name} = {text:?}: {error}"; "write this machine's HOST:PORT"),
    )?;
    Ok(found.collect())
}

/// Checks every offer's inputs, for each of its functions, and the destination of its results.
fn sources(policy: &Policy) -> Result<(), Failure> {
    for offer in policy.offers() {
        let wrong = |reason: String| {
            input!(
                "[[serve.function]] {}: {reason}", offer.name;
                "correct it: otherwise peers that ask would hear that this party failed"
            )
        };
        let each = offer.forms().flat_map(|(function, protocols)| {
            let protocols = protocols.into_iter();
            protocols.map(move |protocol| (function, protocol))
        });
        for (function, protocol) in each {
            let peer = offer.peers.first().copied();
            let peer = peer.unwrap_or(Fingerprint([0; 32]));
            let asked = RunRequest {
                offer: &offer.name,
                function,
                role: offer.role,
                peer,
                peer_name: policy.peer(&peer).map_or("", |peer| &peer.name),
                protocol,
                run: None,
            };
            let checked = offer.inputs.check(&asked);
            checked.map_err(&wrong)?;
        }
        let checked = offer.results.check();
        checked.map_err(|reason| wrong(format!("results: {reason}")))?;
    }
    Ok(())
}
