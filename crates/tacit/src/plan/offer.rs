//! The protocols that there are to choose from, and what each protects against.
//!
//! A protocol that is added gets a variant of [`PlannedProtocol`] and a line in each function here,
//! and its outline in `super::alternative`, or a file of its own where it runs otherwise, as
//! `super::checked`; nothing else of the planner knows protocols apart.

use core::fmt;
use core::str::FromStr;

/// What parties may do, as the literature names it. None of them stands in for another: the last
/// two are stronger than the first and neither is the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreatModel {
    /// Both parties follow the protocol and study what they see.
    SemiHonest,
    /// One of two parties does what it likes.
    Malicious,
    /// Three parties, of which those that do what they like do not work together.
    MaliciousNonColluding,
}

/// Text that names no threat model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{found}` names no threat model; known are semi-honest, malicious and malicious-non-colluding"
)]
pub struct UnknownThreatModel {
    /// The text, cut to its first 64 characters.
    pub found: String,
}

impl ThreatModel {
    /// Every threat model, the weakest first.
    pub const ALL: [Self; 3] = [
        Self::SemiHonest,
        Self::Malicious,
        Self::MaliciousNonColluding,
    ];

    /// Whether what protects under this model protects under `asked` as well.
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

/// A protocol that a plan can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlannedProtocol {
    /// Garble, stream and evaluate now.
    Direct,
    /// Link what was garbled before.
    Prepared,
    /// Run what was prepared and checked with many others.
    Batch,
    /// Make and check everything now.
    Authenticated,
}

impl PlannedProtocol {
    /// Every protocol.
    pub const ALL: [Self; 4] = [
        Self::Direct,
        Self::Prepared,
        Self::Batch,
        Self::Authenticated,
    ];

    /// Its name, as on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Prepared => "prepared",
            Self::Batch => "batch",
            Self::Authenticated => "authenticated",
        }
    }

    /// What it protects against.
    #[must_use]
    pub fn threat_model(self) -> ThreatModel {
        match self {
            Self::Direct | Self::Prepared => ThreatModel::SemiHonest,
            Self::Batch | Self::Authenticated => ThreatModel::Malicious,
        }
    }

    /// Whether it takes nothing from the stock.
    #[must_use]
    pub fn is_from_nothing(self) -> bool {
        matches!(self, Self::Direct | Self::Authenticated)
    }

    /// Those to choose from where `asked` is asked for: the ones that protect under just this
    /// model, else those that protect under a stronger one, which cost more in everything.
    #[must_use]
    pub fn against(asked: ThreatModel) -> Vec<Self> {
        let those = |fits: &dyn Fn(ThreatModel) -> bool| {
            let all = Self::ALL.into_iter();
            all.filter(|one| fits(one.threat_model()))
                .collect::<Vec<_>>()
        };
        match those(&|model| model == asked) {
            none if none.is_empty() => those(&|model| model.covers(asked)),
            some => some,
        }
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
        use PlannedProtocol::{Authenticated, Batch, Direct, Prepared};
        let against = PlannedProtocol::against;
        assert_eq!(against(ThreatModel::SemiHonest), [Direct, Prepared]);
        assert_eq!(against(ThreatModel::Malicious), [Batch, Authenticated]);
        assert_eq!(against(ThreatModel::MaliciousNonColluding), []);
    }

    #[test]
    fn names_go_round() {
        for model in ThreatModel::ALL {
            assert_eq!(model.to_string().parse(), Ok(model));
        }
        let error = "hope".parse::<ThreatModel>().unwrap_err();
        assert!(error.to_string().contains("hope"), "{error}");
    }
}
