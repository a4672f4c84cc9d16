//! The runs of generator and cloud.

use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_protocol::outsourced::{
    Cloud, CloudChain, CloudStart, CloudValue, Generator, GeneratorChain, GeneratorStart,
    GeneratorValue, Peer,
};
use tacit_protocol::party::{Action, Party};
use tacit_protocol::saved::{StoredChain, StoredValue};
use tacit_protocol::session::RunTag;
use zeroize::Zeroizing;

use super::kept::{OtherServer, tell_kept};
use super::links::{Links, guarded};
use super::{OutsourcedJob, OutsourcedVisitor, with_outsourced_scheme};
use crate::cost::{Phase, PhaseCost};
use crate::driver::seed;
use crate::kept::{self, ChainInUse, Past, User};
use crate::protocols::Protocol;
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
        self.task.function.compile();
        let client = evaluator.peer();
        let place = self.task.chain.take();
        let keepers = (cloud.own(), cloud.peer());
        let role = (Protocol::Outsourced, Role::Garbler);
        let chain = kept::open(place.as_ref(), self.task.function, keepers, role)?;
        let links = ((Peer::Cloud, cloud), (Peer::Evaluator, &mut *evaluator));
        let (bits, phases) = guarded(links.0, links.1, |links| {
            let mut server = Server::begin(&mut self, links, [Role::Garbler; 2])?;
            let (kept, past) = server.take_up(chain, Peer::Cloud, client)?;
            let run: GeneratorRun<'_, '_, '_> = server.run(kept.as_ref(), past, &inputs);
            let result = with_outsourced_scheme(run.job.scheme_id(), run)?;
            server.end(kept.as_ref(), result)
        })?;
        let outputs = self.outputs(Role::Garbler, &bits)?;
        let and_gates = self.task.function.and_gates();
        self.outcome(outputs, phases, and_gates)
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
        if !self.task.inputs.is_empty() {
            return Err(Error::Input(
                "the cloud has no inputs; give them to the generator or the evaluator".to_owned(),
            ));
        }
        self.task.function.compile();
        let client = evaluator.peer();
        let place = self.task.chain.take();
        let keepers = (generator.own(), generator.peer());
        let role = (Protocol::Outsourced, Role::Evaluator);
        let chain = kept::open(place.as_ref(), self.task.function, keepers, role)?;
        let links = (
            (Peer::Generator, &mut *generator),
            (Peer::Evaluator, evaluator),
        );
        let (_, phases) = guarded(links.0, links.1, |links| {
            // On either link the cloud is what the other end is not.
            let roles = [Role::Evaluator, Role::Garbler];
            let mut server = Server::begin(&mut self, links, roles)?;
            let (kept, past) = server.take_up(chain, Peer::Generator, client)?;
            let run: CloudRun<'_, '_, '_> = server.run(kept.as_ref(), past, &[]);
            let result = with_outsourced_scheme(run.job.scheme_id(), run)?;
            server.end(kept.as_ref(), result)
        })?;
        let and_gates = self.task.function.and_gates();
        self.outcome(Default::default(), phases, and_gates)
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
        let waits = links.bound(job.task.patience, job.time_limit);
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
    fn take_up<C: StoredChain, V: StoredValue>(
        &mut self,
        chain: Option<kept::Opened<'_>>,
        other: Peer,
        client: Option<Fingerprint>,
    ) -> Result<(Option<ChainInUse>, Past<C, V>), Error> {
        let Some(chain) = chain else {
            return Ok((None, Past::default()));
        };
        let clock = self.links.clock();
        let function = self.job.task.function;
        let mut server = OtherServer {
            links: &mut *self.links,
            peer: other,
        };
        let user = User::Evaluator(client);
        let (kept, past) = ChainInUse::begin(chain, function, user, &mut server)?;
        self.phases
            .push(self.links.since(&clock, Phase::Preparation));
        Ok((Some(kept), past))
    }

    /// The run itself, from what `take_up` gave.
    fn run<'r, C, V>(
        &'r mut self,
        kept: Option<&'r ChainInUse>,
        past: Past<C, V>,
        inputs: &'r [bool],
    ) -> Run<'r, 'f, 's, C, V> {
        Run {
            job: self.job,
            links: self.links,
            tags: self.tags,
            inputs,
            kept,
            past,
        }
    }

    fn end(mut self, kept: Option<&ChainInUse>, result: Result<Ran, Error>) -> Result<Ran, Error> {
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

/// A server's run once its scheme is a type.
struct Run<'a, 'f, 's, C, V> {
    job: &'a mut OutsourcedJob<'f>,
    links: &'a mut Links<'s>,
    tags: [RunTag; 2],
    inputs: &'a [bool],
    kept: Option<&'a ChainInUse>,
    past: Past<C, V>,
}

type GeneratorRun<'a, 'f, 's> = Run<'a, 'f, 's, GeneratorChain, GeneratorValue>;
type CloudRun<'a, 'f, 's> = Run<'a, 'f, 's, CloudChain, CloudValue>;

/// A server's party.
trait Serving<C, V>: Party<Peer> + Sized {
    fn to_keep(&self) -> Result<(&C, &[V]), tacit_protocol::Error>;

    /// Its output bits.
    fn finish(self) -> Result<Zeroizing<Vec<bool>>, tacit_protocol::Error>;
}

impl<S: Scheme<Wire = Block>> Serving<GeneratorChain, GeneratorValue> for Generator<'_, S> {
    fn to_keep(&self) -> Result<(&GeneratorChain, &[GeneratorValue]), tacit_protocol::Error> {
        self.to_keep()
    }

    fn finish(self) -> Result<Zeroizing<Vec<bool>>, tacit_protocol::Error> {
        Ok(self.finish()?.outputs)
    }
}

impl<S: Scheme<Wire = Block>> Serving<CloudChain, CloudValue> for Cloud<'_, S> {
    fn to_keep(&self) -> Result<(&CloudChain, &[CloudValue]), tacit_protocol::Error> {
        self.to_keep()
    }

    fn finish(self) -> Result<Zeroizing<Vec<bool>>, tacit_protocol::Error> {
        self.finish().map(|_| Zeroizing::default())
    }
}

impl<C: StoredChain, V: StoredValue> Run<'_, '_, '_, C, V> {
    /// Drives the party that `set_up` makes of this run, and keeps what it saves with `other`.
    fn drive<P: Serving<C, V>>(
        mut self,
        other: Peer,
        set_up: impl FnOnce(&mut Self) -> Result<P, Error>,
    ) -> Result<Ran, Error> {
        let clock = self.links.clock();
        let mut party = set_up(&mut self)?;
        let setup = self.links.since(&clock, Phase::Setup);
        let clock = self.links.clock();
        if self.links.drive(&mut party, &mut self.job.watch)? == Action::Keep {
            let misuse = Error::ApiMisuse("what is saved is kept in a chain");
            let (kept, saves) = (self.kept.ok_or(misuse)?, self.job.task.function.saves());
            let (chain, values) = party.to_keep()?;
            let mut server = OtherServer {
                links: &mut *self.links,
                peer: other,
            };
            let version = kept.save(saves, chain, values, None, &mut server)?;
            if other == Peer::Cloud {
                tell_kept(self.links, version)?;
            }
            self.links.drive(&mut party, &mut self.job.watch)?;
        }
        let outputs = party.finish()?;
        let run = self.links.since(&clock, Phase::Run);
        Ok((outputs, vec![setup, run]))
    }
}

impl OutsourcedVisitor for GeneratorRun<'_, '_, '_> {
    type Output = Result<Ran, Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let set_up = |run: &mut Self| {
            let (job, links) = (&run.job, &mut *run.links);
            let start = match run.past.chain.take() {
                Some(chain) => GeneratorStart::Chain(chain),
                None => GeneratorStart::NewChain(links.with(Peer::Cloud, |link| {
                    link.offered_ots(&run.tags[0], job.cut_ots())
                })?),
            };
            let count = job.client_ots()?;
            let ots = links.with(Peer::Evaluator, |link| {
                link.offered_ots(&run.tags[1], count)
            })?;
            Ok(Generator::new(
                scheme,
                job.task.function,
                job.task.parameters,
                run.inputs,
                start,
                std::mem::take(&mut run.past.loads),
                ots,
                job.threads.get(),
                &seed(),
            )?)
        };
        self.drive(Peer::Cloud, set_up)
    }
}

impl OutsourcedVisitor for CloudRun<'_, '_, '_> {
    type Output = Result<Ran, Error>;

    fn visit<S: Scheme<Wire = Block>>(self, scheme: S) -> Self::Output {
        let set_up = |run: &mut Self| {
            let (job, links) = (&run.job, &mut *run.links);
            let start = match run.past.chain.take() {
                Some(chain) => CloudStart::Chain(chain),
                None => CloudStart::NewChain(links.with(Peer::Generator, |link| {
                    link.chosen_ots(&run.tags[0], job.cut_ots())
                })?),
            };
            let loads = std::mem::take(&mut run.past.loads);
            let (function, threads) = (job.task.function, job.threads.get());
            let (parameters, seed) = (job.task.parameters, seed());
            Ok(Cloud::new(
                scheme, function, parameters, start, loads, threads, &seed,
            )?)
        };
        self.drive(Peer::Generator, set_up)
    }
}
