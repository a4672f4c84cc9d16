//! The numbers that runs report as taken.

use std::fmt;

use tacit_stock::{ComponentDigest, Span};

/// The numbers of one kind of prepared material that a run takes at this party. No run of this
/// party ever takes them again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenNumbers {
    /// `OTs`, the type of crosses, or the names of the function and the component.
    pub name: String,
    /// The component's digest.
    pub digest: ComponentDigest,
    /// The numbers: of OTs, of crosses, or of instances of the component.
    pub spans: Vec<Span>,
}

impl fmt::Display for TakenNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (place, span) in self.spans.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma} {span}")?;
        }
        Ok(())
    }
}
