//! The accepting party.

use super::exchange::Accepting;
use super::{
    Invitation, Ledger, NONCE, OFFER, OPENING, Refusal, Route, UnconfirmedPairing, nonce, now,
    receive, refuse,
};
use crate::relay::{self, Hello};
use crate::tcp::{self, Reach};
use crate::{Channel, Identity, NetError, Settings, Transport, Wait, tls};

/// Accepts an invitation: connects to the place that it names, as `identity`. The invitation is
/// used up in `ledger` as soon as the inviting party answers. One that was used up before is
/// refused at once, since nobody may wait at its address any more.
///
/// # Errors
///
/// A [`Refusal`], or nobody answers.
pub fn accept(
    invitation: &Invitation,
    ledger: &Ledger,
    identity: &Identity,
    settings: &Settings,
) -> Result<UnconfirmedPairing, NetError> {
    check_invitation(invitation, ledger)?;
    let wait = Wait::at_most(settings.connect_timeout, &settings.cancel);
    // Nothing is used up before the handshake is done.
    let channel = tcp::while_busy(settings, &wait, tcp::is_closed, || {
        let transport = reach(invitation, settings, &wait)?;
        meet_inviter(transport, invitation, identity, settings)
    })?;
    offer(channel, invitation, ledger, identity)
}

/// Checks that an invitation can still be accepted here, before anybody is waited for.
///
/// # Errors
///
/// A [`Refusal`]: it is late, was used up before, or is for a web page.
pub fn check_invitation(invitation: &Invitation, ledger: &Ledger) -> Result<(), NetError> {
    let refusal = if invitation.is_late(now()?) {
        Refusal::Late
    } else if ledger.is_used(&invitation.accepted_id()) {
        Refusal::Used
    } else if invitation.way() == Route::RelayOfPages {
        Refusal::OfPage
    } else {
        return Ok(());
    };
    Err(NetError::Pairing(refusal))
}

/// Connects to the place that the invitation names.
fn reach(
    invitation: &Invitation,
    settings: &Settings,
    wait: &Wait<'_>,
) -> Result<Transport, NetError> {
    let address = invitation.address();
    match invitation.way() {
        Route::Direct => {
            let socket = tcp::connect_within(address, Reach::Anywhere, settings, wait)?;
            tls::transport(socket)
        }
        Route::Relay => {
            let hello = Hello {
                room: invitation.room(),
                listens: false,
            };
            relay::join(address, hello, settings, settings.connect_timeout)
        }
        Route::RelayOfPages => Err(NetError::Pairing(Refusal::OfPage)),
    }
}

/// Returns a channel to the party that made the invitation.
fn meet_inviter(
    transport: Transport,
    invitation: &Invitation,
    identity: &Identity,
    settings: &Settings,
) -> Result<Channel, NetError> {
    let channel = tls::pairing_client(transport, identity, &invitation.inviter(), settings);
    channel.map_err(|error| match error {
        NetError::WrongIdentity { .. } => NetError::Pairing(Refusal::OtherParty),
        // A service or a run took the place of the command that made the invitation.
        NetError::OtherPurpose => NetError::Pairing(Refusal::Withdrawn),
        other => other,
    })
}

/// Does the same as [`accept`] over a transport that leads to the inviting party.
///
/// # Errors
///
/// Those of [`accept`].
pub fn accept_over(
    transport: Transport,
    invitation: &Invitation,
    ledger: &Ledger,
    identity: &Identity,
    settings: &Settings,
) -> Result<UnconfirmedPairing, NetError> {
    let channel = meet_inviter(transport, invitation, identity, settings)?;
    offer(channel, invitation, ledger, identity)
}

/// Offers the pairing to the inviting party.
fn offer(
    mut channel: Channel,
    invitation: &Invitation,
    ledger: &Ledger,
    identity: &Identity,
) -> Result<UnconfirmedPairing, NetError> {
    let own = identity.fingerprint();
    let (state, offer) = Accepting::new(invitation, own, channel.binding(), nonce()?);
    channel.send(OFFER, &offer)?;
    let theirs = receive(&mut channel, NONCE)?;
    let Some((opening, agreed)) = state.hear(&theirs) else {
        return Err(refuse(channel, Refusal::Malformed));
    };
    // The party at the inviter's address learns the codes from the opening; for one invitation that
    // may happen only once.
    if !ledger.accept(&invitation.accepted_id(), invitation.expires())? {
        return Err(refuse(channel, Refusal::Used));
    }
    channel.send(OPENING, &opening)?;
    channel.flush()?;
    Ok(UnconfirmedPairing { channel, agreed })
}
