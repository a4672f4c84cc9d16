//! The marks that two parties exchange when they meet, and what each party does with them.
//!
//! *Lots.* Each party publishes a lot only when it knows that the peer has it durably. It publishes
//! lots of a kind in a fixed order. So both have published prefixes of one sequence, and a lot that
//! either party has published is at least pending at the other. A comparison of hashes shows this:
//! the hash over the shorter party's lots, extended by its pending ones, equals that of the longer
//! party.
//!
//! *Marks.* Both parties continue from the maximum, so a number that either has spent is spent.
//!
//! *Meetings.* Both parties count them. A party that once confirmed that it has recorded meeting m,
//! and later says a lower number, was restored from an old copy.

mod meet;

use crate::codec::{Fields, Malformed};
use crate::records::{MAX_KINDS, MAX_PENDING_LOTS};
use crate::{ComponentDigest, EpochId, LaneIds, Span, StockError, cover};

pub use meet::{AgreedKind, Agreement};
pub(crate) use meet::{MAX_AHEAD, withdraw};

/// The most ranges of withdrawn instances in a message, for one kind and for all kinds together.
/// The peer learns about the others when a run names them.
const MAX_WITHDRAWN: usize = 1024;
const MAX_WITHDRAWN_IN_ALL: usize = 8192;
/// The message's version: without lanes, and with them.
const MESSAGE_VERSION: u8 = 1;
const MESSAGE_VERSION_OF_LANES: u8 = 2;

/// A party's record, to be sent to the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks {
    /// The processes that share the stock, as the sender of this message names them.
    pub lanes: LaneIds,
    /// The epoch.
    pub epoch: EpochId,
    /// The latest meeting recorded.
    pub meeting: u64,
    /// The latest meeting that the receiver of this message has confirmed to have recorded.
    pub confirmed: u64,
    /// The record of each kind, sorted by digest.
    pub kinds: Vec<KindMarks>,
}

/// A party's record of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindMarks {
    /// The kind.
    pub kind: ComponentDigest,
    /// The number at or above which no lot was ever started.
    pub reserved: u64,
    /// The number below which every number is spent.
    pub leased: u64,
    /// The number of lots ever published.
    pub published: u64,
    /// The hash over these lots.
    pub chain: [u8; 32],
    /// Lots that are durable here and wait for the receiver's acknowledgement, in order.
    pub pending: Vec<Span>,
    /// Published instances that are damaged here.
    pub withdrawn: Vec<Span>,
}

impl Marks {
    /// The most bytes of a message: 92 bytes for each of [`MAX_KINDS`], and 16 for each pending lot
    /// and each withdrawn range.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Returns the message.
    pub fn to_bytes(&self) -> Vec<u8> {
        let lanes = self.lanes.to_bytes();
        let mut bytes = vec![if lanes.is_empty() {
            MESSAGE_VERSION
        } else {
            MESSAGE_VERSION_OF_LANES
        }];
        bytes.extend(lanes);
        bytes.extend(self.epoch.number.to_le_bytes());
        bytes.extend(self.epoch.nonce);
        bytes.extend(self.meeting.to_le_bytes());
        bytes.extend(self.confirmed.to_le_bytes());
        bytes.extend((self.kinds.len() as u32).to_le_bytes());
        for kind in &self.kinds {
            bytes.extend(kind.kind.0);
            bytes.extend(kind.reserved.to_le_bytes());
            bytes.extend(kind.leased.to_le_bytes());
            bytes.extend(kind.published.to_le_bytes());
            bytes.extend(kind.chain);
            for spans in [&kind.pending, &kind.withdrawn] {
                bytes.extend((spans.len() as u16).to_le_bytes());
                for span in spans {
                    bytes.extend(span.first.to_le_bytes());
                    bytes.extend(span.count.to_le_bytes());
                }
            }
        }
        bytes
    }

    /// Parses the peer's message. The channel bounds its length.
    ///
    /// # Errors
    ///
    /// [`StockError::PeerMisbehaved`].
    pub fn parse(bytes: &[u8]) -> Result<Self, StockError> {
        Self::fields(bytes).map_err(|malformed| StockError::PeerMisbehaved {
            what: "its record of the stock",
            found: malformed.to_string(),
            expected: "a record of version 1 or 2 within its bounds".to_owned(),
        })
    }

    fn fields(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields::of(bytes);
        let lanes = match fields.u8()? {
            MESSAGE_VERSION => LaneIds::default(),
            MESSAGE_VERSION_OF_LANES => {
                let lanes = fields.lanes()?;
                if lanes == LaneIds::default() {
                    return Err(Malformed::Value("lanes"));
                }
                lanes
            }
            _ => return Err(Malformed::Value("version")),
        };
        let epoch = EpochId {
            number: fields.u64()?,
            nonce: fields.array()?,
        };
        let (meeting, confirmed) = (fields.u64()?, fields.u64()?);
        let count = fields.u32()? as usize;
        if count > MAX_KINDS {
            return Err(Malformed::Value("number of kinds"));
        }
        let mut kinds: Vec<KindMarks> = Vec::new();
        for _ in 0..count {
            let kind = KindMarks::fields(&mut fields)?;
            if kinds.last().is_some_and(|last| last.kind >= kind.kind) {
                return Err(Malformed::Value("order of kinds"));
            }
            kinds.push(kind);
        }
        fields.end()?;
        Ok(Self {
            lanes,
            epoch,
            meeting,
            confirmed,
            kinds,
        })
    }
}

impl KindMarks {
    fn none(kind: ComponentDigest) -> Self {
        Self {
            kind,
            reserved: 0,
            leased: 0,
            published: 0,
            chain: [0; 32],
            pending: Vec::new(),
            withdrawn: Vec::new(),
        }
    }

    fn fields(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let marks = Self {
            kind: ComponentDigest(fields.array()?),
            reserved: fields.u64()?,
            leased: fields.u64()?,
            published: fields.u64()?,
            chain: fields.array()?,
            pending: spans(fields, MAX_PENDING_LOTS)?,
            withdrawn: spans(fields, MAX_WITHDRAWN)?,
        };
        let ends = marks.pending.iter().chain(&marks.withdrawn).map(Span::end);
        if marks.reserved > cover::NUMBERS
            || marks.leased > marks.reserved
            || ends.max() > Some(marks.reserved)
        {
            return Err(Malformed::Value("number of an instance"));
        }
        Ok(marks)
    }
}

/// Reads spans that are in order and do not overlap.
fn spans(fields: &mut Fields<'_>, limit: usize) -> Result<Vec<Span>, Malformed> {
    let count = usize::from(fields.u16()?);
    if count > limit {
        return Err(Malformed::Value("number of lots"));
    }
    let mut spans = Vec::new();
    let mut next = 0;
    for _ in 0..count {
        let span = fields.span()?;
        if span.first < next || span.count == 0 {
            return Err(Malformed::Value("order of lots"));
        }
        next = span
            .first
            .checked_add(span.count)
            .ok_or(Malformed::Value("lot"))?;
        spans.push(span);
    }
    Ok(spans)
}
