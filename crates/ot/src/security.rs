//! What a protocol withstands.

/// The threat model of an extension, the same on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Security {
    /// Both parties follow the protocol.
    SemiHonest,
    /// Either party may do anything. A cheat is detected but with probability 2^-40 or less, apart
    /// from guesses at secret bits that end the session when they are wrong.
    Malicious,
}
