//! Two pages that meet by a link.
//!
//! The link holds an invitation of `tacit::net::pairing`: the fingerprint of the page that made it,
//! a secret, and a relay. Both pages connect to the relay, the guest proves within TLS that it
//! knows the secret, and each knows the other's fingerprint from then on. They compare no codes, so
//! anybody who reads the link before it is used can come in the guest's place.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tacit::Identity;
use tacit::net::NetError;
use tacit::net::pairing::{self, Invitation, Inviter, Ledger, Refusal, Route};
use tacit::net::relay::{Answer, Hello};

use crate::Refused;
use crate::link;
use crate::session::{With, identity, of_link, order, patience, settings, text};

/// The default and the largest number of minutes for which an invitation is good.
const MINUTES: u64 = 15;
const MAX_MINUTES: u64 = 24 * 60;

fn network(error: NetError) -> Refused {
    tacit::Error::from(error).into()
}

fn parsed(text: &str) -> Result<Invitation, Refused> {
    let invitation: Invitation = text.parse().map_err(|error| format!("{error}"))?;
    match invitation.way() {
        Route::RelayOfPages => Ok(invitation),
        _ => {
            Err("this invitation is for the `tacit` command: give it to `tacit pair accept`".into())
        }
    }
}

/// Makes an invitation. The order has an `identity`, the URL of a `relay`, and `minutes`, which may
/// be left out.
pub(crate) fn make(text_of_order: &str) -> Result<String, Refused> {
    let (order, _) = order(text_of_order)?;
    let minutes = match &order["minutes"] {
        Json::Null => Some(MINUTES),
        given => given
            .as_u64()
            .filter(|given| (1..=MAX_MINUTES).contains(given)),
    };
    let minutes = minutes.ok_or("minutes is a whole number, of a day at most")?;
    let own = identity(&order["identity"])?.fingerprint();
    let expires = pairing::now().map_err(network)? + 60 * minutes;
    let relay = text(&order, "relay")?;
    let made = Invitation::new(own, Route::RelayOfPages, relay, expires);
    let made = made.map_err(|error| match error {
        NetError::Address { reason, .. } => Refused::from(reason.to_string()),
        other => network(other),
    })?;
    Ok(String::clone(&made.to_text()))
}

/// Returns the parts of an invitation that a page may show.
pub(crate) fn read(text: &str) -> Result<String, Refused> {
    let invitation = parsed(text)?;
    let told = json!({
        "relay": invitation.address(),
        "inviter": invitation.inviter().to_string(),
        "expires_ms": invitation.expires().saturating_mul(1000),
    });
    Ok(told.to_string())
}

/// Waits, over a link to the relay, for the guest of an invitation that this page made. Returns the
/// guest's fingerprint. The invitation is used up from then on. Uses `identity` of the order.
pub(crate) fn invite(link: u32, text: &str, text_of_order: &str) -> Result<String, Refused> {
    let (order, _) = order(text_of_order)?;
    let (invitation, identity) = (parsed(text)?, identity(&order["identity"])?);
    let hello = Hello {
        room: invitation.room(),
        listens: true,
    };
    let settings = settings(patience(&order)?);
    let expires = invitation.expires();
    let inviter = Inviter::new(invitation, Ledger::in_memory()).map_err(network)?;
    loop {
        let left = expires.saturating_sub(pairing::now().map_err(network)?);
        let left = Duration::from_secs(left);
        let met = match link::meet(link, hello, left) {
            Ok(transport) => inviter.meet(transport, &identity, &settings),
            Err(NetError::Timeout { .. }) => Err(NetError::Pairing(Refusal::Late)),
            Err(error) => Err(error),
        };
        match met {
            Ok(met) => return Ok(met.without_codes().peer.to_string()),
            Err(error) if ends(&error) || inviter.is_used() || !link::is_met(link) => {
                return Err(of_invitation(link, With::Relay, left, error));
            }
            // A peer that knows the room's name but not the secret cannot end the wait.
            Err(_) => link::renew(link),
        }
    }
}

/// Returns whether the error, which may be a stranger's doing, ends the wait for a guest.
fn ends(error: &NetError) -> bool {
    match error {
        NetError::Pairing(refusal) => matches!(refusal, Refusal::Late | Refusal::Used),
        NetError::Relay(answer) => !matches!(answer, Answer::Late | Answer::Replaced),
        _ => false,
    }
}

/// Accepts an invitation, over a link to its relay. Returns the fingerprint of the page that made
/// it. Uses `identity` and `patience_ms` of the order.
pub(crate) fn accept(link: u32, text: &str, text_of_order: &str) -> Result<String, Refused> {
    let (order, _) = order(text_of_order)?;
    let (invitation, identity) = (parsed(text)?, identity(&order["identity"])?);
    let patience = patience(&order)?;
    let met = meet_inviter(link, &invitation, &identity, patience);
    let met = met.map_err(|error| of_invitation(link, With::Inviter, patience, error))?;
    Ok(met.without_codes().peer.to_string())
}

fn meet_inviter(
    link: u32,
    invitation: &Invitation,
    identity: &Identity,
    patience: Duration,
) -> Result<pairing::UnconfirmedPairing, NetError> {
    if invitation.is_late(pairing::now()?) {
        return Err(NetError::Pairing(Refusal::Late));
    }
    let hello = Hello {
        room: invitation.room(),
        listens: false,
    };
    let transport = link::meet(link, hello, patience)?;
    let ledger = Ledger::in_memory();
    pairing::accept_over(
        transport,
        invitation,
        &ledger,
        identity,
        &settings(patience),
    )
}

/// Returns the error of an invitation in the words of a page.
fn of_invitation(link: u32, with: With<'_>, patience: Duration, error: NetError) -> Refused {
    let NetError::Pairing(refusal) = error else {
        return of_link(link, with, patience, network(error));
    };
    let reason = match refusal {
        Refusal::Late => Some("expired"),
        Refusal::Used | Refusal::Unknown | Refusal::Withdrawn => Some("not-awaited"),
        _ => None,
    };
    let is_other = matches!(refusal, Refusal::OtherParty | Refusal::Changed);
    let message = match refusal {
        Refusal::Late => "the link has expired: ask for a new one, or make one".to_owned(),
        _ => format!("{refusal}; ask for a new link"),
    };
    Refused {
        kind: if is_other { "identity" } else { "network" },
        message,
        reason,
        started: false,
    }
}
