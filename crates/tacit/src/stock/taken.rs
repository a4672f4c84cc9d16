//! What runs tell of the numbers that they take.

use std::fmt;

use tacit_stock::{ComponentDigest, Span};

/// Numbers of one kind of prepared material that a run takes at this party, which no run of it
/// ever takes again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenNumbers {
    /// `OTs`, which crosses they are, or the function's and the component's name.
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
