//! The runs of generator and cloud.

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::Role;
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_protocol::outsourced::{Cloud, CloudStart, Generator, GeneratorStart, Peer};
use tacit_protocol::session::RunTag;
use zeroize::Zeroizing;

use super::kept::{self, CloudKeeps, GeneratorKeeps, Keeper, Kept, Past};
use super::links::{Links, chosen_ots, guarded, offered_ots};
use super::{OutsourcedJob, OutsourcedVisitor, with_outsourced_scheme};
use crate::cost::{Phase, PhaseCost};
use crate::{Error, Fingerprint, Outcome, Session};

/// A run's output bits and its phases.
type Ran = (Zeroizing<Vec<bool>>, Vec<PhaseCost>);

impl OutsourcedJob<'_> {
    /// Runs as the generator.
    ///
    /// # Errors
    ///
    /// What is wrong with the inputs, or whatever ends the run; both sessions are then spent, and
    /// the chain is killed first where somebody cheated.
    pub fn generate(
        mut self,
        evaluator: &mut Session,
        cloud: &mut Session,
    ) -> Result<Outcome, Error> {
        let inputs = self.input_bits(Role::Garbler)?;
        let client = evaluator.peer();
        let chain = kept::open::<GeneratorKeeps>(&self, cloud.own(), cloud.peer())?;
        let links = ((Peer::Cloud, cloud), (Peer::Evaluator, evaluator));
        let (bits, phases) = guarded(links.0, links.1, |links| {
            let mut server = Server::begin(&mut self, links, [Role::Garbler; 2])?;
            let (kept, past) = server.take_up::<GeneratorKeeps>(chain, Peer::Cloud, client)?;
            let (job, links) = (&mut *server.job, &mut *server.links);
            let result = with_outsourced_scheme(
                job.scheme,
                Generate {
                    job,
                    links,
                    tags: server.tags,
                    inputs: &inputs,
                    kept: kept.as_ref(),
                    past,
                },
            )?;
            server.end(kept.as_ref(), result)
        })?;
        let outputs = self.as_role(Role::Garbler).outputs(&bits)?;
        self.outcome(outputs, phases)
    }

    /// Runs as the cloud.
    ///
    /// # Errors
    ///
    /// As [`OutsourcedJob::generate`].
    pub fn serve(
        mut self,
        generator: &mut Session,
        evaluator: &mut Session,
    ) -> Result<Outcome, Error> {
        if !self.inputs.is_empty() {
            return Err(Error::Input(
                "the cloud has no inputs; give them to the generator or the evaluator".to_owned(),
            ));
        }
        let client = evaluator.peer();
        let chain = kept::open::<CloudKeeps>(&self, generator.own(), generator.peer())?;
        let links = ((Peer::Generator, generator), (Peer::Evaluator, evaluator));
        let (_, phases) = guarded(links.0, links.1, |links| {
            // On either link the cloud is what the other end is not.
            let roles = [Role::Evaluator, Role::Garbler];
            let mut server = Server::begin(&mut self, links, roles)?;
            let (kept, past) = server.take_up::<CloudKeeps>(chain, Peer::Generator, client)?;
            let (job, links) = (&mut *server.job, &mut *server.links);
            let result = with_outsourced_scheme(
                job.scheme,
                Serve {
                    job,
                    links,
                    tags: server.tags,
                    kept: kept.as_ref(),
                    past,
                },
            )?;
            server.end(kept.as_ref(), result)
        })?;
        self.outcome(Default::default(), phases)
    }
}

/// A server's run between agreement and result.
struct Server<'a, 'f, 's> {
    job: &'a mut OutsourcedJob<'f>,
    links: &'a mut Links<'s>,
    tags: [RunTag; 2],
    phases: Vec<PhaseCost>,
    waits: [std::time::Duration; 2],
}

impl<'a, 'f, 's> Server<'a, 'f, 's> {
    fn begin(
        job: &'a mut OutsourcedJob<'f>,
        links: &'a mut Links<'s>,
        roles: [Role; 2],
    ) -> Result<Self, Error> {
        let waits = links.bound(job.patience, job.time_limit);
        let clock = links.clock();
        let tags = links.agree(job, roles)?;
        let phases = vec![links.since(&clock, Phase::Agreement)];
        Ok(Self {
            job,
            links,
            tags,
            phases,
            waits,
        })
    }

    /// Brings the chain, if there is one, to where both servers have it.
    fn take_up<K: Keeper>(
        &mut self,
        chain: Option<tacit_stock::Chain>,
        other: Peer,
        client: Option<Fingerprint>,
    ) -> Result<(Option<Kept>, Past<K>), Error> {
        let Some(chain) = chain else {
            return Ok((None, Past::default()));
        };
        let clock = self.links.clock();
        let (kept, past) = Kept::begin::<K>(chain, self.job, self.links, other, client)?;
        self.phases
            .push(self.links.since(&clock, Phase::Preparation));
        Ok((Some(kept), past))
    }

    fn end(mut self, kept: Option<&Kept>, result: Result<Ran, Error>) -> Result<Ran, Error> {
        match result {
            Ok((bits, phases)) => {
                self.phases.extend(phases);
                self.links.unbound(self.waits);
                Ok((bits, self.phases))
            }
            Err(error) => {
                if let Some(kept) = kept {
                    kept.kill_for(&error)?;
                }
                Err(error)
            }
        }
    }
}

fn seed() -> Zeroizing<[u8; 32]> {
    let mut seed = Zeroizing::new([0; 32]);
    UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
    seed
}

/// The generator's run once its scheme is a type.
struct Generate<'a, 'f, 's> {
    job: &'a mut OutsourcedJob<'f>,
    links: &'a mut Links<'s>,
    tags: [RunTag; 2],
    inputs: &'a [bool],
    kept: Option<&'a Kept>,
    past: Past<GeneratorKeeps>,
}

impl OutsourcedVisitor for Generate<'_, '_, '_> {
    type Output = Result<Ran, Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let Self {
            job,
            links,
            tags,
            inputs,
            kept,
            past,
        } = self;
        let clock = links.clock();
        let start = match past.chain {
            Some(chain) => GeneratorStart::Chain(chain),
            None => GeneratorStart::NewChain(offered_ots(
                links.to(Peer::Cloud)?,
                tags[0],
                job.cut_ots(),
            )?),
        };
        let ots = offered_ots(links.to(Peer::Evaluator)?, tags[1], job.client_ots()?)?;
        let setup = links.since(&clock, Phase::Setup);
        let clock = links.clock();
        let (function, parameters) = (job.function, job.parameters);
        let threads = job.threads.get();
        let mut party = Generator::new(
            scheme,
            function,
            parameters,
            inputs,
            start,
            past.loads,
            ots,
            threads,
            &seed(),
        )?;
        links.drive(&mut party, &mut job.watch)?;
        let outcome = party.finish()?;
        if let Some(kept) = kept {
            let (chain, saved) = (&outcome.chain, &outcome.saved);
            kept.save::<GeneratorKeeps>(function.saves(), chain, saved, links, Peer::Cloud)?;
        }
        Ok((
            outcome.outputs,
            vec![setup, links.since(&clock, Phase::Run)],
        ))
    }
}

/// The cloud's run once its scheme is a type.
struct Serve<'a, 'f, 's> {
    job: &'a mut OutsourcedJob<'f>,
    links: &'a mut Links<'s>,
    tags: [RunTag; 2],
    kept: Option<&'a Kept>,
    past: Past<CloudKeeps>,
}

impl OutsourcedVisitor for Serve<'_, '_, '_> {
    type Output = Result<Ran, Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let Self {
            job,
            links,
            tags,
            kept,
            past,
        } = self;
        let clock = links.clock();
        let start = match past.chain {
            Some(chain) => CloudStart::Chain(chain),
            None => CloudStart::NewChain(chosen_ots(
                links.to(Peer::Generator)?,
                tags[0],
                job.cut_ots(),
            )?),
        };
        let setup = links.since(&clock, Phase::Setup);
        let clock = links.clock();
        let (function, parameters) = (job.function, job.parameters);
        let threads = job.threads.get();
        let loads = past.loads;
        let mut party = Cloud::new(scheme, function, parameters, start, loads, threads, &seed())?;
        links.drive(&mut party, &mut job.watch)?;
        let outcome = party.finish()?;
        if let Some(kept) = kept {
            let (chain, saved) = (&outcome.chain, &outcome.saved);
            kept.save::<CloudKeeps>(function.saves(), chain, saved, links, Peer::Generator)?;
        }
        let nothing = Zeroizing::new(Vec::new());
        Ok((nothing, vec![setup, links.since(&clock, Phase::Run)]))
    }
}
