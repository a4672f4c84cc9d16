//! A job: one run of a function by one party.

mod runs;

use std::collections::BTreeMap;

use tacit_circuit::Value;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::Security;
use tacit_protocol::authenticated::{self, LotSize};
use tacit_protocol::batch::held_bits;
use tacit_protocol::direct;
use tacit_protocol::prepared;
use zeroize::Zeroizing;

use crate::authenticated::construction;
use crate::cost::{Clock, Cost, Phase, peak_memory_bytes};
use crate::kept::check_place;
use crate::order::{Garbled, Order, Secured};
use crate::ports;
use crate::protocols::{Protocol, ThreatModel};
use crate::scheme::default_scheme;
use crate::session::{OrderTerms, OtNeed};
use crate::stock::{ChainVersion, Stocks, TakenNumbers, check_scheme};
use crate::{Error, Session};
use runs::Ran;

/// One run of a function by one party: what is computed, in which role, on which inputs.
pub type Job<'f> = Order<'f, TwoPartyRun<'f>>;

/// A run between two parties. [`Job`] orders one.
pub struct TwoPartyRun<'f> {
    function: &'f Function,
    role: Role,
    material: Material,
    /// Under `prepared` and `authenticated`: the chain in which values are kept.
    chain: Option<String>,
    /// The run may discard values of a chain that is there.
    replaces: bool,
    /// The run takes all from the stock, or does not run.
    needs_stock: bool,
    /// The run goes on from this version of a chain or a later one.
    pin: Option<ChainVersion>,
    /// Runs after this one for which leases are made with it.
    runs_ahead: u64,
    watch_taken: Box<dyn FnMut(&TakenNumbers) + Send + 'f>,
    inputs: BTreeMap<String, Value>,
}

impl Garbled for TwoPartyRun<'_> {
    fn default_scheme(&self) -> SchemeId {
        default_scheme(self.function)
    }
}

impl Secured for TwoPartyRun<'_> {}

/// By which protocol, and where it takes its material from.
enum Material {
    Direct,
    Prepared(Stocks),
    Batch(Stocks),
    /// Tries are counted in the stocks, if there are any.
    Authenticated(Option<Stocks>),
}

/// Over what the statistical security of a run holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecurityScope {
    /// Over this session's runs alone: nobody counts the runs that a peer does not finish, and a
    /// peer may try again as often as it likes.
    ThisRun,
    /// Over all runs of the protocol with the peer in this role, forever.
    AllRuns {
        /// The s that the run was made at: higher than what was asked for where the peer did not
        /// finish earlier tries.
        made_at_bits: u8,
    },
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The results that go to this party, by name.
    pub outputs: BTreeMap<String, Value>,
    /// Against whom the run was secure.
    pub threat_model: ThreatModel,
    /// Of a run that was secure against a malicious party: cheating succeeds with at most two to
    /// minus this number. It is s, or fewer where a peer has better ways to cheat than s bounds.
    pub statistical_security_bits: Option<u8>,
    /// Over what that holds, where it is known.
    pub security_scope: Option<SecurityScope>,
    /// The chain of kept values, at the version that the run saved or, if it saved none, loaded. At
    /// both parties of `prepared` and `authenticated`, and at the evaluator of three, to be pinned
    /// in a later run.
    pub chain: Option<ChainVersion>,
    /// What it took on this side.
    pub cost: Cost,
}

impl<'f> Job<'f> {
    /// A run of `function` as `role`, by `direct`, without inputs yet.
    #[must_use]
    pub fn new(function: &'f Function, role: Role) -> Self {
        Self::of(TwoPartyRun {
            function,
            role,
            material: Material::Direct,
            chain: None,
            replaces: false,
            needs_stock: false,
            pin: None,
            runs_ahead: 0,
            watch_taken: Box::new(|_| ()),
            inputs: BTreeMap::new(),
        })
    }

    /// Gives an input of this party its value.
    #[must_use]
    pub fn input(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.task.inputs.insert(name.to_owned(), value.into());
        self
    }

    /// Runs by this protocol, as a flag or a file names it: each has a method of its own as well.
    /// Where `authenticated` is given stocks, it is
    /// [`authenticated_counted`](Self::authenticated_counted).
    ///
    /// # Errors
    ///
    /// The protocol takes from the stock and there is none, or it is not one of two parties.
    pub fn by(mut self, protocol: Protocol, stocks: Option<&Stocks>) -> Result<Self, Error> {
        let given = || {
            let missing = "this protocol takes from the stock; give the job this party's stocks";
            stocks.cloned().ok_or(Error::ApiMisuse(missing))
        };
        self.task.material = match protocol {
            Protocol::Direct => Material::Direct,
            Protocol::Prepared => Material::Prepared(given()?),
            Protocol::Batch => Material::Batch(given()?),
            Protocol::Authenticated => Material::Authenticated(stocks.cloned()),
            Protocol::Outsourced => {
                return Err(Error::ApiMisuse(
                    "a job is of two parties; `outsourced` takes an OutsourcedJob",
                ));
            }
        };
        Ok(self)
    }

    /// Runs by `prepared`, with what the stock of the peer, role and scheme holds; what it lacks
    /// is garbled on the spot. The parties must be authenticated to each other.
    #[must_use]
    pub fn prepared(mut self, stocks: &Stocks) -> Self {
        self.task.material = Material::Prepared(stocks.clone());
        self
    }

    /// Under `prepared`, and under [`authenticated_counted`](Self::authenticated_counted): loads
    /// and saves values in the chain of this name, which both parties keep with their stocks,
    /// garbled or shared. A chain that is not there is started by a run that saves and loads
    /// nothing. Both parties have a version of it or neither, whenever one of them stops.
    #[must_use]
    pub fn chain(mut self, name: &str) -> Self {
        self.task.chain = Some(name.to_owned());
        self
    }

    /// Runs from the stock alone: where it has too little at one of the parties, the run ends with
    /// [`Error::StockLacks`] at both, in place of making the rest. Of `prepared` and of
    /// `authenticated` without a chain.
    #[must_use]
    pub fn from_stock_alone(mut self) -> Self {
        self.task.needs_stock = true;
        self
    }

    /// Lets a function that saves a value without loading it take the place of one that the chain
    /// keeps. Otherwise such a run is refused, before anything is used.
    #[must_use]
    pub fn replacing(mut self) -> Self {
        self.task.replaces = true;
        self
    }

    /// Under [`chain`](Self::chain): runs only if it goes on from this version of this chain or a
    /// later one, as the [`Outcome::chain`] of an earlier run said. So this party finds that both
    /// went back to an old copy.
    #[must_use]
    pub fn pin(mut self, pin: ChainVersion) -> Self {
        self.task.pin = Some(pin);
        self
    }

    /// Runs by `batch`, secure against a malicious party, with a checked execution from the stock
    /// of the peer, role and scheme. Without one it does not run at all
    /// ([`Error::NothingChecked`]). A [`BatchPreparation`](crate::stock::BatchPreparation) makes
    /// them.
    #[must_use]
    pub fn batch(mut self, stocks: &Stocks) -> Self {
        self.task.material = Material::Batch(stocks.clone());
        self
    }

    /// Runs by `authenticated`, secure against a malicious party, from nothing. Nobody counts how
    /// often the peer tries: s is of the runs of this session alone
    /// ([`SecurityScope::ThisRun`]).
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        self.task.material = Material::Authenticated(None);
        self
    }

    /// As [`authenticated`](Self::authenticated), and takes from `stocks` instances of the
    /// function's components where both parties have enough of one lot, or else triples. A
    /// [`LotPreparation`](crate::stock::LotPreparation) makes either. A run from nothing is
    /// counted in `stocks` if the peer does not finish it: such runs raise s, so that it is of all
    /// runs together. The parties must know each other. It is the first run of a session in this
    /// role that decides whether the session counts.
    #[must_use]
    pub fn authenticated_counted(mut self, stocks: &Stocks) -> Self {
        self.task.material = Material::Authenticated(Some(stocks.clone()));
        self
    }

    /// Against whom the run is to be secure.
    #[must_use]
    pub fn threat_model(&self) -> ThreatModel {
        self.protocol().threat_model()
    }

    /// The protocol of the run.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        match self.task.material {
            Material::Direct => Protocol::Direct,
            Material::Prepared(_) => Protocol::Prepared,
            Material::Batch(_) => Protocol::Batch,
            Material::Authenticated(_) => Protocol::Authenticated,
        }
    }

    /// Bits of statistical security of the run, where it has some: s, or fewer where a peer has
    /// better ways to cheat than s bounds.
    #[must_use]
    pub fn held_bits(&self) -> Option<u8> {
        let asked = self.security_bits()?;
        match self.task.material {
            Material::Batch(_) => Some(held_bits(asked, self.task.function)),
            _ => self.security.of_lots().ok().map(|bits| bits.held_bits()),
        }
    }

    /// s, where there is one.
    fn security_bits(&self) -> Option<u8> {
        let has = self.protocol().has_security_bits();
        has.then_some(self.security.bits())
    }

    /// Leases from the stock at once what this run and `runs` more of the session take, up to
    /// 64 more: they then need no disk, and no round trip for it. Whatever they have not used when
    /// the session ends is wasted. The evaluator asks, and the garbler follows.
    #[must_use]
    pub fn lease_ahead(mut self, runs: u64) -> Self {
        self.task.runs_ahead = runs;
        self
    }

    /// Calls `watch` with the numbers that the run takes from the stock, kind by kind: when their
    /// leases are durable and before anything that rests on them is sent.
    #[must_use]
    pub fn watch_taken(mut self, watch: impl FnMut(&TakenNumbers) + Send + 'f) -> Self {
        self.task.watch_taken = Box::new(watch);
        self
    }

    /// This party's input bits in port order: what can be wrong with the inputs shows here, before
    /// anything is sent.
    ///
    /// # Errors
    ///
    /// An input is missing, unknown, the peer's, or not of its port's type.
    pub fn input_bits(&self) -> Result<Zeroizing<Vec<bool>>, Error> {
        ports::input_bits(self.task.function, self.task.role, &self.task.inputs)
    }

    /// Checks that the protocol can run the function as it is to be run; the inputs are apart.
    ///
    /// # Errors
    ///
    /// It keeps no saved values, or a chain is named without them or not named; it does not run
    /// under the scheme, or offers no such s.
    pub fn check(&self) -> Result<(), Error> {
        if self.protocol().keeps_values() || self.task.chain.is_some() {
            check_place(self.task.function, self.task.chain.is_some())?;
        }
        if self.task.pin.is_some() && self.task.chain.is_none() {
            return Err(Error::ApiMisuse("a pin is of a chain; name the chain"));
        }
        match &self.task.material {
            Material::Direct => direct::check(self.task.function)?,
            Material::Prepared(_) => prepared::check(self.task.function, self.scheme_id())?,
            // Of functions only what can be run is ever in stock.
            Material::Batch(_) => check_scheme(self.scheme_id())?,
            Material::Authenticated(_) => {
                authenticated::check(self.task.function)?;
                construction(self.scheme_id())?;
                self.security.of_lots()?;
            }
        }
        Ok(())
    }

    /// Runs the job over `session`; the peer runs its own with the other role.
    ///
    /// # Errors
    ///
    /// What is wrong with the inputs, or whatever ends the run; the session is then spent.
    pub fn run(mut self, session: &mut Session) -> Result<Outcome, Error> {
        self.check()?;
        if self.task.chain.is_some() && matches!(self.task.material, Material::Authenticated(None))
        {
            return Err(Error::ApiMisuse(
                "a chain lies with this party's stocks; give them to the job",
            ));
        }
        let inputs = self.input_bits()?;
        // Here, so that it counts for no phase and its memory is not wanted in the midst of a run.
        self.task.function.compile();
        let Ran {
            outputs,
            chain,
            phases,
            and_gates_on_the_spot,
            security_scope,
            makes_ots,
            from_stock,
        } = session.guarded_within(self.time_limit, |session| {
            let clock = Clock::start(session);
            let tag = session
                .agree(&self.terms())
                .map_err(|error| error.of_function(self.task.function))?;
            let agreement = clock.stop(Phase::Agreement, session);
            let mut ran = match &self.task.material {
                Material::Direct => self.run_direct(session, tag, &inputs)?,
                Material::Prepared(stocks) => {
                    let stocks = stocks.clone();
                    self.run_prepared(session, &stocks, tag, &inputs)?
                }
                Material::Batch(stocks) => {
                    let stocks = stocks.clone();
                    self.run_batch(session, &stocks, &inputs)?
                }
                Material::Authenticated(stocks) => {
                    let stocks = stocks.clone();
                    self.run_authenticated(session, stocks.as_ref(), tag, &inputs)?
                }
            };
            ran.phases.insert(0, agreement);
            Ok(ran)
        })?;
        let outputs = ports::outputs(self.task.function, self.task.role, &outputs)?;
        let cost = Cost {
            phases,
            and_gates: self.task.function.and_gates(),
            and_gates_on_the_spot,
            ot_extension: makes_ots.then(|| session.ot_extension()),
            from_stock,
            base_ots: session.take_base_ot_source(),
            peak_memory_bytes: peak_memory_bytes(),
        };
        Ok(Outcome {
            chain,
            outputs,
            threat_model: self.threat_model(),
            statistical_security_bits: self.held_bits(),
            security_scope,
            cost,
        })
    }

    /// The OTs that are made for the run; under `prepared` those are in stock, or all of them.
    fn ot_need(&self) -> OtNeed {
        let security = match self.task.material {
            Material::Direct => Security::SemiHonest,
            Material::Prepared(_) => Security::Malicious,
            Material::Batch(_) => return OtNeed::NONE,
            Material::Authenticated(_) => {
                return OtNeed {
                    count: self.authenticated_ots(),
                    security: Security::Malicious,
                    is_bulk: true,
                };
            }
        };
        let count = self.task.function.input_bits(Role::Evaluator) as u64;
        OtNeed {
            count,
            security,
            ..OtNeed::NONE
        }
    }

    /// OTs of a lot of `authenticated`, each way.
    fn authenticated_ots(&self) -> u64 {
        let ands = self.task.function.and_gates();
        self.security
            .of_lots()
            .map_or(0, |security| LotSize::cheapest(ands, security).ots() as u64)
    }

    fn terms(&self) -> OrderTerms {
        OrderTerms {
            protocol: self.protocol().wire_id(),
            role: self.task.role,
            statistical_security_bits: self.security_bits().unwrap_or(0),
            scheme: self.scheme_id(),
            function: self.task.function.digest(),
            ots: self.ot_need(),
        }
    }
}
