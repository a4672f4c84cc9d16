//! A job: one run of a function by one party.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rand_core::{Rng, UnwrapErr};
use tacit_circuit::{Function, Role, Value};
use tacit_garble::{Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_protocol::direct::{self, Evaluating, Garbling};
use tacit_protocol::party::Progress;
use tacit_protocol::session::{Proposal, ProtocolId, RunTag};
use zeroize::Zeroizing;

use crate::cost::{Cost, Phase, PhaseCost, peak_memory_bytes};
use crate::driver::drive;
use crate::{BaseOt, Error, Session};

/// One run of a function by one party: what is computed, in which role, on which inputs.
pub struct Job<'f> {
    function: &'f Function,
    role: Role,
    scheme: SchemeId,
    inputs: BTreeMap<String, Value>,
    watch: Box<dyn FnMut(Progress) + Send + 'f>,
    time_limit: Option<Duration>,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The results that go to this party, by name.
    pub outputs: BTreeMap<String, Value>,
    /// What it took on this side.
    pub cost: Cost,
}

impl<'f> Job<'f> {
    /// A run of `function` as `role`, by `direct` under half-gates, without inputs yet.
    #[must_use]
    pub fn new(function: &'f Function, role: Role) -> Self {
        Self {
            function,
            role,
            scheme: SchemeId::HALF_GATES_TWO_CALL,
            inputs: BTreeMap::new(),
            watch: Box::new(|_| ()),
            time_limit: None,
        }
    }

    /// Gives an input of this party its value.
    #[must_use]
    pub fn input(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.inputs.insert(name.to_owned(), value.into());
        self
    }

    /// Garbles under another scheme; both parties must name the same.
    #[must_use]
    pub fn scheme(mut self, scheme: SchemeId) -> Self {
        self.scheme = scheme;
        self
    }

    /// Calls `watch` as the run goes on.
    #[must_use]
    pub fn watch(mut self, watch: impl FnMut(Progress) + Send + 'f) -> Self {
        self.watch = Box::new(watch);
        self
    }

    /// Ends the run where it is not done within `limit`. Without it only each wait for the peer is
    /// bounded ([`Settings::timeout`](crate::Settings::timeout)), and a peer that is slow at every
    /// message can hold a run of a large function open for hours.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// This party's input bits in port order: what can be wrong with the inputs shows here, before
    /// anything is sent.
    ///
    /// # Errors
    ///
    /// An input is missing, unknown, the peer's, or not of its port's type.
    pub fn input_bits(&self) -> Result<Zeroizing<Vec<bool>>, Error> {
        let ports = self.function.inputs();
        for name in self.inputs.keys() {
            match ports.iter().find(|input| input.port.name == *name) {
                None => return Err(Error::Input(self.unknown(name))),
                Some(input) if input.owner != self.role => {
                    let (owner, role) = (input.owner.name(), self.role.name());
                    return Err(Error::Input(format!(
                        "input {name:?} is the {owner}'s and this party is the {role}; leave it out"
                    )));
                }
                Some(_) => (),
            }
        }
        let mut bits = Zeroizing::new(Vec::with_capacity(self.function.input_bits(self.role)));
        for input in ports.iter().filter(|input| input.owner == self.role) {
            let (name, ty) = (&input.port.name, &input.port.ty);
            let value = self.inputs.get(name).ok_or_else(|| {
                Error::Input(format!(
                    "input {name:?} of type {ty} has no value; give it one"
                ))
            })?;
            bits.extend_from_slice(&input.port.convert_value(value)?.to_bits());
        }
        Ok(bits)
    }

    /// Runs the job over `session`; the peer runs its own with the other role.
    ///
    /// # Errors
    ///
    /// What is wrong with the inputs, or whatever ends the run; the session is then spent.
    pub fn run(mut self, session: &mut Session) -> Result<Outcome, Error> {
        direct::check(self.function)?;
        let inputs = self.input_bits()?;
        let (id, role) = (self.scheme, self.role);
        let mut phases = Vec::new();
        let outputs = session.guarded(|session| {
            session.channel().set_time_limit(self.time_limit);
            let (begun, meter) = (Instant::now(), session.channel().meter());
            let base_ot = session.base_ot();
            let tag = session.agree(|run| self.proposal(run, base_ot))?;
            let (agreed, agreement) = (Instant::now(), session.channel().meter());
            let setup = session.set_up(role)?;
            let (ran, before) = (Instant::now(), session.channel().meter());
            let visitor = Run {
                job: &mut self,
                session,
                tag,
                inputs: &inputs,
            };
            let outputs = with_scheme(id, visitor)
                .map_err(|_| Error::ApiMisuse("this scheme is not offered by any protocol"))??;
            phases.push(PhaseCost {
                phase: Phase::Agreement,
                wall: agreed - begun,
                traffic: agreement - meter,
            });
            phases.extend(setup);
            let traffic = session.channel().meter() - before;
            phases.push(PhaseCost {
                phase: Phase::Run,
                wall: ran.elapsed(),
                traffic,
            });
            session.channel().set_time_limit(None);
            Ok(outputs)
        })?;
        let outputs = self.outputs(&outputs)?;
        let and_gates = self.function.and_gates();
        let cost = Cost {
            phases,
            and_gates,
            peak_memory_bytes: peak_memory_bytes(),
        };
        Ok(Outcome { outputs, cost })
    }

    fn proposal(&self, run: u64, base_ot: BaseOt) -> Proposal {
        Proposal {
            protocol: ProtocolId::Direct,
            role: self.role,
            statistical_security_bits: 0,
            base_ot,
            scheme: self.scheme,
            run,
            function: self.function.digest(),
        }
    }

    fn outputs(&self, mut bits: &[bool]) -> Result<BTreeMap<String, Value>, Error> {
        let mut outputs = BTreeMap::new();
        let mine = self.function.outputs().iter();
        for output in mine.filter(|output| output.recipient.includes(self.role)) {
            let (value, rest) =
                bits.split_at_checked(output.port.ty.width())
                    .ok_or(Error::ApiMisuse(
                        "a run gives as many bits as the function says",
                    ))?;
            let value = Value::from_bits(&output.port.ty, value)?;
            outputs.insert(output.port.name.clone(), value);
            bits = rest;
        }
        Ok(outputs)
    }

    fn unknown(&self, name: &str) -> String {
        let mine = self
            .function
            .inputs()
            .iter()
            .filter(|input| input.owner == self.role);
        let mine: Vec<_> = mine
            .map(|input| format!("{} ({})", input.port.name, input.port.ty))
            .collect();
        let mine = if mine.is_empty() {
            "none".to_owned()
        } else {
            mine.join(", ")
        };
        format!(
            "there is no input {name:?}; inputs of the {}: {mine}",
            self.role.name()
        )
    }
}

/// A run once its scheme is a type.
struct Run<'a, 'f> {
    job: &'a mut Job<'f>,
    session: &'a mut Session,
    tag: RunTag,
    inputs: &'a [bool],
}

impl SchemeVisitor for Run<'_, '_> {
    type Output = Result<Zeroizing<Vec<bool>>, Error>;

    fn visit<S: Scheme>(self, scheme: S) -> Self::Output {
        let Self {
            job,
            session,
            tag,
            inputs,
        } = self;
        match job.role {
            Role::Garbler => {
                let mut seed = Zeroizing::new([0; 32]);
                UnwrapErr(getrandom::SysRng).fill_bytes(&mut *seed);
                let ot = session.take_garbler_ot()?;
                let mut party = Garbling::new(scheme, job.function, tag, inputs, ot, &seed)?;
                drive(session.channel(), &mut party, &mut job.watch)?;
                let (outputs, ot) = party.finish()?;
                session.keep_garbler_ot(ot);
                Ok(outputs)
            }
            Role::Evaluator => {
                let ot = session.take_evaluator_ot()?;
                let mut party = Evaluating::new(scheme, job.function, tag, inputs, ot)?;
                drive(session.channel(), &mut party, &mut job.watch)?;
                let (outputs, ot) = party.finish()?;
                session.keep_evaluator_ot(ot);
                Ok(outputs)
            }
        }
    }
}
