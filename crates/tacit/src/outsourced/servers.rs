//! The runs of generator and cloud.

use tacit_function::Role;
use tacit_garble::Scheme;
use tacit_kernels::Block;
use tacit_protocol::outsourced::{
    Cloud, CloudChain, CloudStart, CloudValue, Generator, GeneratorChain, GeneratorStart,
    GeneratorValue, Peer, ServerKept,
};
use tacit_protocol::saved::{StoredChain, StoredValue};
use tacit_protocol::session::RunTag;
use zeroize::Zeroizing;

use super::OutsourcedJob;
use super::kept::{OtherServer, tell_kept};
use super::links::{Links, guarded};
use crate::cost::{Phase, PhaseCost};
use crate::driver::seed;
use crate::kept::{self, ChainInUse, ChainUser, Past};
use crate::protocols::Protocol;
use crate::scheme::{BlockVisitor, with_block_scheme};
use crate::stock::Keepers;
use crate::{Error, Fingerprint, Outcome, Session};

/// A run's output bits and its phases.
type ServerOutcome = (Zeroizing<Vec<bool>>, Vec<PhaseCost>);

impl OutsourcedJob<'_> {
    /// Runs as the generator.
    ///
    /// # Errors
    ///
    /// A problem with the inputs, or any error that ends the run. Both sessions are then spent. If
    /// somebody cheated, the chain is killed first.
    pub fn generate(
        mut self,
        evaluator: &mut Session,
        cloud: &mut Session,
    ) -> Result<Outcome, Error> {
        let inputs = self.input_bits(Role::Garbler)?;
        self.task.function.compile();
        let client = evaluator.peer();
        let place = self.task.chain.take();
        let keepers = cloud.own().zip(cloud.peer()).map(Keepers::alone);
        let role = (Protocol::Outsourced, Role::Garbler);
        let located = kept::locate(place.as_ref(), self.task.function, keepers, role)?;
        let links = ((Peer::Cloud, cloud), (Peer::Evaluator, &mut *evaluator));
        let (bits, phases) = guarded(links.0, links.1, |links| {
            let mut server = Server::begin(&mut self, links, [Role::Garbler; 2])?;
            // Take the chain only after the cloud has spoken, because the cloud has its chain by
            // then. Otherwise two runs that hold one of the two chains each would wait for each
            // other.
            let chain = match located {
                Some(located) => {
                    let links = &mut server.links;
                    Some(links.with(Peer::Cloud, |session| located.take(session))?)
                }
                None => None,
            };
            let (kept, past) = server.begin_chain(chain, Peer::Cloud, client)?;
            let run: GeneratorRun<'_, '_, '_> = server.run(kept.as_ref(), past, &inputs);
            let result = with_block_scheme(run.job.scheme_id(), Protocol::Outsourced, run)?;
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
    /// The same as for [`OutsourcedJob::generate`].
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
        let keepers = generator.own().zip(generator.peer()).map(Keepers::alone);
        let role = (Protocol::Outsourced, Role::Evaluator);
        let located = kept::locate(place.as_ref(), self.task.function, keepers, role)?;
        let chain = located.map(|located| located.take(generator));
        let chain = chain.transpose()?;
        let links = (
            (Peer::Generator, &mut *generator),
            (Peer::Evaluator, evaluator),
        );
        let (_, phases) = guarded(links.0, links.1, |links| {
            // On either link the cloud has the role that the other end does not have.
            let roles = [Role::Evaluator, Role::Garbler];
            let mut server = Server::begin(&mut self, links, roles)?;
            let (kept, past) = server.begin_chain(chain, Peer::Generator, client)?;
            let run: CloudRun<'_, '_, '_> = server.run(kept.as_ref(), past, &[]);
            let result = with_block_scheme(run.job.scheme_id(), Protocol::Outsourced, run)?;
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
        links.work_on(job.threads);
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

    /// Brings the chain, if there is one, to the same attempt as the other server's.
    fn begin_chain<C: StoredChain, V: StoredValue>(
        &mut self,
        chain: Option<kept::OpenedChain<'_>>,
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
        let user = ChainUser::Evaluator(client);
        let (kept, past) = ChainInUse::begin(chain, function, user, &mut server)?;
        self.phases
            .push(self.links.since(&clock, Phase::Preparation));
        Ok((Some(kept), past))
    }

    /// Returns the run itself, which starts from the result of `begin_chain`.
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

    fn end(
        mut self,
        kept: Option<&ChainInUse>,
        result: Result<ServerOutcome, Error>,
    ) -> Result<ServerOutcome, Error> {
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

/// A server's run, generic over its scheme.
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

impl<C: StoredChain, V: StoredValue> Run<'_, '_, '_, C, V> {
    /// Keeps what the function saves, if anything, together with `other`.
    fn keep(&mut self, run: &ServerKept<C, V>, other: Peer) -> Result<(), Error> {
        let saves = self.job.task.function.saves();
        if saves.is_empty() {
            return Ok(());
        }
        let misuse = Error::ApiMisuse("what is saved is kept in a chain");
        let kept = self.kept.ok_or(misuse)?;
        let mut server = OtherServer {
            links: &mut *self.links,
            peer: other,
        };
        let version = kept.save(saves, &run.chain, &run.saved, None, &mut server)?;
        match other {
            Peer::Cloud => tell_kept(self.links, version),
            _ => Ok(()),
        }
    }
}

impl BlockVisitor for GeneratorRun<'_, '_, '_> {
    type Output = Result<ServerOutcome, Error>;

    fn visit<S: Scheme<Wire = Block>>(mut self, scheme: S) -> Self::Output {
        let clock = self.links.clock();
        let start = match self.past.chain.take() {
            Some(chain) => GeneratorStart::Chain(chain),
            None => GeneratorStart::NewChain(self.links.with(Peer::Cloud, |link| {
                link.offered_ots(&self.tags[0], self.job.cut_ots())
            })?),
        };
        let count = self.job.client_ots()?;
        let ots = self.links.with(Peer::Evaluator, |link| {
            link.offered_ots(&self.tags[1], count)
        })?;
        let generator = Generator::new(
            scheme,
            self.job.task.function,
            self.job.task.parameters,
            self.inputs,
            start,
            std::mem::take(&mut self.past.loads),
            ots,
            self.job.threads.get(),
            &seed(),
        )?;
        let setup = self.links.since(&clock, Phase::Setup);
        let clock = self.links.clock();
        let watch = &mut self.job.watch;
        let made = self.links.run(watch, async |io| generator.make(io).await);
        let (made, awaited) = made?;
        self.keep(&made, Peer::Cloud)?;
        let watch = &mut self.job.watch;
        let outputs = self
            .links
            .run(watch, async |io| awaited.receive(io).await)?;
        let run = self.links.since(&clock, Phase::Run);
        Ok((outputs, vec![setup, run]))
    }
}

impl BlockVisitor for CloudRun<'_, '_, '_> {
    type Output = Result<ServerOutcome, Error>;

    fn visit<S: Scheme<Wire = Block>>(mut self, scheme: S) -> Self::Output {
        let clock = self.links.clock();
        let start = match self.past.chain.take() {
            Some(chain) => CloudStart::Chain(chain),
            None => CloudStart::NewChain(self.links.with(Peer::Generator, |link| {
                link.chosen_ots(&self.tags[0], self.job.cut_ots())
            })?),
        };
        let cloud = Cloud::new(
            scheme,
            self.job.task.function,
            self.job.task.parameters,
            start,
            std::mem::take(&mut self.past.loads),
            self.job.threads.get(),
            &seed(),
        )?;
        let setup = self.links.since(&clock, Phase::Setup);
        let clock = self.links.clock();
        let watch = &mut self.job.watch;
        let judged = self.links.run(watch, async |io| cloud.judge(io).await);
        let (judged, results) = judged?;
        self.keep(&judged, Peer::Generator)?;
        let watch = &mut self.job.watch;
        self.links.run(watch, async |io| results.give(io))?;
        let run = self.links.since(&clock, Phase::Run);
        Ok((Zeroizing::default(), vec![setup, run]))
    }
}
