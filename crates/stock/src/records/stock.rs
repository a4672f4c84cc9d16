//! The record of a stock's identity, and of its current epoch.

use super::Records;
use crate::codec::{Fields, Malformed};
use crate::error::Repair;
use crate::names::role_of_byte;
use crate::{EpochId, LaneIds, PeerId, StockError, StockId};

const STOCK_KEY: &[u8] = b"h";
const EPOCH_KEY: &[u8] = b"e";

/// The identity of the stock, which is written once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StockRecord {
    pub(crate) version: u32,
    /// The record has no lanes where neither party has one.
    pub(crate) id: StockId,
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
    fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Fields::all(bytes, |fields| {
            let version = fields.u32()?;
            let id = StockId {
                own: PeerId(fields.array()?),
                peer: PeerId(fields.array()?),
                role: role_of_byte(fields.u8()?).ok_or(Malformed::Value("role"))?,
                scheme: fields.array()?,
                lanes: if fields.is_empty() {
                    LaneIds::default()
                } else {
                    fields.lanes()?
                },
            };
            Ok(Self { version, id })
        })
    }

    fn to_bytes(self) -> Vec<u8> {
        let StockId {
            own,
            peer,
            role,
            scheme,
            lanes,
        } = self.id;
        let version = self.version.to_le_bytes();
        let lanes = lanes.to_bytes();
        [
            &version[..],
            &own.0,
            &peer.0,
            &[role as u8],
            &scheme,
            &lanes,
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
