//! The protocols, one per row of a table: the threat model, the number of parties, the use of the
//! stock.
//!
//! A new protocol needs a variant of [`Protocol`] and a row of the table. The command line, the
//! service, Python, the planner and the conformance suite take its name and properties from the
//! row. ARCHITECTURE.md, "Where to add something", lists everything else that a protocol needs.

use core::fmt;
use core::str::FromStr;

use tacit_circuit::builder::CircuitForm;
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::session::ProtocolId;
use tacit_protocol::{authenticated, batch};

use crate::Error;

/// The statistical security parameter s: a cheating party succeeds with probability at most two to
/// minus this number of bits. The default is 40.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatisticalSecurity(u8);

impl StatisticalSecurity {
    /// The default s.
    pub const DEFAULT: Self = Self(40);

    /// The least s that is allowed against a malicious party.
    pub const LEAST: Self = Self(authenticated::MIN_SECURITY_BITS);

    /// The highest s of any protocol.
    pub const MOST: Self = Self(batch::plan::MAX_SECURITY_BITS);

    /// Creates an s of `bits`, from 40 to 80. `authenticated` allows at most 64.
    ///
    /// # Errors
    ///
    /// `bits` is out of bounds.
    pub fn new(bits: u8) -> Result<Self, Error> {
        Self::between(Self::LEAST, bits, Self::MOST)
    }

    /// Creates an s as low as 1, for `batch`. This is for tests only: no command, configuration or
    /// binding reaches it.
    ///
    /// # Errors
    ///
    /// `bits` is out of bounds.
    pub fn insecure_for_measurements(bits: u8) -> Result<Self, Error> {
        Self::between(Self(1), bits, Self::MOST)
    }

    fn between(least: Self, bits: u8, limit: Self) -> Result<Self, Error> {
        if (least.0..=limit.0).contains(&bits) {
            return Ok(Self(bits));
        }
        Err(ProtocolError::SecurityBits {
            found: bits,
            least: least.0,
            limit: limit.0,
        }
        .into())
    }

    /// Returns the number of bits.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the s of the lots of `authenticated`.
    pub(crate) fn of_lots(self) -> Result<authenticated::SecurityBits, Error> {
        Ok(authenticated::SecurityBits::new(self.0)?)
    }
}

impl Default for StatisticalSecurity {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for StatisticalSecurity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The power of the parties, in the terms of the literature. The last two models are stronger than
/// the first, and neither of them covers the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreatModel {
    /// Both parties follow the protocol, but study what they see.
    SemiHonest,
    /// One of the two parties deviates arbitrarily.
    Malicious,
    /// Some of the three parties deviate arbitrarily, but these do not collude.
    MaliciousNonColluding,
}

/// The error of a text that names no threat model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` names no threat model; known are {}",
    ThreatModel::ALL.map(|one| one.to_string()).join(", ")
)]
pub struct UnknownThreatModel {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

impl ThreatModel {
    /// Every threat model, in order of strength.
    pub const ALL: [Self; 3] = [
        Self::SemiHonest,
        Self::Malicious,
        Self::MaliciousNonColluding,
    ];

    /// Whether a protocol that is secure under this model is also secure under `asked`.
    #[must_use]
    pub fn covers(self, asked: Self) -> bool {
        self == asked || (asked == Self::SemiHonest && self == Self::Malicious)
    }
}

impl fmt::Display for ThreatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SemiHonest => "semi-honest",
            Self::Malicious => "malicious",
            Self::MaliciousNonColluding => "malicious-non-colluding",
        })
    }
}

impl FromStr for ThreatModel {
    type Err = UnknownThreatModel;

    fn from_str(text: &str) -> Result<Self, UnknownThreatModel> {
        let known = Self::ALL.into_iter().find(|one| one.to_string() == text);
        known.ok_or_else(|| UnknownThreatModel {
            found: text.chars().take(64).collect(),
        })
    }
}

/// A way to run a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Garbles, streams and evaluates during the run.
    Direct,
    /// Links instances that were garbled before.
    Prepared,
    /// Computes on XOR shares, with a message per layer.
    Gmw,
    /// Runs an execution that was prepared and checked together with many others.
    Batch,
    /// Makes and checks everything during the run.
    Authenticated,
    /// Lets a cloud do the evaluator's work, and keeps values.
    Outsourced,
}

/// The error of a text that names no protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` names no protocol; known are {}",
    Protocol::ALL.map(Protocol::name).join(", ")
)]
pub struct UnknownProtocol {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

/// The material that a run takes from the stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockUse {
    /// Nothing.
    Nothing,
    /// Garbled components and OTs. The run makes missing ones.
    Components,
    /// A checked execution, without which the protocol does not run.
    Executions,
}

/// A row of the table.
struct Row {
    id: ProtocolId,
    threat_model: ThreatModel,
    parties: u8,
    stock: StockUse,
    keeps_values: bool,
    summary: &'static str,
}

/// The table, in the order of the variants.
const TABLE: [Row; 6] = [
    Row {
        id: ProtocolId::Direct,
        threat_model: ThreatModel::SemiHonest,
        parties: 2,
        stock: StockUse::Nothing,
        keeps_values: false,
        summary: "Garbles, sends and evaluates once the inputs are known",
    },
    Row {
        id: ProtocolId::Prepared,
        threat_model: ThreatModel::SemiHonest,
        parties: 2,
        stock: StockUse::Components,
        keeps_values: true,
        summary: "Links what was prepared: one round trip; what is missing is garbled on the spot",
    },
    Row {
        id: ProtocolId::Gmw,
        threat_model: ThreatModel::SemiHonest,
        parties: 2,
        stock: StockUse::Nothing,
        keeps_values: false,
        summary: "Computes on XOR shares: a fiftieth of the bytes of direct, and a message for \
                  each layer of AND gates. For tables, sorting and sums",
    },
    Row {
        id: ProtocolId::Batch,
        threat_model: ThreatModel::Malicious,
        parties: 2,
        stock: StockUse::Executions,
        keeps_values: false,
        summary: "Runs an execution that was prepared and checked, secure against a malicious \
                  party: four short messages. Without one it does not run",
    },
    Row {
        id: ProtocolId::Authenticated,
        threat_model: ThreatModel::Malicious,
        parties: 2,
        stock: StockUse::Nothing,
        keeps_values: true,
        summary: "Runs any function once, secure against a malicious party; prepared or not",
    },
    Row {
        id: ProtocolId::Outsourced,
        threat_model: ThreatModel::MaliciousNonColluding,
        parties: 3,
        stock: StockUse::Nothing,
        keeps_values: true,
        summary: "Three parties: a cloud does the evaluator's work, and values can stay between \
                  runs; secure against malicious parties that do not work together",
    },
];

impl Protocol {
    /// Every protocol.
    pub const ALL: [Self; 6] = [
        Self::Direct,
        Self::Prepared,
        Self::Gmw,
        Self::Batch,
        Self::Authenticated,
        Self::Outsourced,
    ];

    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Iterates over the protocols between two parties.
    pub fn between_two() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|one| one.row().parties == 2)
    }

    /// Returns the protocol's name on the command line and in files.
    pub fn name(self) -> &'static str {
        self.row().id.name()
    }

    /// Returns a summary of the protocol for help texts.
    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    /// Returns the protocol's id in proposals.
    pub fn wire_id(self) -> ProtocolId {
        self.row().id
    }

    /// Returns the protocol with this id on the wire, or `None` for the id of preparations.
    pub fn of_wire(id: ProtocolId) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.wire_id() == id)
    }

    /// Returns the threat model under which the protocol is secure.
    pub fn threat_model(self) -> ThreatModel {
        self.row().threat_model
    }

    /// Returns the material that a run takes from the stock.
    pub fn stock_use(self) -> StockUse {
        self.row().stock
    }

    /// Whether a run takes nothing from the stock.
    pub fn is_from_nothing(self) -> bool {
        self.stock_use() == StockUse::Nothing
    }

    /// Whether runs can keep values for later ones.
    pub fn keeps_values(self) -> bool {
        self.row().keeps_values
    }

    /// Whether the protocol garbles, and so has a scheme.
    pub fn is_garbled(self) -> bool {
        self != Self::Gmw
    }

    /// Returns the form of circuit with which the protocol is fastest. Both parties lower a program
    /// to it.
    pub fn circuit_form(self) -> CircuitForm {
        if self == Self::Gmw {
            CircuitForm::Shallow
        } else {
            CircuitForm::Small
        }
    }

    /// Whether the protocol has a statistical security parameter.
    pub fn has_security_bits(self) -> bool {
        self.threat_model() != ThreatModel::SemiHonest
    }

    /// Returns an s of `bits`, if this protocol offers it for real use.
    ///
    /// # Errors
    ///
    /// The protocol does not offer this s.
    pub fn statistical_security(self, bits: u8) -> Result<StatisticalSecurity, Error> {
        let limit = match self {
            Self::Authenticated => StatisticalSecurity(authenticated::MAX_SECURITY_BITS),
            _ => StatisticalSecurity::MOST,
        };
        StatisticalSecurity::between(StatisticalSecurity::LEAST, bits, limit)
    }

    /// Returns the protocol of a run that names none and must be secure under `asked`. Under
    /// `malicious` it is `batch` if a checked execution is in stock, or else `authenticated`. Both
    /// parties hold their halves of the stock, so both choose the same.
    ///
    /// # Errors
    ///
    /// The errors of `has_checked_execution`, which is called only under `malicious`.
    pub fn by_default<E>(
        asked: ThreatModel,
        has_checked_execution: impl FnOnce() -> Result<bool, E>,
    ) -> Result<Self, E> {
        Ok(match asked {
            ThreatModel::SemiHonest => Self::Direct,
            ThreatModel::Malicious if has_checked_execution()? => Self::Batch,
            ThreatModel::Malicious => Self::Authenticated,
            ThreatModel::MaliciousNonColluding => Self::Outsourced,
        })
    }

    /// Returns the protocols between two parties that are candidates under `asked`: those for
    /// exactly this model or, if there are none, those for a stronger model, which cost more in
    /// every respect.
    pub(crate) fn against(asked: ThreatModel) -> Vec<Self> {
        let those = |fits: &dyn Fn(ThreatModel) -> bool| {
            let all = Self::between_two().filter(|one| fits(one.threat_model()));
            all.collect::<Vec<_>>()
        };
        match those(&|model| model == asked) {
            none if none.is_empty() => those(&|model| model.covers(asked)),
            some => some,
        }
    }
}

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<Self, UnknownProtocol> {
        let known = Self::ALL.into_iter().find(|one| one.name() == text);
        known.ok_or_else(|| UnknownProtocol {
            found: text.chars().take(64).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_protocol_stands_in_for_a_stronger_one() {
        use ThreatModel::{Malicious, MaliciousNonColluding, SemiHonest};
        assert!(Malicious.covers(SemiHonest) && SemiHonest.covers(SemiHonest));
        for (has, asked) in [
            (SemiHonest, Malicious),
            (SemiHonest, MaliciousNonColluding),
            (Malicious, MaliciousNonColluding),
            (MaliciousNonColluding, Malicious),
        ] {
            assert!(!has.covers(asked), "{has} for {asked}");
        }
    }

    #[test]
    fn what_is_asked_for_is_not_exceeded_where_it_need_not_be() {
        use Protocol::{Authenticated, Batch, Direct, Gmw, Prepared};
        let against = Protocol::against;
        assert_eq!(against(ThreatModel::SemiHonest), [Direct, Prepared, Gmw]);
        assert_eq!(against(ThreatModel::Malicious), [Batch, Authenticated]);
        assert_eq!(against(ThreatModel::MaliciousNonColluding), []);
    }

    #[test]
    fn a_threat_model_leads_to_a_protocol_that_withstands_it() {
        for asked in ThreatModel::ALL {
            for has_checked in [false, true] {
                let found = Protocol::by_default(asked, || Ok::<_, ()>(has_checked));
                assert_eq!(found.expect("no error").threat_model(), asked);
            }
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_protocol() {
        for (number, protocol) in Protocol::ALL.into_iter().enumerate() {
            assert_eq!(protocol as usize, number);
            assert_eq!(protocol.name(), protocol.wire_id().name());
        }
    }

    #[test]
    fn names_go_round() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.name().parse(), Ok(protocol));
        }
        for model in ThreatModel::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        let error = "hope".parse::<ThreatModel>().unwrap_err();
        assert!(error.to_string().contains("hope"), "{error}");
    }
}
