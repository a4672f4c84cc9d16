//! The actions of the three parties: they meet over TLS, each with both others, and run programs.
//!
//! The generator, to which both others connect, tells each the fingerprint and address of the
//! third. All work on their links in one order, generator–cloud, generator–evaluator,
//! evaluator–cloud, so that no three wait for each other in a cycle.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};
use tacit::cost::{Cost, Phase};
use tacit::garble::SchemeId;
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters, OutsourcedRole};
use tacit::stock::Stocks;
use tacit::{Fingerprint, Function, Identity, Listener, Outcome, Role, Session, Settings};
use tacit_net::{Channel, Link};
use tempfile::TempDir;

use super::cases;
use super::{NAMES, SECURITY_BITS};
use crate::Error;
use crate::meeting::{end, hear, say};
use crate::parties::{Control, Wire};
use crate::workload::Workload;

/// The most bytes that a server stores.
const STOCK_BYTES: u64 = 64 << 30;

/// Programs that run one after the other, those that keep values in one chain, and the repetitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Exchanged {
    /// The programs, in order.
    pub(super) programs: Vec<Workload>,
    /// σ; a single circuit is semi-honest.
    pub(super) copies: u32,
    /// Threads of each server.
    pub(super) threads: NonZeroUsize,
    /// The number of times that all programs run, each time in a new chain.
    pub(super) repetitions: usize,
    /// The link between any two parties, as text.
    pub(super) link: Option<String>,
}

/// The cost of a run for one party.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Timed {
    pub(super) agreement_ms: f64,
    pub(super) chain_ms: f64,
    pub(super) setup_ms: f64,
    pub(super) run_ms: f64,
    /// The bytes that it sent to each party, in the order of [`OutsourcedRole::ALL`].
    pub(super) sent_bytes: [u64; 3],
    /// The rounds on its link to each party.
    pub(super) rounds: [u64; 3],
}

impl Timed {
    /// Returns the time of all phases.
    pub(super) fn whole_ms(&self) -> f64 {
        self.agreement_ms + self.chain_ms + self.setup_ms + self.run_ms
    }

    fn of(cost: &Cost) -> Self {
        let phases = |wanted: Phase| {
            let phases = cost.phases.iter().filter(|phase| phase.phase == wanted);
            1e3 * phases.map(|phase| phase.wall.as_secs_f64()).sum::<f64>()
        };
        Self {
            agreement_ms: phases(Phase::Agreement),
            chain_ms: phases(Phase::Preparation),
            setup_ms: phases(Phase::Setup),
            run_ms: phases(Phase::Run),
            ..Self::default()
        }
    }
}

/// One party's report: the runs of each program.
pub(crate) type Report = Vec<Vec<Timed>>;

impl Exchanged {
    /// Returns the number of circuits, and the security of the rest.
    pub(super) fn parameters(&self) -> Result<OutsourcedParameters, Error> {
        match self.copies {
            1 => Ok(OutsourcedParameters::SEMI_HONEST),
            copies => {
                let parameters =
                    OutsourcedParameters::insecure_for_measurements(copies, SECURITY_BITS);
                Ok(parameters.map_err(tacit::Error::from)?)
            }
        }
    }

    /// Plays the party at a seat.
    pub(crate) fn play(&self, seat: usize, wires: Vec<Wire>) -> Result<Report, Error> {
        let role = OutsourcedRole::ALL[seat.min(2)];
        let (mut plain, mut controls) = (Vec::new(), Vec::new());
        for wire in wires {
            let (channel, control) = wire.split();
            plain.push(channel);
            controls.push(control);
        }
        let settings = Settings {
            link: self.link.as_deref().and_then(|link| link.parse().ok()),
            ..Settings::default()
        };
        let functions = self.programs.iter().map(cases::function);
        let functions = functions.collect::<Result<Vec<_>, _>>()?;
        if role != OutsourcedRole::Evaluator {
            functions.iter().for_each(Function::compile);
        }
        let mut sessions = meet(role, &mut plain, settings)?;
        let folder = TempDir::new()?;
        let stocks = Stocks::open(folder.path(), STOCK_BYTES)?;
        let mut report = vec![Vec::new(); functions.len()];
        for repetition in 0..self.repetitions {
            let chain = format!("chain-{repetition}");
            for (function, runs) in functions.iter().zip(&mut report) {
                start_together(&mut controls)?;
                let mut job = self.job(function, role)?;
                if function.has_saved_values() && role != OutsourcedRole::Evaluator {
                    job = job.chain(&stocks, &chain, &[]);
                }
                runs.push(run(job, role, &mut sessions)?);
            }
        }
        sessions.into_iter().for_each(|(_, session)| end(session));
        Ok(report)
    }

    /// Returns a run on the least inputs.
    fn job<'f>(
        &self,
        function: &'f Function,
        role: OutsourcedRole,
    ) -> Result<OutsourcedJob<'f>, Error> {
        let mut job = OutsourcedJob::new(function, self.parameters()?)
            .scheme(SchemeId::HALF_GATES_TWO_CALL)
            .threads(self.threads);
        let owner = match role {
            OutsourcedRole::Generator => Role::Garbler,
            OutsourcedRole::Evaluator => Role::Evaluator,
            OutsourcedRole::Cloud => return Ok(job),
        };
        for input in function
            .inputs()
            .iter()
            .filter(|input| input.owner == owner)
        {
            job = job.input(&input.port.name, input.port.least_value());
        }
        Ok(job)
    }
}

/// Waits until all parties are here. The first meets each other party twice, so that no party goes
/// on before the last has come.
fn start_together(controls: &mut [Control]) -> Result<(), Error> {
    for _ in 0..2 {
        for control in &mut *controls {
            control.meet()?;
        }
    }
    Ok(())
}

/// A party's sessions, each with its peer.
type Sessions = Vec<(OutsourcedRole, Session)>;

fn run(
    job: OutsourcedJob<'_>,
    role: OutsourcedRole,
    sessions: &mut Sessions,
) -> Result<Timed, Error> {
    let before: Vec<_> = sessions
        .iter()
        .map(|(_, session)| session.traffic())
        .collect();
    let [(_, first), (_, second)] = &mut sessions[..] else {
        return Err(lost(role, "a session with each of the others"));
    };
    let outcome: Outcome = match role {
        OutsourcedRole::Generator => job.generate(second, first)?,
        OutsourcedRole::Evaluator => job.evaluate(first, second)?,
        OutsourcedRole::Cloud => job.serve(first, second)?,
    };
    let mut timed = Timed::of(&outcome.cost);
    for ((peer, session), before) in sessions.iter().zip(before) {
        let carried = session.traffic() - before;
        timed.sent_bytes[*peer as usize] = carried.sent.bytes;
        timed.rounds[*peer as usize] = carried.rounds;
    }
    Ok(timed)
}

fn lost(role: OutsourcedRole, what: &str) -> Error {
    Error::of(NAMES[role as usize], format!("it has not {what}"))
}

/// A party's fingerprint, and its address for each of those that connect to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Introduction {
    fingerprint: String,
    addresses: Vec<String>,
}

/// A party that is about to meet the others.
struct Arrival {
    identity: Identity,
    settings: Settings,
    /// The introductions, in the order of [`OutsourcedRole::ALL`].
    all: Vec<Introduction>,
}

/// Meets both others, the one with the earlier link first.
fn meet(
    role: OutsourcedRole,
    plain: &mut [Channel],
    settings: Settings,
) -> Result<Sessions, Error> {
    use OutsourcedRole::{Cloud, Evaluator, Generator};
    let identity = Identity::generate()?;
    let listening = match role {
        // The generator listens for the evaluator and for the cloud.
        Generator => 2,
        Evaluator => 0,
        Cloud => 1,
    };
    let listeners = (0..listening).map(|_| Listener::bind("127.0.0.1:0"));
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    let addresses = listeners.iter().map(|listener| listener.local_address());
    let own = Introduction {
        fingerprint: identity.fingerprint().to_string(),
        addresses: addresses.map(|address| address.to_string()).collect(),
    };
    let all = introduce(role, own, plain)?;
    let arrival = Arrival {
        identity,
        settings,
        all,
    };
    let sessions = match (role, &listeners[..]) {
        (Generator, [for_evaluator, for_cloud]) => [
            (Cloud, arrival.accept(for_cloud, Cloud)?),
            (Evaluator, arrival.accept(for_evaluator, Evaluator)?),
        ],
        (Evaluator, []) => [
            (Generator, arrival.connect(Generator, 0)?),
            (Cloud, arrival.connect(Cloud, 0)?),
        ],
        (Cloud, [for_evaluator]) => [
            (Generator, arrival.connect(Generator, 1)?),
            (Evaluator, arrival.accept(for_evaluator, Evaluator)?),
        ],
        _ => return Err(lost(role, "a listener for each that connects to it")),
    };
    Ok(sessions.into())
}

/// Tells the generator this party's fingerprint and address; at the generator, tells all of them to
/// all.
fn introduce(
    role: OutsourcedRole,
    own: Introduction,
    plain: &mut [Channel],
) -> Result<Vec<Introduction>, Error> {
    if role != OutsourcedRole::Generator {
        let generator = plain.first_mut();
        let generator = generator.ok_or_else(|| lost(role, "a wire to the generator"))?;
        say(generator, &own)?;
        return hear(generator);
    }
    let mut all = vec![own];
    for other in &mut *plain {
        all.push(hear(other)?);
    }
    for other in plain {
        say(other, &all)?;
    }
    Ok(all)
}

impl Arrival {
    fn introduction(&self, of: OutsourcedRole) -> Result<(&Introduction, Fingerprint), Error> {
        let unknown = || lost(of, "said who it is");
        let introduction = self.all.get(of as usize).ok_or_else(unknown)?;
        let fingerprint = introduction.fingerprint.parse().map_err(|_| unknown())?;
        Ok((introduction, fingerprint))
    }

    fn accept(&self, at: &Listener, peer: OutsourcedRole) -> Result<Session, Error> {
        let (_, who) = self.introduction(peer)?;
        Ok(self.linked(at.accept(&self.identity, &who, &self.settings)?))
    }

    fn connect(&self, peer: OutsourcedRole, listener: usize) -> Result<Session, Error> {
        let (introduction, who) = self.introduction(peer)?;
        let address = introduction.addresses.get(listener);
        let address = address.ok_or_else(|| lost(peer, "said where it listens"))?;
        let session = Session::connect(address, &self.identity, &who, &self.settings)?;
        Ok(self.linked(session))
    }

    fn linked(&self, mut session: Session) -> Session {
        let link: Option<Link> = self.settings.link;
        if let Some(link) = link {
            session.set_link(link);
        }
        session
    }
}
