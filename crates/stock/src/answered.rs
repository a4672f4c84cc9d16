//! A party's record of the keys that it has answered a peer on a day.
//!
//! Each run that matches a table tells the peer about keys of the peer's choice. So a service
//! bounds their number. They are counted durably before the peer can learn anything, so a crash
//! loses no count: at worst it counts keys that were never answered. The count is per peer,
//! whatever table is matched. When the clock goes back, the later day goes on.
//!
//! The records are [counts](crate::counts) in `answered.index`. A key consists of this party and
//! the peer (32 bytes each). The numbers are the day since 1970 and the keys.

use crate::counts::CountIndex;
use crate::error::Repair;
use crate::{PeerId, StockError, Stocks};

const INDEX: CountIndex<2> = CountIndex {
    file_name: "answered.index",
    domain: b"tacit answered\0",
    note: b"answered\0",
    expected: "a record of answered keys as it was written",
    repair: Repair::RemoveAnswered,
};

/// The keys that a party has answered a peer on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredKeys {
    /// This party.
    pub own: PeerId,
    /// The other party.
    pub peer: PeerId,
    /// The day since 1970.
    pub day: u64,
    /// The number of keys.
    pub keys: u64,
}

/// Returns a record as it is on `day`, or on a later day that it has seen.
fn on(day: u64, [last_day, keys]: [u64; 2]) -> [u64; 2] {
    if day > last_day {
        [day, 0]
    } else {
        [last_day, keys]
    }
}

impl Stocks {
    /// Counts `keys` more keys as answered by `own` to `peer` on `day`, durably, unless the day
    /// would then have more than `most`. Returns whether it did.
    ///
    /// # Errors
    ///
    /// [`StockError::Io`], [`StockError::DiskFull`]; [`StockError::Corrupted`] if the record is
    /// damaged.
    pub fn answer_keys(
        &self,
        [own, peer]: [PeerId; 2],
        day: u64,
        (keys, most): (u64, u64),
    ) -> Result<bool, StockError> {
        let mut is_counted = false;
        INDEX.change(self, &[own.0, peer.0].concat(), |record| {
            let [last_day, before] = on(day, record);
            let keys = before.saturating_add(keys);
            is_counted = keys <= most;
            if is_counted { [last_day, keys] } else { record }
        })?;
        Ok(is_counted)
    }

    /// Removes the records of days before this one. Visitors may be many, and each has a record.
    ///
    /// # Errors
    ///
    /// Those of [`answer_keys`](Self::answer_keys).
    pub fn forget_answered(&self, before_day: u64) -> Result<(), StockError> {
        INDEX.forget(self, |[day, _]| day < before_day)
    }

    /// Raises the count of a record to that of a backup. It does not fall.
    ///
    /// # Errors
    ///
    /// Those of [`answer_keys`](Self::answer_keys).
    pub fn raise_answered(&self, saved: &AnsweredKeys) -> Result<(), StockError> {
        let key = [saved.own.0, saved.peer.0].concat();
        let raised = INDEX.change(self, &key, |record| {
            let [day, keys] = on(saved.day, record);
            let is_less = day == saved.day && keys < saved.keys;
            if is_less { [day, saved.keys] } else { record }
        });
        raised.map(drop)
    }

    /// Returns the last count of each peer.
    ///
    /// # Errors
    ///
    /// Those of [`answer_keys`](Self::answer_keys).
    pub fn all_answered(&self) -> Result<Vec<AnsweredKeys>, StockError> {
        let parties = |key: &[u8]| {
            let (own, peer) = key.split_first_chunk()?;
            Some((PeerId(*own), PeerId(peer.try_into().ok()?)))
        };
        let all = INDEX.all(self, parties)?.into_iter();
        let all = all.map(|((own, peer), [day, keys])| AnsweredKeys {
            own,
            peer,
            day,
            keys,
        });
        Ok(all.collect())
    }

    /// Returns the number of keys that `own` has answered `peer` on `day`.
    ///
    /// # Errors
    ///
    /// Those of [`answer_keys`](Self::answer_keys).
    pub fn answered_keys(&self, [own, peer]: [PeerId; 2], day: u64) -> Result<u64, StockError> {
        let found = INDEX.change(self, &[own.0, peer.0].concat(), |record| record)?;
        let [_, keys] = on(day, found);
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_day_begins_with_no_keys_and_an_earlier_one_goes_on() {
        assert_eq!(on(4, [3, 5]), [4, 0]);
        assert_eq!(on(3, [3, 5]), [3, 5]);
        assert_eq!(on(2, [3, 5]), [3, 5]);
    }

    /// A backup may be of an earlier time than the folder that it is restored into.
    #[test]
    fn a_backup_gives_no_keys_back() {
        let disk = std::sync::Arc::new(crate::Memory::new());
        let root = crate::RootKey::Beside;
        let stocks = Stocks::open(disk, "s".as_ref(), root).expect("room");
        let [own, peer] = [1, 2].map(|party| PeerId([party; 32]));
        let saved = |day, keys| AnsweredKeys {
            own,
            peer,
            day,
            keys,
        };
        let mut counted = Vec::new();
        for (day, keys) in [(3, 50), (3, 20), (2, 90), (3, 60), (4, 10), (3, 70)] {
            stocks.raise_answered(&saved(day, keys)).expect("room");
            counted.extend(stocks.all_answered().expect("readable"));
        }
        let expected = [(3, 50), (3, 50), (3, 50), (3, 60), (4, 10), (4, 10)];
        assert_eq!(counted, expected.map(|(day, keys)| saved(day, keys)));
        assert!(!stocks.answer_keys([own, peer], 4, (1, 10)).expect("room"));
        assert!(stocks.answer_keys([own, peer], 4, (1, 11)).expect("room"));
    }

    #[test]
    fn past_days_leave_neither_records_nor_notes() {
        let disk = std::sync::Arc::new(crate::Memory::new());
        let root = || crate::RootKey::Beside;
        let disk: std::sync::Arc<dyn crate::Storage> = disk;
        let witness = crate::Witness::open(disk.clone(), "w".as_ref()).expect("room");
        let files = || disk.list("w".as_ref()).expect("a folder");
        let stocks = Stocks::open(disk.clone(), "s".as_ref(), root()).expect("room");
        let stocks = stocks.witnessed(witness);
        let parties = |peer| [PeerId([1; 32]), PeerId([peer; 32])];
        let answer = |peer, day| {
            stocks
                .answer_keys(parties(peer), day, (6, 10))
                .expect("room")
        };
        assert!(answer(2, 4) && answer(3, 5));
        let before = files().len();
        stocks.forget_answered(5).expect("room");
        let left = stocks.all_answered().expect("readable");
        assert_eq!(left.len(), 1);
        assert_eq!((left[0].peer, left[0].day), (PeerId([3; 32]), 5));
        assert_eq!(files().len(), before - 1);
        // What is left still counts, and one that was forgotten begins anew.
        assert!(!answer(3, 5));
        assert!(answer(2, 5) && !answer(2, 5));
    }
}
