//! Pairing: two parties learn each other's fingerprints from an invitation and two spoken codes.
//!
//! The inviting party gives the other an [`Invitation`], a single line, over any channel. The other
//! connects, and both prove their identities by TLS. Then they exchange nonces, the first one under
//! a commitment, and each computes two codes of six digits from everything that was exchanged. Each
//! party reads its code aloud and types the other's. The messages are, in this order:
//!
//! | from | kind | payload |
//! |---|---|---|
//! | accepting | 1 offer | identifier of the invitation's secret, 16 bytes; proof of knowing the secret, 32; digest of the invitation as received, 32; commitment, 32 |
//! | inviting | 2 nonce | 32 bytes |
//! | accepting | 3 opening | its own nonce, 32 bytes |
//! | both | 4 confirmed | nothing: the codes agree at the sender |
//! | either | 5 refused | a [`Refusal`], one byte |
//!
//! This is the three-move protocol of Vaudenay, "Secure Communications over Insecure Channels Based
//! on Short Authenticated Strings" (CRYPTO 2005), with a code for each direction, so that nobody
//! can confirm a code without having heard it. SHA-256 is modelled as a random oracle; proof and
//! identifier are SHA-256 of the secret and values of fixed lengths.
//!
//! | module | contents |
//! |---|---|
//! | `invitation` | the invitation and its text |
//! | `exchange` | the states and messages, without I/O |
//! | `accept` | the accepting party |
//! | `ledger` | the record of made and used invitations, on disk |

mod accept;
mod exchange;
mod invitation;
mod ledger;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use web_time::{SystemTime, UNIX_EPOCH};

use crate::relay::{self, Answer, Hello};
use crate::{Channel, Fingerprint, Identity, NetError, Settings, Transport, tls};
use exchange::{Agreed, Invited};

pub use accept::{accept, accept_over, check_invitation};
pub use exchange::Code;
pub use invitation::{Invitation, NotAnInvitation, Route};
pub use ledger::Ledger;

pub use crate::tls::Listener as PairingListener;

/// The longest wait for the other party to type its code.
const CODE_TIME: Duration = Duration::from_secs(600);
/// The longest time for a refused party to receive the reason.
const REFUSAL_TIME: Duration = Duration::from_secs(2);

/// The pause before this party joins a relay again, after a peer failed.
const REJOIN_PAUSE: Duration = Duration::from_millis(200);

const OFFER: u8 = 1;
const NONCE: u8 = 2;
const OPENING: u8 = 3;
const CONFIRMED: u8 = 4;
const REFUSED: u8 = 5;

/// The longest message in bytes.
const MAX_BYTES: usize = 112;

/// The reason why a pairing is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Refusal {
    /// The inviting party made no invitation with this secret.
    Unknown = 1,
    /// The invitation differs from the one that was made.
    Changed = 2,
    /// The invitation was used before.
    Used = 3,
    /// The invitation has expired.
    Late = 4,
    /// The command that made the invitation has ended.
    Withdrawn = 5,
    /// A code was not that of the other party.
    OtherCode = 6,
    /// A message was malformed.
    Malformed = 7,
    /// Another party is at the address of the invitation.
    OtherParty = 8,
    /// The invitation is a page's, and this party is none.
    OfPage = 9,
}

impl Refusal {
    fn from_byte(byte: u8) -> Self {
        match byte {
            1 => Self::Unknown,
            2 => Self::Changed,
            3 => Self::Used,
            4 => Self::Late,
            5 => Self::Withdrawn,
            6 => Self::OtherCode,
            8 => Self::OtherParty,
            _ => Self::Malformed,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => {
                "the inviting party knows no such invitation: it was changed on the way, or \
                 somebody else made it"
            }
            Self::Changed => "the invitation was changed on the way",
            Self::Used => "the invitation was used before, and each is good for one pairing",
            Self::Late => "the invitation has expired",
            Self::Withdrawn => "the party that made the invitation no longer waits for an answer",
            Self::OtherCode => {
                "the codes differ: somebody is between the two parties, or a code was misheard"
            }
            Self::Malformed => "the other party sent no message of a pairing",
            Self::OtherParty => {
                "somebody else than the invitation names is at its address: it was changed on the \
                 way, or is of another time"
            }
            Self::OfPage => "the invitation is from a page to a page: open its link in a browser",
        })
    }
}

/// Two parties that have exchanged everything but their codes.
pub struct UnconfirmedPairing {
    channel: Channel,
    agreed: Agreed,
}

impl fmt::Debug for UnconfirmedPairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnconfirmedPairing({})", self.agreed.peer)
    }
}

/// The result of a pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paired {
    /// The other party.
    pub peer: Fingerprint,
    /// The name of the room at a relay in which the two parties meet from now on.
    pub room: [u8; 32],
}

impl UnconfirmedPairing {
    /// Returns whether `heard` is the code that the other party reads aloud.
    #[must_use]
    pub fn is_theirs(&self, heard: &str) -> bool {
        self.agreed.theirs.is(heard)
    }

    /// Returns the code that this party reads aloud.
    #[must_use]
    pub fn own_code(&self) -> Code {
        self.agreed.own
    }

    /// Confirms the pairing with the code that the other party read aloud, and waits until the
    /// other has done the same.
    ///
    /// # Errors
    ///
    /// [`Refusal::OtherCode`] at either party, or the connection ends or takes too long.
    pub fn confirm(mut self, heard: &str) -> Result<Paired, NetError> {
        if !self.is_theirs(heard) {
            return Err(self.refuse());
        }
        self.channel.set_timeout(CODE_TIME);
        self.channel.send(CONFIRMED, &[])?;
        receive(&mut self.channel, CONFIRMED)?;
        let paired = Paired {
            peer: self.agreed.peer,
            room: self.agreed.room,
        };
        // Both have confirmed, so a peer that has already left does not matter.
        let _ = self.channel.close();
        Ok(paired)
    }

    /// Ends the pairing without codes. Then the peer may be anybody who read the invitation, and
    /// somebody who could change the invitation on its way may be between the two.
    #[must_use]
    pub fn without_codes(self) -> Paired {
        let paired = Paired {
            peer: self.agreed.peer,
            room: self.agreed.room,
        };
        // Each knows the other, so a peer that has already left does not matter.
        let _ = self.channel.close();
        paired
    }

    /// Refuses the pairing because the code is not the other party's.
    #[must_use]
    pub fn refuse(self) -> NetError {
        refuse(self.channel, Refusal::OtherCode)
    }
}

/// Returns the seconds since 1970 by this machine's clock.
///
/// # Errors
///
/// [`NetError::Clock`] if the clock is before 1970: under such a clock no invitation would ever
/// expire.
pub fn now() -> Result<u64, NetError> {
    seconds_since_1970(SystemTime::now())
}

fn seconds_since_1970(time: SystemTime) -> Result<u64, NetError> {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(Err(NetError::Clock), |since| Ok(since.as_secs()))
}

/// A party that waits for the one that accepts its invitation.
pub struct Inviter {
    invitation: Arc<Invitation>,
    ledger: Ledger,
    clock: fn() -> u64,
}

impl Inviter {
    /// Enters the invitation into the ledger.
    ///
    /// # Errors
    ///
    /// The ledger cannot be written.
    pub fn new(invitation: Invitation, ledger: Ledger) -> Result<Self, NetError> {
        // If the clock goes back meanwhile, the invitation counts as expired.
        Self::by_clock(invitation, ledger, || now().unwrap_or(u64::MAX))
    }

    fn by_clock(
        invitation: Invitation,
        ledger: Ledger,
        clock: fn() -> u64,
    ) -> Result<Self, NetError> {
        ledger.enter(&invitation.id(), invitation.expires())?;
        Ok(Self {
            invitation: Arc::new(invitation),
            ledger,
            clock,
        })
    }

    /// Waits at `listener`, until the invitation expires, for the party that knows its secret. No
    /// other party can use it up or end the wait. Calls `refused` for each peer that fails.
    ///
    /// # Errors
    ///
    /// [`Refusal::Late`] if it has expired, or the pairing broke after the invitation was used.
    pub fn wait(
        self,
        listener: &tls::Listener,
        identity: &Identity,
        settings: &Settings,
        refused: &mut dyn FnMut(SocketAddr, &NetError),
    ) -> Result<UnconfirmedPairing, NetError> {
        let left = self.invitation.expires().saturating_sub((self.clock)());
        let settings = Settings {
            connect_timeout: Duration::from_secs(left),
            ..settings.clone()
        };
        let (own, time) = (identity.fingerprint(), settings.handshake_timeout);
        let hear = move |channel: Channel| self.hear(channel, own, time);
        let heard = listener.accept_pairing(identity, &settings, hear, refused);
        match heard {
            Ok(heard) => heard.open(&settings),
            Err(NetError::Timeout { .. } | NetError::OnlyOthers { .. }) => {
                Err(NetError::Pairing(Refusal::Late))
            }
            Err(other) => Err(other),
        }
    }

    /// Waits as [`Inviter::wait`] does, at the relay that the invitation names.
    ///
    /// # Errors
    ///
    /// Those of [`Inviter::wait`], or the relay refuses.
    pub fn wait_at_relay(
        self,
        identity: &Identity,
        settings: &Settings,
        refused: &mut dyn FnMut(&NetError),
    ) -> Result<UnconfirmedPairing, NetError> {
        let hello = Hello {
            room: self.invitation.room(),
            listens: true,
        };
        loop {
            let left = self.invitation.expires().saturating_sub((self.clock)());
            if left == 0 {
                return Err(NetError::Pairing(Refusal::Late));
            }
            let patience = Duration::from_secs(left);
            let joined = relay::join(self.invitation.address(), hello, settings, patience);
            let transport = match joined {
                Ok(transport) => transport,
                // A party that has seen the room's name can take this side's place, but not
                // permanently.
                Err(
                    NetError::Relay(Answer::Late | Answer::Replaced) | NetError::Timeout { .. },
                ) => {
                    // A relay that answers so at once does not keep this side busy either.
                    std::thread::sleep(REJOIN_PAUSE);
                    continue;
                }
                Err(other) => return Err(other),
            };
            let own = identity.fingerprint();
            let channel = tls::pairing_server(transport, identity, settings);
            match channel.and_then(|channel| self.hear(channel, own, settings.handshake_timeout)) {
                Ok(heard) => return heard.open(settings),
                Err(error) => refused(&error),
            }
            // A party that knows the room's name but not the secret cannot keep this side busy.
            std::thread::sleep(REJOIN_PAUSE);
        }
    }

    /// Returns whether a party has used the invitation up.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.ledger.look(&self.invitation.id(), (self.clock)()) == Refusal::Used
    }

    /// Waits over a transport that leads to one party. After a [`Refusal`] the invitation stays
    /// valid unless that party knew the secret.
    ///
    /// # Errors
    ///
    /// Those of [`Inviter::wait`].
    pub fn meet(
        &self,
        transport: Transport,
        identity: &Identity,
        settings: &Settings,
    ) -> Result<UnconfirmedPairing, NetError> {
        let channel = tls::pairing_server(transport, identity, settings)?;
        let time = settings.handshake_timeout;
        self.hear(channel, identity.fingerprint(), time)?
            .open(settings)
    }

    /// Receives an offer within `time`. A valid offer uses the invitation up before anything is
    /// sent that a code depends on.
    fn hear(
        &self,
        mut channel: Channel,
        own: Fingerprint,
        time: Duration,
    ) -> Result<InvitedPeer, NetError> {
        channel.set_timeout(time);
        let offer = receive(&mut channel, OFFER)?;
        // It ends early if another stranger takes the place of this one's handshake.
        let refuse = |channel: Channel, refusal: Refusal| {
            let _ = channel.part(REFUSED, &[refusal as u8], time);
            NetError::Pairing(refusal)
        };
        let Some(peer) = channel.peer() else {
            return Err(refuse(channel, Refusal::Malformed));
        };
        let invited = Invited::new(&self.invitation, own, peer, channel.binding());
        let checked = match invited.hear(&offer) {
            Err(Refusal::Unknown) => {
                let id = offer.first_chunk().copied().unwrap_or_default();
                Err(self.ledger.look(&id, (self.clock)()))
            }
            Err(refusal) => Err(refusal),
            Ok(_) if self.invitation.is_late((self.clock)()) => Err(Refusal::Late),
            Ok(offered) => match self.ledger.claim(&self.invitation.id()) {
                Ok(true) => Ok(offered),
                Ok(false) => Err(Refusal::Used),
                Err(error) => return Err(error),
            },
        };
        match checked {
            Ok(offered) => Ok(InvitedPeer { channel, offered }),
            Err(refusal) => Err(refuse(channel, refusal)),
        }
    }
}

/// A connection to a party that knows the secret of the invitation, which is used up.
struct InvitedPeer {
    channel: Channel,
    offered: exchange::Offered,
}

impl InvitedPeer {
    /// Exchanges the nonces.
    fn open(self, settings: &Settings) -> Result<UnconfirmedPairing, NetError> {
        let Self {
            mut channel,
            offered,
        } = self;
        channel.set_cancel_handle(settings.cancel.clone());
        let nonce = nonce()?;
        channel.send(NONCE, &nonce)?;
        let opening = receive(&mut channel, OPENING)?;
        match offered.hear(&nonce, &opening) {
            Some(agreed) => Ok(UnconfirmedPairing { channel, agreed }),
            None => Err(refuse(channel, Refusal::Malformed)),
        }
    }
}

fn nonce() -> Result<[u8; 32], NetError> {
    let mut nonce = [0; 32];
    getrandom::fill(&mut nonce).map_err(|error| NetError::KeyGeneration {
        reason: error.to_string(),
    })?;
    Ok(nonce)
}

/// Receives the next message, which must be of `kind`, and returns its payload.
fn receive(channel: &mut Channel, kind: u8) -> Result<Vec<u8>, NetError> {
    let frame = channel.receive(MAX_BYTES)?;
    match (frame.kind, frame.payload) {
        (found, payload) if found == kind => Ok(payload.to_vec()),
        (REFUSED, [reason]) => Err(NetError::Pairing(Refusal::from_byte(*reason))),
        _ => Err(NetError::Pairing(Refusal::Malformed)),
    }
}

/// Sends the other party the reason, if it is still connected, and returns the error.
fn refuse(channel: Channel, refusal: Refusal) -> NetError {
    let _ = channel.abort(REFUSED, &[refusal as u8], REFUSAL_TIME);
    NetError::Pairing(refusal)
}
