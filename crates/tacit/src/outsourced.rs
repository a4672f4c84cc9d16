//! Runs of `outsourced`: three parties, each with a session to both others.
//!
//! | file | what it does |
//! |---|---|
//! | `links` | two sessions of a party: a protocol's script over both, and what both carried |
//! | `kept` | the values that a server keeps, and what ends a chain |
//! | `servers` | the generator's and the cloud's run |
//! | `client` | the evaluator's run |
//!
//! Every party works on its links in the same order, generator–cloud, generator–evaluator,
//! evaluator–cloud, so that the three never wait for each other in a cycle.

mod client;
mod kept;
mod links;
mod servers;

use std::collections::BTreeMap;
use std::time::Duration;

use tacit_circuit::Value;
use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_ot::Security;
use tacit_protocol::outsourced::{EvaluatorBits, Peer};
use tacit_protocol::session::ProtocolId;
use zeroize::Zeroizing;

pub use tacit_protocol::outsourced::{
    MIN_SECURITY_BITS as MIN_OUTSOURCED_SECURITY_BITS, Parameters as OutsourcedParameters,
    Peer as OutsourcedRole, RunBound, RunTicket,
};

use crate::cost::{Cost, PhaseCost, peak_memory_bytes};
use crate::kept::ChainPlace;
use crate::order::{Garbled, Order};
use crate::ports;
use crate::protocols::{Protocol, ThreatModel};
use crate::scheme::{default_scheme, with_block_scheme};
use crate::session::{OrderTerms, OtNeed};
use crate::stock::{ChainVersion, Stocks};
use crate::{Error, Fingerprint, Outcome};

/// The default time for which a party waits for a message while the two others work.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// One run of a function by one of three parties.
///
/// The generator is the function's garbler. The evaluator gives the inputs of the function's
/// evaluator and gets its results. The cloud has neither inputs nor results and does the
/// evaluator's work. Generator and cloud keep what the function saves, in a chain that both name
/// ([`OutsourcedJob::chain`]).
pub type OutsourcedJob<'f> = Order<'f, ThreePartyRun<'f>>;

/// The stage of an evaluator's run, for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientStage {
    /// It waits for its turn. The cloud reports the number of earlier runs of its chain, without
    /// proof.
    Waits {
        /// The number of runs before this one.
        before: u16,
    },
    /// Both servers have started it.
    Runs,
}

/// A run between three parties. [`OutsourcedJob`] orders one.
pub struct ThreePartyRun<'f> {
    function: &'f Function,
    parameters: OutsourcedParameters,
    chain: Option<ChainPlace>,
    pin: Option<ChainVersion>,
    inputs: BTreeMap<String, Value>,
    patience: Duration,
    on_stage: Box<dyn FnMut(ClientStage) + Send + 'f>,
}

impl Garbled for ThreePartyRun<'_> {
    fn default_scheme(&self) -> SchemeId {
        default_scheme(self.function)
    }
}

impl<'f> OutsourcedJob<'f> {
    /// Creates a run of `function` with these parameters, without inputs yet. All three parties
    /// give the same parameters. The scheme must be half-gates, with either hash.
    pub fn new(function: &'f Function, parameters: OutsourcedParameters) -> Self {
        Self::of(ThreePartyRun {
            function,
            parameters,
            chain: None,
            pin: None,
            inputs: BTreeMap::new(),
            patience: PATIENCE,
            on_stage: Box::new(|_| ()),
        })
    }

    /// Gives the value of one of this party's inputs.
    #[must_use]
    pub fn input(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.task.inputs.insert(name.to_owned(), value.into());
        self
    }

    /// At a server, loads and saves values in the chain of this name. A run that saves and loads
    /// nothing starts a missing chain. The chain's values are then for the evaluator of that run
    /// and for `allowed`. Generator and cloud each keep this rule separately.
    #[must_use]
    pub fn chain(mut self, stocks: &Stocks, name: &str, allowed: &[Fingerprint]) -> Self {
        self.task.chain = Some(ChainPlace {
            stocks: stocks.clone(),
            name: name.to_owned(),
            allowed: allowed.to_vec(),
            is_exact: false,
            replaces: false,
            pin: None,
        });
        self
    }

    /// At a server, lets a function that saves a value without loading it replace the value that
    /// the chain keeps. Otherwise such a run is refused before anything is used.
    #[must_use]
    pub fn replacing(mut self) -> Self {
        if let Some(place) = &mut self.task.chain {
            place.replaces = true;
        }
        self
    }

    /// At the evaluator, requires that both servers continue from this version of this chain or a
    /// later one. [`Outcome::chain`] of an earlier run gives the version.
    #[must_use]
    pub fn pin(mut self, pin: ChainVersion) -> Self {
        self.task.pin = Some(pin);
        self
    }

    /// Uses the chain as [`OutsourcedJob::chain`] does, but every run sets who may use the chain's
    /// values: `clients`, and nobody else.
    #[must_use]
    pub fn chain_of(mut self, stocks: &Stocks, name: &str, clients: &[Fingerprint]) -> Self {
        self = self.chain(stocks, name, clients);
        if let Some(place) = &mut self.task.chain {
            place.is_exact = true;
        }
        self
    }

    /// Checks what is known before a connection: that `outsourced` can run the function with these
    /// settings.
    ///
    /// # Errors
    ///
    /// The scheme is not supported, the function joins tables, or it has more inputs than can be
    /// encoded.
    pub fn check(&self) -> Result<(), Error> {
        if self.task.function.is_over_shares() {
            return Err(Error::JoinsNot {
                protocol: Protocol::Outsourced,
            });
        }
        with_block_scheme(self.scheme_id(), Protocol::Outsourced, ())?;
        self.client_ots().map(drop)
    }

    /// Sets the longest wait for a message. A party waits while the two others work. The default is
    /// 15 minutes.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.task.patience = patience;
        self
    }

    /// At the evaluator, calls `on_stage` when the run's place in the queue changes and when it
    /// starts.
    #[must_use]
    pub fn on_stage(mut self, on_stage: impl FnMut(ClientStage) + Send + 'f) -> Self {
        self.task.on_stage = Box::new(on_stage);
        self
    }

    /// Returns the threat model under which the run is secure.
    pub fn threat_model(&self) -> ThreatModel {
        if self.task.parameters.is_semi_honest() {
            return ThreatModel::SemiHonest;
        }
        ThreatModel::MaliciousNonColluding
    }

    /// Returns the input bits of the party that plays `role`.
    fn input_bits(&self, role: Role) -> Result<Zeroizing<Vec<bool>>, Error> {
        ports::input_bits(self.task.function, role, &self.task.inputs, &[])
    }

    /// Decodes the results of the party that plays `role` from its output bits.
    fn outputs(&self, role: Role, bits: &[bool]) -> Result<BTreeMap<String, Value>, Error> {
        ports::outputs(self.task.function, role, bits)
    }

    fn terms(&self, role: Role, ots: OtNeed) -> OrderTerms {
        OrderTerms {
            protocol: ProtocolId::Outsourced,
            role,
            statistical_security_bits: self.task.parameters.statistical_security_bits(),
            scheme: self.scheme_id(),
            function: self.task.function.digest(),
            ots,
        }
    }

    /// Returns the number of OTs that a run takes between generator and evaluator.
    fn client_ots(&self) -> Result<u64, Error> {
        Ok(EvaluatorBits::of(self.task.function).transfers(&self.task.parameters)? as u64)
    }

    /// Returns the number of OTs that a run takes between generator and cloud when it starts a
    /// chain.
    fn cut_ots(&self) -> u64 {
        self.task.parameters.copies() as u64
    }

    /// Returns the OTs on the links with these two peers. Links without the generator carry none.
    fn ot_needs(&self, first: Peer, second: Peer) -> Result<[OtNeed; 2], Error> {
        let some = |count| OtNeed::of(Security::Malicious, count);
        let (client, cut) = (some(self.client_ots()?), some(self.cut_ots()));
        Ok(match (first, second) {
            (Peer::Cloud, _) => [cut, client],
            (_, Peer::Cloud) => [client, OtNeed::NONE],
            _ => [cut, OtNeed::NONE],
        })
    }

    fn outcome(
        &self,
        outputs: BTreeMap<String, Value>,
        phases: Vec<PhaseCost>,
        and_gates: u64,
    ) -> Result<Outcome, Error> {
        let bits = self
            .task
            .parameters
            .bound(Some(self.task.function))?
            .total_bits();
        Ok(Outcome {
            chain: None,
            outputs,
            threat_model: self.threat_model(),
            // Rounded down, so that the promise holds.
            statistical_security_bits: (!self.task.parameters.is_semi_honest())
                .then_some(bits as u8),
            security_scope: None,
            cost: Cost {
                phases,
                and_gates,
                and_gates_on_the_spot: 0,
                ot_extension: None,
                from_stock: None,
                base_ots: None,
                peak_memory_bytes: peak_memory_bytes(),
            },
        })
    }
}
