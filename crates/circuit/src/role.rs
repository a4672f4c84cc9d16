//! The two parties.

/// One of the two parties, by what it does. Files of the stock have its number in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Role {
    /// Makes the garbled circuit.
    Garbler = 0,
    /// Evaluates it.
    Evaluator = 1,
}

impl Role {
    /// The other party.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Garbler => Self::Evaluator,
            Self::Evaluator => Self::Garbler,
        }
    }

    /// The role's name, as the command line has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Garbler => "garbler",
            Self::Evaluator => "evaluator",
        }
    }
}
