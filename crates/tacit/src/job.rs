//! A job: one run of a function by one party.
//!
//! Each protocol of two parties has a file below, which implements [`ProtocolRun`], and an entry in
//! [`PROTOCOLS`].

mod authenticated;
mod batch;
mod direct;
mod gmw;
mod lanes;
mod outcome;
mod prepared;

use std::collections::BTreeMap;

use tacit_circuit::Value;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_protocol::session::RunTag;
use zeroize::Zeroizing;

use crate::cost::{Clock, Cost, Phase, peak_memory_bytes};
use crate::join::{self, JoinOfRun, JoinPlan, JoinedTable};
use crate::kept::{ChainPlace, check_place};
use crate::order::{Garbled, Order, Secured};
use crate::ports;
use crate::protocols::{Protocol, StatisticalSecurity, ThreatModel};
use crate::scheme::default_scheme;
use crate::session::{BaseOt, OrderTerms, OtExtension, OtNeed};
use crate::stock::{ChainVersion, LeaseOrder, StockName, Stocks, TakenNumbers};
use crate::{Error, Session};

pub(crate) use outcome::ProtocolOutcome;
pub use outcome::{Outcome, SecurityScope};

/// The protocols between two parties.
const PROTOCOLS: [&dyn ProtocolRun; 5] = [
    &direct::Direct,
    &prepared::Prepared,
    &gmw::Gmw,
    &batch::Batch,
    &authenticated::Authenticated,
];

/// A protocol of two parties, as jobs run it.
trait ProtocolRun: Sync {
    /// Returns the protocol.
    fn protocol(&self) -> Protocol;

    /// Checks that the protocol can run the function with the job's settings.
    fn check(&self, job: &Job<'_>) -> Result<(), Error>;

    /// Returns the OTs that the session makes for the run.
    fn ot_need(&self, job: &Job<'_>) -> OtNeed;

    /// Returns the bits of statistical security that a run of `function` has if `asked` is asked
    /// for. They are fewer where a peer has better ways to cheat than s bounds. `None` if the
    /// protocol has no s.
    fn held_bits(&self, _function: &Function, _asked: StatisticalSecurity) -> Option<u8> {
        None
    }

    /// Returns for how many runs of the job, with OTs resting on `base_ot` and on what `extension`
    /// rests on, a stock has enough.
    fn runs_in_stock(
        &self,
        _job: &Job<'_>,
        _stock: (&Stocks, &StockName),
        _ots: (BaseOt, OtExtension),
    ) -> Result<u64, Error> {
        Ok(0)
    }

    /// Runs the job, to which both parties have agreed.
    fn run(&self, job: &mut Job<'_>, agreed: AgreedRun<'_>) -> Result<ProtocolOutcome, Error>;
}

/// The parts of a run on which both parties have agreed.
struct AgreedRun<'a> {
    session: &'a mut Session,
    tag: RunTag,
    /// This party's input bits in port order.
    inputs: &'a [bool],
}

const NOT_OFFERED: Error = Error::ApiMisuse("this scheme is not offered by any protocol");

/// One run of a function by one party: the function, the role and the inputs.
pub type Job<'f> = Order<'f, TwoPartyRun<'f>>;

/// A run between two parties. [`Job`] orders one.
pub struct TwoPartyRun<'f> {
    function: &'f Function,
    role: Role,
    by: &'static dyn ProtocolRun,
    /// The stocks in which the run takes its material, keeps values and counts tries, as its
    /// protocol does.
    stocks: Option<Stocks>,
    /// Under `prepared` and `authenticated`, the name of the chain that keeps values.
    chain: Option<String>,
    /// Whether the run may discard values of an existing chain.
    replaces: bool,
    /// Whether the run must take everything from the stock.
    needs_stock: bool,
    /// The version of a chain that the run must continue from, or a later one.
    pin: Option<ChainVersion>,
    /// The number of later runs for which leases are made with this one.
    runs_ahead: u64,
    watch_taken: Box<dyn FnMut(&TakenNumbers) + Send + 'f>,
    inputs: BTreeMap<String, Value>,
    /// Under `gmw`, the join whose stage makes inputs.
    join: Option<JoinOfRun<'f>>,
}

impl Garbled for TwoPartyRun<'_> {
    fn default_scheme(&self) -> SchemeId {
        default_scheme(self.function)
    }
}

impl Secured for TwoPartyRun<'_> {}

impl<'f> Job<'f> {
    /// Creates a run of `function` as `role`, by `direct`, without inputs yet.
    pub fn new(function: &'f Function, role: Role) -> Self {
        Self::of(TwoPartyRun {
            function,
            role,
            by: &direct::Direct,
            stocks: None,
            chain: None,
            replaces: false,
            needs_stock: false,
            pin: None,
            runs_ahead: 0,
            watch_taken: Box::new(|_| ()),
            inputs: BTreeMap::new(),
            join: None,
        })
    }

    /// Gives the value of one of this party's inputs.
    #[must_use]
    pub fn input(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.task.inputs.insert(name.to_owned(), value.into());
        self
    }

    /// Runs the stage of this join before the function, with this party's table. The stage makes
    /// the inputs that the plan names. The protocol must be `gmw`, and the peer must give the same
    /// plan. The result by pair is in the order of the placer's rows.
    #[must_use]
    pub fn join(mut self, plan: &'f JoinPlan, table: &'f JoinedTable) -> Self {
        self.task.join = Some(JoinOfRun { plan, table });
        self
    }

    /// Runs by this protocol, which a flag or a file may have named.
    ///
    /// With stocks, `gmw` takes all crosses from them if both parties have enough; a
    /// [`CrossPreparation`](crate::stock::CrossPreparation) makes crosses. `authenticated` takes
    /// instances of the function's components if both parties have enough of one lot, or else
    /// triples; a [`LotPreparation`](crate::stock::LotPreparation) makes either. If the peer does
    /// not finish a run of `authenticated` that takes nothing from the stock, the stocks count it.
    /// Such runs raise s, so that s holds for all runs together. The parties must be authenticated
    /// to each other. The first run of a session in this role decides whether the session takes
    /// from the stock, and whether it counts.
    ///
    /// # Errors
    ///
    /// The protocol takes from the stock and there is none, or it is not a protocol between two
    /// parties.
    pub fn by(mut self, protocol: Protocol, stocks: Option<&Stocks>) -> Result<Self, Error> {
        let known = PROTOCOLS.into_iter().find(|one| one.protocol() == protocol);
        self.task.by = known.ok_or(Error::ApiMisuse(
            "a job is of two parties; `outsourced` takes an OutsourcedJob",
        ))?;
        if stocks.is_none() && !protocol.is_from_nothing() {
            return Err(Error::ApiMisuse(
                "this protocol takes from the stock; give the job this party's stocks",
            ));
        }
        self.task.stocks = stocks.cloned();
        Ok(self)
    }

    fn runs_by(mut self, protocol: &'static dyn ProtocolRun, stocks: Option<&Stocks>) -> Self {
        self.task.by = protocol;
        self.task.stocks = stocks.cloned();
        self
    }

    /// Runs by `prepared`, from the stock for this peer, role and scheme. The run garbles
    /// components that the stock lacks. The parties must be authenticated to each other.
    #[must_use]
    pub fn prepared(self, stocks: &Stocks) -> Self {
        self.runs_by(&prepared::Prepared, Some(stocks))
    }

    /// Loads and saves values in the chain of this name, under `prepared` and under `authenticated`
    /// [with stocks](Self::by). Both parties keep the chain with their stocks, garbled or shared. A
    /// run that saves and loads nothing starts a missing chain. Whenever a party stops, either both
    /// parties have a version or neither has it.
    #[must_use]
    pub fn chain(mut self, name: &str) -> Self {
        self.task.chain = Some(name.to_owned());
        self
    }

    /// Takes everything from the stock. If it has too little at one of the parties, the run ends
    /// with [`Error::StockLacks`] at both and does not make the rest. This is for `prepared`, for
    /// `gmw` and for `authenticated` without a chain.
    #[must_use]
    pub fn from_stock_alone(mut self) -> Self {
        self.task.needs_stock = true;
        self
    }

    /// Lets a function that saves a value without loading it replace the value that the chain
    /// keeps. Otherwise such a run is refused before anything is used.
    #[must_use]
    pub fn replacing(mut self) -> Self {
        self.task.replaces = true;
        self
    }

    /// Requires that the run under [`chain`](Self::chain) continues from this version of this chain
    /// or a later one. [`Outcome::chain`] of an earlier run gives the version. This is how a party
    /// notices that both went back to an old copy.
    #[must_use]
    pub fn pin(mut self, pin: ChainVersion) -> Self {
        self.task.pin = Some(pin);
        self
    }

    /// Runs by `gmw`, on XOR shares. A program is lowered in the [form](Protocol::circuit_form)
    /// that has few layers for `gmw`. There is no scheme.
    #[must_use]
    pub fn gmw(self) -> Self {
        self.runs_by(&gmw::Gmw, None)
    }

    /// Runs by `batch`, secure against a malicious party, with a checked execution from the stock
    /// for this peer, role and scheme. If there is none, the run fails with
    /// [`Error::NothingChecked`]. A [`BatchPreparation`](crate::stock::BatchPreparation) makes
    /// executions.
    #[must_use]
    pub fn batch(self, stocks: &Stocks) -> Self {
        self.runs_by(&batch::Batch, Some(stocks))
    }

    /// Runs by `authenticated`, secure against a malicious party, without a stock. The peer's tries
    /// are not counted, so s holds for the runs of this session alone ([`SecurityScope::ThisRun`]).
    #[must_use]
    pub fn authenticated(self) -> Self {
        self.runs_by(&authenticated::Authenticated, None)
    }

    /// Returns the threat model under which the run is secure.
    pub fn threat_model(&self) -> ThreatModel {
        self.protocol().threat_model()
    }

    /// Returns the protocol of the run.
    pub fn protocol(&self) -> Protocol {
        self.task.by.protocol()
    }

    /// Returns the bits of statistical security of the run, if it has any: s, or fewer where a peer
    /// has better ways to cheat than s bounds.
    pub fn held_bits(&self) -> Option<u8> {
        self.task.by.held_bits(self.task.function, self.security)
    }

    /// Returns s, if the protocol has one.
    fn security_bits(&self) -> Option<u8> {
        let has = self.protocol().has_security_bits();
        has.then_some(self.security.bits())
    }

    /// Leases the material of this run and of the next `runs` of the session, up to 64, in one
    /// step. Those runs then need neither the disk nor a round trip for leases. The end of the
    /// session wastes unused leases. The evaluator asks, and the garbler follows.
    #[must_use]
    pub fn lease_ahead(mut self, runs: u64) -> Self {
        self.task.runs_ahead = runs;
        self
    }

    /// Calls `watch` with the numbers that the run takes from the stock, kind by kind. The call
    /// comes after their leases are durable and before anything that depends on them is sent.
    #[must_use]
    pub fn watch_taken(mut self, watch: impl FnMut(&TakenNumbers) + Send + 'f) -> Self {
        self.task.watch_taken = Box::new(watch);
        self
    }

    /// Returns this party's input bits in port order. It finds every problem with the inputs before
    /// anything is sent.
    ///
    /// # Errors
    ///
    /// An input is missing, unknown, the peer's, or not of its port's type.
    pub fn input_bits(&self) -> Result<Zeroizing<Vec<bool>>, Error> {
        let TwoPartyRun { function, role, .. } = self.task;
        let join = self.task.join.as_ref();
        let made = join.map_or_else(Vec::new, |join| join.inputs_of(role));
        ports::input_bits(function, role, &self.task.inputs, &made)
    }

    /// Checks that the protocol can run the function with these settings. It does not check the
    /// inputs.
    ///
    /// # Errors
    ///
    /// The protocol keeps no saved values, a chain is missing or superfluous, or the protocol does
    /// not support the scheme or the s.
    pub fn check(&self) -> Result<(), Error> {
        if self.protocol().keeps_values() || self.task.chain.is_some() {
            check_place(self.task.function, self.task.chain.is_some())?;
        }
        if self.task.pin.is_some() && self.task.chain.is_none() {
            return Err(Error::ApiMisuse("a pin is of a chain; name the chain"));
        }
        let TwoPartyRun { function, join, .. } = &self.task;
        if self.protocol() != Protocol::Gmw && (join.is_some() || function.is_over_shares()) {
            return Err(Error::JoinsNot {
                protocol: self.protocol(),
            });
        }
        if let Some(join) = join {
            join.check(function, self.task.role)?;
        }
        self.task.by.check(self)
    }

    /// Runs the job over `session`; the peer runs its own with the other role.
    ///
    /// # Errors
    ///
    /// A problem with the inputs, or any error that ends the run. The session is then spent.
    pub fn run(mut self, session: &mut Session) -> Result<Outcome, Error> {
        session.chain_attempt = None;
        self.check()?;
        if self.task.chain.is_some() && self.task.stocks.is_none() {
            return Err(Error::ApiMisuse(
                "a chain lies with this party's stocks; give them to the job",
            ));
        }
        let inputs = self.input_bits()?;
        // Compile here, so that it counts for no phase and its memory is not needed during the run.
        self.task.function.compile();
        self.find_lane(session)?;
        session.work_on(self.threads);
        let ProtocolOutcome {
            outputs,
            chain,
            phases,
            and_gates_on_the_spot,
            security_scope,
            makes_ots,
            from_stock,
            keys_of_bins,
        } = session.guarded_within(self.time_limit, |session| {
            let clock = Clock::start(session);
            let agreed = session.agree(&self.terms());
            let tag = agreed.map_err(|error| self.naming_difference(error, session))?;
            let agreement = clock.stop(Phase::Agreement, session);
            let agreed = AgreedRun {
                session,
                tag,
                inputs: &inputs,
            };
            let protocol = self.task.by;
            let mut ran = protocol.run(&mut self, agreed)?;
            ran.phases.insert(0, agreement);
            Ok(ran)
        })?;
        let mut outputs = ports::outputs(self.task.function, self.task.role, &outputs)?;
        if let Some(plan) = self.task.join.as_ref().map(|join| join.plan)
            && let Some(by_pair) = &plan.by_pair
            && plan.placers().owner == self.task.role
        {
            let by_bin = outputs.get(&by_pair.output);
            let by_row = JoinOfRun::by_row(by_pair, keys_of_bins.as_ref(), by_bin)?;
            outputs.extend(by_row.map(|by_row| (by_pair.output.clone(), by_row)));
        }
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

    /// Returns this party's stocks, if the job has any.
    fn stocks_if_any(&self) -> Option<&Stocks> {
        self.task.stocks.as_ref().filter(|_| Stocks::ARE_POSSIBLE)
    }

    /// Returns this party's stocks, for a protocol that takes from them.
    fn stocks(&self) -> Result<Stocks, Error> {
        let stocks = self.stocks_if_any().cloned();
        stocks.ok_or(Error::ApiMisuse("a job by this protocol has stocks"))
    }

    /// Returns the place of the run's chain, if it has one.
    fn chain_place(&self, stocks: &Stocks) -> Option<ChainPlace> {
        let name = self.task.chain.as_ref()?;
        Some(ChainPlace {
            stocks: stocks.clone(),
            name: name.clone(),
            allowed: Vec::new(),
            is_exact: false,
            replaces: self.task.replaces,
            pin: self.task.pin,
        })
    }

    /// Says in an error of the agreement what the peer wants instead, if that is known.
    fn naming_difference(&self, error: Error, session: &mut Session) -> Error {
        let function = self.task.function;
        let error = match &self.task.join {
            Some(join) => join.naming_part(error, function),
            None => error,
        };
        session.naming_difference(error, function)
    }

    fn terms(&self) -> OrderTerms {
        OrderTerms {
            protocol: self.protocol().wire_id(),
            role: self.task.role,
            statistical_security_bits: self.security_bits().unwrap_or(0),
            scheme: self.scheme_id(),
            function: match &self.task.join {
                Some(join) => join::digest(self.task.function, join.plan),
                None => self.task.function.digest(),
            },
            ots: self.task.by.ot_need(self),
        }
    }
}

impl TwoPartyRun<'_> {
    /// Returns how the run orders its leases.
    fn lease_order(&mut self) -> LeaseOrder<'_> {
        LeaseOrder {
            ahead: self.runs_ahead,
            needs_stock: self.needs_stock,
            watch: &mut self.watch_taken,
        }
    }
}
