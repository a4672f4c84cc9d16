//! The tries that a peer started and did not finish: this party's record of them, and the security
//! at which the next try is planned.

use tacit_function::Role;
use tacit_net::Fingerprint;
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::io::Io;
use tacit_protocol::message::AbortReason;
use tacit_protocol::{Misbehaviour, authenticated, batch};
use tacit_stock::{OfProcess, PeerId, Tried, TryKey, TryRecord};

use crate::advice::advice;
use crate::stock::Stocks;
use crate::stock::messages::{self, CHARGED_SECURITY};
use crate::{Error, Session};

/// The most bits of statistical security of any plan.
const MAX_CHARGED_BITS: u8 = batch::plan::MAX_SECURITY_BITS;

/// The name of a record of tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryName {
    /// This party.
    pub own: Fingerprint,
    /// The other party.
    pub peer: Fingerprint,
    /// This party's role in the tries.
    pub role: Role,
    /// The kind of tries.
    pub tried: Tried,
}

impl TryName {
    fn key(&self) -> TryKey {
        TryKey {
            own: PeerId(self.own.0),
            peer: PeerId(self.peer.0),
            role: self.role,
            tried: self.tried,
        }
    }

    fn of(key: &TryKey) -> Self {
        Self {
            own: Fingerprint(key.own.0),
            peer: Fingerprint(key.peer.0),
            role: key.role,
            tried: key.tried,
        }
    }

    /// Returns the name of the record of tries in `session`.
    pub(crate) fn in_session(session: &Session, role: Role, tried: Tried) -> Result<Self, Error> {
        let parties = session.own().zip(session.peer());
        let (own, peer) = parties.ok_or(Error::ApiMisuse(
            "tries are counted between parties that know each other",
        ))?;
        Ok(Self {
            own,
            peer,
            role,
            tried,
        })
    }
}

/// Returns the number of bits by which s is raised for a try, given the number of unfinished tries.
pub fn charge_bits(tried: Tried, unfinished: u64) -> u8 {
    match tried {
        Tried::Batches => batch::plan::charge_bits(unfinished),
        Tried::Authenticated => authenticated::charge_bits(unfinished),
    }
}

/// Returns the s at which a try is planned that was ordered at `bits`.
pub(crate) fn charged(bits: u8, tried: Tried, unfinished: u64) -> Result<u8, Error> {
    let charged = bits.saturating_add(charge_bits(tried, unfinished));
    if charged <= MAX_CHARGED_BITS.max(bits) {
        return Ok(charged);
    }
    Err(Error::TooManyTries { tried, unfinished })
}

/// The keys about which a party has told a peer on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnsweredKeys {
    /// This party.
    pub own: Fingerprint,
    /// The other party.
    pub peer: Fingerprint,
    /// The day since 1970, by UTC.
    pub day: u64,
    /// The number of keys.
    pub keys: u64,
}

impl Stocks {
    /// Returns every record of tries that is not empty.
    ///
    /// # Errors
    ///
    /// A record cannot be read, or is damaged.
    pub fn tries(&self) -> Result<Vec<(TryName, TryRecord)>, Error> {
        let records = self.stocks.tries()?.into_iter();
        Ok(records
            .map(|(key, record)| (TryName::of(&key), record))
            .collect())
    }

    /// Returns the record of these tries.
    ///
    /// # Errors
    ///
    /// The record cannot be read, or is damaged.
    pub fn try_record(&self, name: &TryName) -> Result<TryRecord, Error> {
        self.note_of_tries(name, |_| ())
    }

    /// Clears the record and returns it. The operator must know why tries with this peer did not
    /// end, and that the peer was not trying to cheat.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or is damaged.
    pub fn clear_tries(&self, name: &TryName) -> Result<TryRecord, Error> {
        let mut before = TryRecord::default();
        self.note_of_tries(name, |record| before = record.clear())?;
        Ok(before)
    }

    /// Counts `keys` more keys as answered by `own` to `peer` on `day` since 1970, durably, unless
    /// the day would then have more than `most`. Returns whether it did. Call it before the peer
    /// can learn anything about them.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or is damaged.
    pub fn answer_keys(
        &self,
        [own, peer]: [Fingerprint; 2],
        day: u64,
        keys: u64,
        most: u64,
    ) -> Result<bool, Error> {
        let parties = [PeerId(own.0), PeerId(peer.0)];
        Ok(self.stocks.answer_keys(parties, day, (keys, most))?)
    }

    /// Removes the counts of answered keys of days before this one since 1970.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or is damaged.
    pub fn forget_answered(&self, before_day: u64) -> Result<(), Error> {
        Ok(self.stocks.forget_answered(before_day)?)
    }

    /// Returns the number of keys that `own` has answered `peer` on `day` since 1970.
    ///
    /// # Errors
    ///
    /// The record cannot be read, or is damaged.
    pub fn answered_keys(&self, [own, peer]: [Fingerprint; 2], day: u64) -> Result<u64, Error> {
        let parties = [PeerId(own.0), PeerId(peer.0)];
        Ok(self.stocks.answered_keys(parties, day)?)
    }

    /// Returns the last count of answered keys of each peer.
    ///
    /// # Errors
    ///
    /// A record cannot be read, or is damaged.
    pub fn all_answered(&self) -> Result<Vec<AnsweredKeys>, Error> {
        let all = self.stocks.all_answered()?.into_iter();
        let all = all.map(|record| AnsweredKeys {
            own: Fingerprint(record.own.0),
            peer: Fingerprint(record.peer.0),
            day: record.day,
            keys: record.keys,
        });
        Ok(all.collect())
    }

    /// Raises the count of answered keys to that of a backup. It does not fall.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or is damaged.
    pub fn raise_answered(&self, saved: &AnsweredKeys) -> Result<(), Error> {
        let (own, peer) = (PeerId(saved.own.0), PeerId(saved.peer.0));
        let AnsweredKeys { day, keys, .. } = *saved;
        Ok(self.stocks.raise_answered(&tacit_stock::AnsweredKeys {
            own,
            peer,
            day,
            keys,
        })?)
    }

    /// Raises the counts of a record to those of a backup. None of them falls.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or is damaged.
    pub fn raise_tries(&self, name: &TryName, saved: TryRecord) -> Result<TryRecord, Error> {
        self.note_of_tries(name, |record| {
            record.unfinished = record.unfinished.max(saved.unfinished);
            record.cheats = record.cheats.max(saved.cheats);
            record.clearings = record.clearings.max(saved.clearings);
        })
    }

    /// Changes a record durably, and returns it.
    pub(crate) fn note_of_tries(
        &self,
        name: &TryName,
        change: impl FnMut(&mut TryRecord),
    ) -> Result<TryRecord, Error> {
        Ok(self.stocks.change_tries(name.key(), change)?)
    }
}

/// A try that is recorded on disk before it starts, so that tries planned meanwhile are charged
/// for it. Dropping it after it has started keeps the record. Dropping it before removes the
/// record: the peer has learnt nothing.
#[must_use]
pub(crate) struct CountedTry {
    /// A forked process takes nothing off the count. Only the process that counted the try does.
    process: OfProcess<()>,
    stocks: Stocks,
    name: TryName,
    /// The number of unfinished tries when this one was planned.
    pub(crate) before: u64,
    /// The number of times that the record had been cleared by then.
    clearings: u64,
    /// Whether the try stays counted when it is dropped.
    stays: bool,
}

impl CountedTry {
    /// Counts a try, durably. This must come before anything that tells the peer about a secret.
    pub(crate) fn plan(stocks: &Stocks, name: TryName) -> Result<Self, Error> {
        let record = stocks.note_of_tries(&name, |record| {
            record.unfinished = record.unfinished.saturating_add(1);
        })?;
        Ok(Self {
            process: OfProcess::default(),
            stocks: stocks.clone(),
            name,
            before: record.unfinished.saturating_sub(1),
            clearings: record.clearings,
            stays: false,
        })
    }

    /// Starts the try. From now on it stays counted until it has ended well.
    pub(crate) fn begin(&mut self) {
        self.stays = true;
    }

    /// Takes the try, which has ended well, off the count, unless the record was cleared meanwhile.
    ///
    /// After an error, the try stays counted.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        self.stays = true;
        self.take_off()
    }

    fn take_off(&self) -> Result<(), Error> {
        if self.process.get().is_none() {
            return Ok(());
        }
        let noted = self.stocks.note_of_tries(&self.name, |record| {
            if record.clearings == self.clearings {
                record.unfinished = record.unfinished.saturating_sub(1);
            }
        });
        noted.map(drop)
    }

    /// Records that the peer was caught, or caught this party, if `error` proves that.
    pub(crate) fn note_cheat(&self, error: &Error) -> Result<(), Error> {
        if proves_cheat(error) {
            return note_cheat(&self.stocks, &self.name);
        }
        Ok(())
    }
}

impl Drop for CountedTry {
    fn drop(&mut self) {
        if Stocks::ARE_POSSIBLE && !self.stays {
            // A try that cannot be taken off the count stays there. That raises s and weakens
            // nothing.
            let _ = self.take_off();
        }
    }
}

/// Records a proven cheat.
pub(crate) fn note_cheat(stocks: &Stocks, name: &TryName) -> Result<(), Error> {
    let noted = stocks.note_of_tries(name, |record| {
        record.cheats = record.cheats.saturating_add(1);
    });
    noted.map(drop)
}

/// Whether a run ended because the peer was caught, or says that it has caught this party.
fn proves_cheat(error: &Error) -> bool {
    matches!(
        error,
        Error::Protocol(
            ProtocolError::PeerMisbehaved(Misbehaviour::Cheated(_))
                | ProtocolError::PeerAborted(AbortReason::Misbehaved)
        )
    ) || error.failed_ot_check().is_some()
}

/// Calls `end`, which destroys material that no run may use again, if the run's error proves a
/// cheat. Returns the run's error, or the error of `end`, which `failure` introduces.
pub(crate) fn after_run(
    error: Error,
    failure: &str,
    end: impl FnOnce() -> Result<(), Error>,
) -> Error {
    match proves_cheat(&error).then(end) {
        None | Some(Ok(())) => error,
        Some(Err(failed)) => Error::material(
            format!("{error}; and {failure}: {failed}"),
            advice!("give it up by hand with "(DropStock)),
        ),
    }
}

/// Tells the peer the s at which this party plans a try that both parties ordered at less.
pub(crate) fn tell(io: &mut Io<'_>, charged: u8) -> Result<(), ProtocolError> {
    messages::send(io, CHARGED_SECURITY, &[charged])
}

/// Receives the s at which the peer plans a try that both parties ordered at `bits`.
pub(crate) async fn hear(io: &mut Io<'_>, bits: u8) -> Result<u8, ProtocolError> {
    let payload = io.receive(CHARGED_SECURITY).await?;
    match payload {
        [charged] if (bits..=MAX_CHARGED_BITS.max(bits)).contains(charged) => Ok(*charged),
        _ => Err(Misbehaviour::invalid(CHARGED_SECURITY.kind, "s").into()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tacit_stock::Memory;

    use super::*;

    #[test]
    fn a_backup_lowers_no_count() {
        let stocks = Stocks::over(Arc::new(Memory::new()), Path::new("stocks"), 1 << 20);
        let stocks = stocks.expect("room");
        let name = TryName {
            own: Fingerprint([1; 32]),
            peer: Fingerprint([2; 32]),
            role: Role::Garbler,
            tried: Tried::Authenticated,
        };
        let record = |unfinished, cheats, clearings| TryRecord {
            unfinished,
            cheats,
            clearings,
        };
        for (saved, kept) in [
            (record(3, 0, 1), record(3, 0, 1)),
            (record(2, 1, 0), record(3, 1, 1)),
            (record(9, 0, 9), record(9, 1, 9)),
        ] {
            assert_eq!(stocks.raise_tries(&name, saved).expect("a record"), kept);
        }
        assert_eq!(stocks.try_record(&name).expect("a record"), record(9, 1, 9));
    }

    /// A worker that drops objects that it inherited by a fork must not take tries off the count
    /// that the parent has started.
    #[test]
    fn a_forked_process_takes_no_try_off() {
        let disk = Arc::new(Memory::new());
        let stocks = Stocks::over(disk, Path::new("s"), 1 << 20).expect("room");
        let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
        let name = TryName {
            own,
            peer,
            role: Role::Garbler,
            tried: Tried::Authenticated,
        };
        let counted = || CountedTry::plan(&stocks, name).expect("room");
        let unfinished = || stocks.try_record(&name).expect("a record").unfinished;
        let (ours, mut theirs, mut planned) = (counted(), counted(), counted());
        theirs.process.set_as_if_forked();
        theirs.finish().expect("nothing to do");
        planned.process.set_as_if_forked();
        drop(planned);
        assert_eq!(unfinished(), 3);
        ours.finish().expect("room");
        assert_eq!(unfinished(), 2);
    }
}
