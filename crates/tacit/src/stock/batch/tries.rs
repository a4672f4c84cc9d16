//! What this party has recorded of the batches with a peer, and what follows from it: the s at which
//! the next one is planned, and batches that are set aside.

use tacit_circuit::Role;
use tacit_net::Fingerprint;
use tacit_protocol::Misbehaviour;
use tacit_protocol::batch::plan::{MAX_SECURITY_BITS, charge_bits};
use tacit_protocol::message::{AbortReason, Kind};
use tacit_stock::{BatchRecord, ComponentDigest, PeerId, StockId};

use crate::driver::{receive, send};
use crate::stock::{OpenedStock, Stocks};
use crate::{Error, Session};

impl Stocks {
    /// What is recorded of the batches that `own` has prepared with `peer` in `role`.
    ///
    /// # Errors
    ///
    /// The record cannot be read, or is damaged.
    pub fn batch_record(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: Role,
    ) -> Result<BatchRecord, Error> {
        let key = (PeerId(own.0), PeerId(peer.0), stock_role(role));
        Ok(self.stocks.change_batch_record(key, |_| ())?)
    }

    /// Forgets it, and returns what was recorded: the operator knows why batches with this peer did
    /// not end, and that the peer was not trying to cheat.
    ///
    /// # Errors
    ///
    /// The record cannot be written, or is damaged.
    pub fn clear_batch_record(
        &self,
        own: Fingerprint,
        peer: Fingerprint,
        role: Role,
    ) -> Result<BatchRecord, Error> {
        let key = (PeerId(own.0), PeerId(peer.0), stock_role(role));
        let mut before = BatchRecord::default();
        self.stocks
            .change_batch_record(key, |record| before = std::mem::take(record))?;
        Ok(before)
    }

    /// Changes the record of a stock's party, peer and role.
    pub(super) fn note_of_batches(
        &self,
        id: &StockId,
        change: impl FnMut(&mut BatchRecord),
    ) -> Result<BatchRecord, Error> {
        let key = (id.own, id.peer, id.role);
        Ok(self.stocks.change_batch_record(key, change)?)
    }
}

fn stock_role(role: Role) -> tacit_stock::Role {
    match role {
        Role::Garbler => tacit_stock::Role::Garbler,
        Role::Evaluator => tacit_stock::Role::Evaluator,
    }
}

/// The s of a batch that is ordered at `bits`, after tries that were not finished.
///
/// # Errors
///
/// It is more than a batch has: the operator has to look.
pub(super) fn charged(bits: u8, unfinished: u64) -> Result<u8, Error> {
    let charged = bits.saturating_add(charge_bits(unfinished));
    match charged <= MAX_SECURITY_BITS.max(bits) {
        true => Ok(charged),
        false => Err(Error::TooManyTries { unfinished }),
    }
}

/// Agrees on the s at which a batch is planned that both have ordered at `bits`: the evaluator, whom
/// tries threaten, says it.
pub(super) fn agree(session: &mut Session, opened: &OpenedStock, bits: u8) -> Result<u8, Error> {
    match opened.role {
        Role::Evaluator => {
            let record = opened.stocks.note_of_batches(&opened.stock.id(), |_| ())?;
            let charged = charged(bits, record.unfinished)?;
            send(session.channel(), Kind::BatchSecurity, &[charged])?;
            Ok(charged)
        }
        Role::Garbler => {
            let payload = receive(session.channel(), Kind::BatchSecurity, 1)?;
            match payload {
                [charged] if (bits..=MAX_SECURITY_BITS.max(bits)).contains(charged) => Ok(*charged),
                _ => Err(Misbehaviour::InvalidField {
                    kind: Kind::BatchSecurity,
                    field: "s",
                }
                .into()),
            }
        }
    }
}

/// Sets the batch of an execution aside where its run ended because the peer was caught, or says
/// that it has caught this party. Returns the error of the run, or why that could not be recorded.
pub(super) fn after_run(
    opened: &OpenedStock,
    (kind, number): (&ComponentDigest, u64),
    error: Error,
) -> Error {
    let proven = matches!(
        error,
        Error::PeerMisbehaved(Misbehaviour::Cheated(_))
            | Error::PeerAborted(AbortReason::Misbehaved)
    );
    if !proven {
        return error;
    }
    let set_aside = || -> Result<(), Error> {
        if opened.stock.set_aside(kind, number)?.is_some() {
            let id = opened.stock.id();
            opened.stocks.note_of_batches(&id, |record| {
                record.cheats = record.cheats.saturating_add(1)
            })?;
        }
        Ok(())
    };
    match set_aside() {
        Ok(()) => error,
        Err(failed) => Error::Material(format!(
            "{error}; and its batch could not be set aside: {failed}. Give it up by hand with \
             `tacit stock drop`"
        )),
    }
}
