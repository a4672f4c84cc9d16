//! The numbers that runs report as taken.

use std::fmt;

use tacit_stock::{ComponentDigest, EpochId, Lease, Span};

use super::unit;

/// The numbers of one kind of prepared material that a run takes at this party. No run of this
/// party ever takes them again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenNumbers {
    /// `OTs`, the type of crosses, or the names of the function and the component.
    pub name: String,
    /// The component's digest.
    pub digest: ComponentDigest,
    /// The epoch of the stock, in which each number of the component occurs once.
    pub epoch: EpochId,
    /// The numbers: of OTs, of crosses, or of instances of the component.
    pub spans: Vec<Span>,
}

impl TakenNumbers {
    /// Returns the numbers of a lease, counted one by one.
    pub(super) fn of(lease: &Lease, name: String, epoch: EpochId) -> Self {
        let digest = lease.kind();
        let unit = unit(&digest);
        let spans = lease.spans().map(|span| Span {
            first: span.first * unit,
            count: span.count * unit,
        });
        Self {
            name,
            digest,
            epoch,
            spans: spans.collect(),
        }
    }

    /// Returns the name and the numbers as text: `NAME 3..5, 7..8`.
    pub fn numbers(&self) -> String {
        let spans = self.spans.iter().map(Span::to_string);
        format!("{} {}", self.name, spans.collect::<Vec<_>>().join(", "))
    }
}

/// Everything that identifies the instances: `NAME 3..5, 7..8 of DIGEST in epoch EPOCH`.
impl fmt::Display for TakenNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (digest, epoch) = (self.digest, self.epoch);
        write!(f, "{} of {digest} in epoch {epoch}", self.numbers())
    }
}
