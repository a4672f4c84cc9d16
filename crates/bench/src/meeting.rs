//! Measured parties that meet over TLS, since prepared material belongs to two identities, and the
//! runs that two of them make there.

use serde::{Deserialize, Serialize};
use tacit::cost::{Cost, Phase, PhaseCost};
use tacit::garble::SchemeId;
use tacit::protocols::Protocol;
use tacit::stock::Stocks;
use tacit::{Fingerprint, Function, Identity, Job, Listener, Role, Session, Settings};
use tacit_net::Channel;
use tempfile::TempDir;

use crate::Error;
use crate::parties::{Control, Wire};
use crate::record::Traffic;

/// The longest message by which parties meet, in bytes.
const MAX_MESSAGE_BYTES: usize = 1024;

/// Tells the other party something in the clear.
pub(crate) fn say(to: &mut Channel, what: &impl Serialize) -> Result<(), Error> {
    to.send(1, &serde_json::to_vec(what)?)?;
    Ok(to.flush()?)
}

/// Returns what the other party says next.
pub(crate) fn hear<T: for<'de> Deserialize<'de>>(from: &mut Channel) -> Result<T, Error> {
    let frame = from.receive(MAX_MESSAGE_BYTES)?;
    Ok(serde_json::from_slice(frame.payload)?)
}

/// Parses the other party's fingerprint.
pub(crate) fn fingerprint(text: &str) -> Result<Fingerprint, Error> {
    let wrong = |error| {
        Error::of(
            "other party",
            format!("its fingerprint is {text:?}: {error}"),
        )
    };
    text.parse().map_err(wrong)
}

/// Returns a run of `function` under half-gates, on the least inputs.
pub(crate) fn job(function: &Function, role: Role) -> Job<'_> {
    without_scheme(function, role).scheme(SchemeId::HALF_GATES_TWO_CALL)
}

/// Returns the same by a protocol that takes nothing from the stock. `gmw` has no scheme.
pub(crate) fn job_by(function: &Function, role: Role, by: Protocol) -> Result<Job<'_>, Error> {
    let job = match by {
        Protocol::Gmw => without_scheme(function, role),
        _ => job(function, role),
    };
    Ok(job.by(by, None)?)
}

fn without_scheme(function: &Function, role: Role) -> Job<'_> {
    let own = function.inputs().iter().filter(|input| input.owner == role);
    own.fold(Job::new(function, role), |job, input| {
        job.input(&input.port.name, input.port.least_value())
    })
}

/// A party's means to meet the other over TLS, and its stock.
pub(crate) struct Meeting {
    identity: Identity,
    peer: Fingerprint,
    /// The garbler's listener, or its address.
    place: Result<Listener, String>,
    pub(crate) control: Control,
    pub(crate) stocks: Stocks,
    _folder: TempDir,
}

impl Meeting {
    /// Tells the other party, in the clear, this one's fingerprint and address.
    pub(crate) fn arrange(wire: Wire, role: Role) -> Result<Self, Error> {
        let (mut plain, control) = wire.split();
        let identity = Identity::generate()?;
        let listener = match role {
            Role::Garbler => Some(Listener::bind("127.0.0.1:0")?),
            Role::Evaluator => None,
        };
        let address = listener
            .as_ref()
            .map(|listener| listener.local_address().to_string());
        say(&mut plain, &(identity.fingerprint().to_string(), address))?;
        let (peer, address): (String, Option<String>) = hear(&mut plain)?;
        let folder = tempfile::tempdir()?;
        Ok(Self {
            identity,
            peer: fingerprint(&peer)?,
            place: listener.ok_or(address.unwrap_or_default()),
            control,
            stocks: Stocks::open(folder.path(), 64 << 30)?,
            _folder: folder,
        })
    }

    /// Starts the next session, over this link if one is imitated.
    pub(crate) fn session(&self, link: Option<&str>) -> Result<Session, Error> {
        let link = link.and_then(|link| link.parse().ok());
        let settings = Settings {
            link,
            ..Settings::default()
        };
        let mut session = match &self.place {
            Ok(listener) => listener.accept(&self.identity, &self.peer, &settings)?,
            Err(address) => Session::connect(address, &self.identity, &self.peer, &settings)?,
        };
        if let Some(link) = link {
            session.set_link(link);
        }
        Ok(session)
    }
}

/// Ends a session. Either party may have left when the other closes.
pub(crate) fn end(session: Session) {
    let _ = session.close();
}

/// The cost of a run for the evaluator.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Timed {
    /// From its first online byte to its result.
    pub(crate) online_ms: f64,
    /// The same, with the agreement and the leases before.
    pub(crate) whole_ms: f64,
    pub(crate) online: Traffic,
    /// The bytes that it receives and sends, with those before it is online.
    pub(crate) whole: Traffic,
}

impl Timed {
    fn of(cost: &Cost) -> Self {
        let ms =
            |phases: &[&PhaseCost]| phases.iter().map(|one| 1e3 * one.wall.as_secs_f64()).sum();
        let traffic = |phases: &[&PhaseCost]| Traffic {
            garbler_bytes: phases.iter().map(|one| one.traffic.received.bytes).sum(),
            evaluator_bytes: phases.iter().map(|one| one.traffic.sent.bytes).sum(),
            rounds: phases.iter().map(|one| one.traffic.rounds).sum(),
        };
        let phases = |holds: fn(Phase) -> bool| -> Vec<&PhaseCost> {
            cost.phases.iter().filter(|one| holds(one.phase)).collect()
        };
        let online = phases(|phase| phase == Phase::Run);
        let whole = phases(|phase| phase != Phase::Setup);
        Self {
            online_ms: ms(&online),
            whole_ms: ms(&whole),
            online: traffic(&online),
            whole: traffic(&whole),
        }
    }
}

/// Makes runs in a session. Returns their costs without that of the first, which warms up.
pub(crate) fn timed<'f>(
    session: &mut Session,
    runs: u64,
    job: impl Fn() -> Job<'f>,
) -> Result<Vec<Timed>, Error> {
    Ok(runs_of(session, runs, || Ok(job()))?.split_off(1))
}

/// Makes runs in a session, and returns their costs.
pub(crate) fn runs_of<'f>(
    session: &mut Session,
    runs: u64,
    job: impl Fn() -> Result<Job<'f>, Error>,
) -> Result<Vec<Timed>, Error> {
    (0..runs)
        .map(|_| Ok(Timed::of(&job()?.run(session)?.cost)))
        .collect()
}

/// Returns the last run of the evaluator.
pub(crate) fn last(runs: &[Timed]) -> Result<&Timed, Error> {
    let unmeasured = || Error::of(Role::Evaluator.name(), "it reported no run");
    runs.last().ok_or_else(unmeasured)
}

/// Returns a time of each run.
pub(crate) fn times(runs: &[Timed], of: fn(&Timed) -> f64) -> Vec<f64> {
    runs.iter().map(of).collect()
}
