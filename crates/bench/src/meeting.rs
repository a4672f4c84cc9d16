//! Two measured parties that meet over TLS, since prepared material belongs to two identities, and
//! the runs that they make there.

use tacit::garble::SchemeId;
use tacit::stock::Stocks;
use tacit::{Fingerprint, Function, Identity, Job, Listener, Role, Session, Settings, Value};
use tacit_net::{Channel, Link};

use crate::Error;
use crate::parties::Party;

/// Returns the role of a party.
pub(crate) fn role(party: Party) -> Role {
    match party {
        Party::Garbler => Role::Garbler,
        Party::Evaluator => Role::Evaluator,
    }
}

/// Returns a run of `function` on inputs of zeros, from `stocks` if there are any.
pub(crate) fn job<'f>(
    function: &'f Function,
    role: Role,
    stocks: Option<&Stocks>,
) -> Result<Job<'f>, Error> {
    let mut job = Job::new(function, role).scheme(SchemeId::HALF_GATES_TWO_CALL);
    if let Some(stocks) = stocks {
        job = job.prepared(stocks);
    }
    for input in function.inputs().iter().filter(|input| input.owner == role) {
        let zeros = vec![false; input.port.ty.width()];
        let value = Value::from_bits(&input.port.ty, &zeros);
        job = job.input(&input.port.name, value.map_err(tacit::Error::from)?);
    }
    Ok(job)
}

/// A party's means to meet the other over TLS.
pub(crate) struct Meeting {
    identity: Identity,
    peer: Fingerprint,
    settings: Settings,
    place: MeetingPlace,
}

enum MeetingPlace {
    Here(Listener),
    There(String),
}

impl Meeting {
    /// Tells the other party, in the clear, this one's fingerprint and address.
    pub(crate) fn arrange(
        plain: &mut Channel,
        party: Party,
        settings: Settings,
    ) -> Result<Self, Error> {
        let identity = Identity::generate()?;
        let listener = match party {
            Party::Garbler => Some(Listener::bind("127.0.0.1:0")?),
            Party::Evaluator => None,
        };
        let address = listener
            .as_ref()
            .map(|listener| listener.local_address().to_string());
        plain.send(1, identity.fingerprint().to_string().as_bytes())?;
        plain.send(1, address.unwrap_or_default().as_bytes())?;
        plain.flush()?;
        let mut hear = || -> Result<String, Error> {
            let frame = plain.receive(MAX_TEXT_BYTES)?;
            Ok(String::from_utf8_lossy(frame.payload).into_owned())
        };
        let (peer, address) = (hear()?, hear()?);
        Ok(Self {
            identity,
            peer: peer.parse().map_err(|error| Error::Party {
                party: party.other().name(),
                reason: format!("its fingerprint is {peer:?}: {error}"),
            })?,
            settings,
            place: match listener {
                Some(listener) => MeetingPlace::Here(listener),
                None => MeetingPlace::There(address),
            },
        })
    }

    /// Imitates another link, or none, from the next session on.
    pub(crate) fn set_link(&mut self, link: Option<Link>) {
        self.settings.link = link;
    }

    /// Starts the next session.
    pub(crate) fn session(&mut self) -> Result<Session, Error> {
        let (identity, peer, settings) = (&self.identity, &self.peer, &self.settings);
        let mut session = match &self.place {
            MeetingPlace::Here(listener) => listener.accept(identity, peer, settings)?,
            MeetingPlace::There(address) => Session::connect(address, identity, peer, settings)?,
        };
        if let Some(link) = settings.link {
            session.set_link(link);
        }
        Ok(session)
    }
}

/// The longest text by which parties meet, in bytes.
const MAX_TEXT_BYTES: usize = 256;
