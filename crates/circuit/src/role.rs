//! The two parties.

/// One of the two parties, named by its role. Stock files contain its number in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Role {
    /// The party that makes the garbled circuit.
    Garbler = 0,
    /// The party that evaluates the garbled circuit.
    Evaluator = 1,
}

impl Role {
    /// Both parties, in the order of their numbers.
    pub const BOTH: [Self; 2] = [Self::Garbler, Self::Evaluator];

    /// Returns the other party.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Garbler => Self::Evaluator,
            Self::Evaluator => Self::Garbler,
        }
    }

    /// Returns the role's name as used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Garbler => "garbler",
            Self::Evaluator => "evaluator",
        }
    }
}
