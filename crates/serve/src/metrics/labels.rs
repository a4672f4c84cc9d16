//! The labels of the metrics. Their values are names from this party's configuration and of
//! components, so that peers cannot create new ones.

use prometheus_client::encoding::EncodeLabelSet;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfRun {
    pub(super) offer: String,
    pub(super) protocol: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfOutcome {
    pub(super) offer: String,
    pub(super) protocol: String,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfOffer {
    pub(super) offer: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfRefusal {
    pub(super) what: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfPeer {
    pub(super) peer: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfStock {
    pub(super) peer: String,
    pub(super) role: &'static str,
    pub(super) scheme: String,
    /// The peer's lane, empty if it has one process.
    pub(super) lane: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
pub(super) struct OfKind {
    pub(super) peer: String,
    pub(super) role: &'static str,
    pub(super) scheme: String,
    pub(super) lane: String,
    pub(super) component: String,
    /// The beginning of the component's digest, because two components may have the same name.
    pub(super) digest: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfPreparation {
    pub(super) function: String,
    pub(super) asked_by: &'static str,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfReload {
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfLevel {
    pub(super) peer: String,
    pub(super) function: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfWay {
    pub(super) direction: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfPhase {
    pub(super) offer: String,
    pub(super) phase: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfPreparer {
    pub(super) function: String,
    pub(super) asked_by: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfWait {
    pub(super) wait: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct OfTries {
    pub(super) peer: String,
    pub(super) role: &'static str,
    pub(super) protocol: &'static str,
}

impl OfRun {
    pub(super) fn with(self, outcome: &'static str) -> OfOutcome {
        let Self { offer, protocol } = self;
        OfOutcome {
            offer,
            protocol,
            outcome,
        }
    }
}

impl OfPreparer {
    pub(super) fn with(self, outcome: &'static str) -> OfPreparation {
        let Self { function, asked_by } = self;
        OfPreparation {
            function,
            asked_by,
            outcome,
        }
    }
}
