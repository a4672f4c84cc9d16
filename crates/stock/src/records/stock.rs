//! The record of a stock's identity, and of its current epoch.

use super::{FORMAT_VERSION, Records};
use crate::codec::{Fields, Malformed};
use crate::error::Repair;
use crate::{EpochId, LaneId, LaneIds, PeerId, StockError, StockId};

const STOCK_KEY: &[u8] = b"h";
const EPOCH_KEY: &[u8] = b"e";

/// The identity of the stock, which is written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StockRecord {
    pub(crate) version: u32,
    pub(crate) own: PeerId,
    pub(crate) peer: PeerId,
    pub(crate) role: u8,
    pub(crate) scheme: [u8; 4],
    /// Missing in the record where neither party has a lane.
    pub(crate) lanes: LaneIds,
}

/// The current epoch, and its meetings with the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EpochRecord {
    pub(crate) id: EpochId,
    /// The latest meeting of the two parties that is recorded here.
    pub(crate) meeting: u64,
    /// The latest meeting that the peer has confirmed to have recorded.
    pub(crate) peer_confirmed: u64,
    /// The caller's secret of the epoch, sealed under the epoch's key.
    pub(crate) sealed_secret: Vec<u8>,
}

impl StockRecord {
    pub(crate) fn of(id: &StockId) -> Self {
        Self {
            version: FORMAT_VERSION,
            own: id.own,
            peer: id.peer,
            role: id.role as u8,
            scheme: id.scheme,
            lanes: id.lanes,
        }
    }

    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Fields::all(bytes, |fields| {
            Ok(Self {
                version: fields.u32()?,
                own: PeerId(fields.array()?),
                peer: PeerId(fields.array()?),
                role: fields.u8()?,
                scheme: fields.array()?,
                lanes: match fields.is_empty() {
                    true => LaneIds::default(),
                    false => LaneIds {
                        own: LaneId(fields.array()?),
                        peer: LaneId(fields.array()?),
                    },
                },
            })
        })
    }

    fn to_bytes(self) -> Vec<u8> {
        let version = self.version.to_le_bytes();
        [
            &version[..],
            &self.own.0,
            &self.peer.0,
            &[self.role],
            &self.scheme,
            &self.lanes.to_bytes(),
        ]
        .concat()
    }
}

impl EpochRecord {
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Fields::all(bytes, |fields| {
            Ok(Self {
                id: EpochId {
                    number: fields.u64()?,
                    nonce: fields.array()?,
                },
                meeting: fields.u64()?,
                peer_confirmed: fields.u64()?,
                sealed_secret: {
                    let length = fields.u32()? as usize;
                    fields.bytes(length)?.to_vec()
                },
            })
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let length = self.sealed_secret.len() as u32;
        [
            &self.id.number.to_le_bytes()[..],
            &self.id.nonce,
            &self.meeting.to_le_bytes(),
            &self.peer_confirmed.to_le_bytes(),
            &length.to_le_bytes(),
            &self.sealed_secret,
        ]
        .concat()
    }
}

impl Records<'_> {
    pub(crate) fn stock(&self) -> Result<Option<StockRecord>, StockError> {
        self.get(STOCK_KEY, StockRecord::parse)
    }

    pub(crate) fn put_stock(&mut self, record: StockRecord) -> Result<(), StockError> {
        self.put(STOCK_KEY, &record.to_bytes())
    }

    pub(crate) fn epoch(&self) -> Result<EpochRecord, StockError> {
        let record = self.get(EPOCH_KEY, EpochRecord::parse)?;
        record.ok_or_else(|| {
            StockError::corrupted(
                self.file,
                "the epoch",
                "absent",
                "an epoch",
                Repair::BeginAnew,
            )
        })
    }

    /// Whether this epoch has not ended.
    pub(crate) fn is_epoch(&self, id: &EpochId) -> Result<bool, StockError> {
        let record = self.get(EPOCH_KEY, EpochRecord::parse)?;
        Ok(record.is_some_and(|record| record.id == *id))
    }

    pub(crate) fn remove_epoch(&mut self) -> Result<(), StockError> {
        self.remove(EPOCH_KEY)
    }

    pub(crate) fn put_epoch(&mut self, record: &EpochRecord) -> Result<(), StockError> {
        self.put(EPOCH_KEY, &record.to_bytes())
    }
}
