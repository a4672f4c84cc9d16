//! The messages of a matching, each stated once.

use crate::io::Message;
use crate::message::Kind;

/// The largest frame of an ask, a hint or tags, in bytes.
pub(super) const FRAME_BYTES: usize = 1 << 20;

/// The largest number of sizes that a party sends.
pub(super) const MAX_SIZES: usize = 16;

/// From both parties: the digest of the matching, the number of sizes, and the sizes.
pub(super) const SIZES: Message = Message::up_to(Kind::MatchSizes, 32 + 1 + 8 * MAX_SIZES);

/// From the placer: columns of its encoding.
pub(super) const fn ask(bytes: usize) -> Message {
    Message::exactly(Kind::MatchAsk, bytes)
}

/// From the programmer: the trees of a batch of silent VOLE.
pub(super) const fn trees(bytes: usize) -> Message {
    Message::exactly(Kind::MatchTrees, bytes)
}

/// From the programmer: columns of its hint.
pub(super) const fn hint(bytes: usize) -> Message {
    Message::exactly(Kind::MatchHint, bytes)
}

/// From the programmer: tags of its keys.
pub(super) const fn tags(bytes: usize) -> Message {
    Message::exactly(Kind::MatchTags, bytes)
}

/// From the placer: a bit for each tag.
pub(super) const fn matches(bytes: usize) -> Message {
    Message::exactly(Kind::Matches, bytes)
}
