//! A stock in a session: its owner, its epoch, and the meeting of the two parties' records.

use tacit_circuit::Component;
use tacit_function::Role;
use tacit_garble::{Scheme, SchemeId};
use tacit_kernels::Block;
use tacit_ot::Delta;
use tacit_protocol::io::Io;
use tacit_protocol::prepared::{InstanceSeed, InstanceTables};
use tacit_stock::{
    AgreedKind, Agreement, ComponentDigest, InstanceSize, LeasePool, LotWriter, Preparation, Span,
    Stock, StockError, StockId,
};

use super::failure::StockFailure;
use super::fill::Ots;
use super::meeting::{self, OwnLots, OwnMeetings, OwnRecord, Patience};
use super::usage::Uncounted;
use super::{OT_BLOCK, Stocks};
use crate::advice::advice;
use crate::{Error, Session};

/// A stock that both parties have open, in the same epoch.
pub(crate) struct OpenedStock {
    pub(crate) stock: Stock,
    pub(crate) role: Role,
    pub(crate) scheme: SchemeId,
    pub(crate) stocks: Stocks,
    /// The material that both parties have, according to the last meeting.
    pub(crate) agreement: Agreement,
    /// The leases of both parties for this session that no run has taken. They are the same at
    /// both.
    pub(super) held: LeasePool,
    /// The material that runs have taken from the leases.
    pub(super) taken: Uncounted,
    /// The state that makes the OTs of lots, once the session has made some.
    pub(super) ots: Option<Ots>,
}

/// Returns the size of an instance of OTs on one side.
pub(crate) fn ot_size(role: Role) -> InstanceSize {
    let choices = match role {
        Role::Garbler => 0,
        Role::Evaluator => OT_BLOCK as usize / 8,
    };
    InstanceSize {
        secret_bytes: (OT_BLOCK as usize * Block::BYTES + choices) as u32,
        table_bytes: 0,
    }
}

/// Returns the size of an instance of a component on one side.
pub(crate) fn component_size<S: Scheme>(
    scheme: S,
    role: Role,
    component: &Component,
) -> Result<InstanceSize, Error> {
    Ok(match role {
        Role::Garbler => InstanceSize {
            secret_bytes: InstanceSeed::BYTES as u32,
            table_bytes: 0,
        },
        Role::Evaluator => {
            let size = InstanceTables::size(scheme, component.program());
            let too_large = || {
                let (name, most) = (component.name(), u32::MAX);
                Error::material(
                    format!("an instance of {name} takes {size} bytes, of {most} in a stock"),
                    advice!("run the function by the protocol direct"),
                )
            };
            InstanceSize {
                secret_bytes: 0,
                table_bytes: u32::try_from(size).map_err(|_| too_large())?,
            }
        }
    })
}

impl OpenedStock {
    /// Returns the name of the session's stock.
    fn id(session: &Session, role: Role, scheme: SchemeId) -> Result<StockId, Error> {
        let name = session.stock_name(role, scheme);
        let name = name.ok_or(Error::ApiMisuse(
            "prepared material is used between authenticated parties only, and by no worker",
        ))?;
        Ok(name.id())
    }

    /// Ends this party's chains with the session's peer, whose values are under a Δ of the stock.
    pub(super) fn end_chains(&self, session: &Session) -> Result<(), Error> {
        let Some(keepers) = session.keepers() else {
            return Ok(());
        };
        let ended = self.stocks.kill_chains_with(keepers, self.role);
        ended.map(drop)
    }

    /// Opens the session's stock. The first time, the parties' records meet. If neither party has a
    /// stock, the garbler names an epoch and both begin it. The caller gives the stock back with
    /// [`Session::keep_stock`].
    pub(crate) fn open(
        session: &mut Session,
        stocks: &Stocks,
        role: Role,
        scheme: SchemeId,
    ) -> Result<Self, Error> {
        if let Some(opened) = session.take_stock(role, scheme) {
            return if opened.stocks.folder == stocks.folder {
                Ok(opened)
            } else {
                Err(Error::ApiMisuse(
                    "a session uses the stocks of one folder; open a new session for others",
                ))
            };
        }
        if stocks.lane() != session.lanes().own {
            return Err(Error::ApiMisuse(
                "the stocks are of another lane than the one that the session's settings name",
            ));
        }
        let (stock, agreement) = Self::meet(session, stocks, role, scheme)?;
        Ok(Self {
            taken: Uncounted::new(stocks, stock.id()),
            stock,
            role,
            scheme,
            stocks: stocks.clone(),
            agreement,
            held: LeasePool::new(),
            ots: None,
        })
    }

    /// Runs a meeting, and returns the stock and what both parties have of it.
    fn meet(
        session: &mut Session,
        stocks: &Stocks,
        role: Role,
        scheme: SchemeId,
    ) -> Result<(Stock, Agreement), Error> {
        let failure = StockFailure::default();
        let mut own = OwnRecord {
            meetings: meetings(session, stocks, Self::id(session, role, scheme)?, &failure),
            stock: None,
            prepares: false,
            right: None,
            waiting: None,
        };
        let met = session.exchange(async |io| meeting::meet(io, role, &mut own).await);
        let stock = own.stock.take();
        let agreement = failure.or(met)?;
        let none = Error::ApiMisuse("a stock is open once the parties have met");
        Ok((stock.ok_or(none)?, agreement))
    }

    /// Takes the right to prepare, and lets the records meet again while no other session of this
    /// party prepares. Both parties drop lots that only one of them has.
    ///
    /// The evaluator takes the right before it sends anything, and the garbler takes it afterwards.
    /// So two sessions between the same parties cannot each hold a right for which the other waits.
    pub(crate) fn meet_to_prepare(&mut self, session: &mut Session) -> Result<Preparation, Error> {
        let (failure, role) = (StockFailure::default(), self.role);
        let mut own = OwnRecord {
            meetings: meetings(session, &self.stocks, self.stock.id(), &failure),
            stock: Some(self.stock.clone()),
            prepares: true,
            right: None,
            waiting: None,
        };
        let met = session.exchange(async |io| meeting::meet_again(io, role, &mut own).await);
        let right = own.right.take();
        self.agreement = failure.or(met)?;
        right.ok_or(Error::ApiMisuse("a party meets with the right to prepare"))
    }

    /// Makes lots durable at both parties and publishes them.
    pub(crate) fn publish(
        &self,
        session: &mut Session,
        written: Vec<LotWriter>,
    ) -> Result<(), Error> {
        let failure = StockFailure::default();
        let mut own = OwnLots {
            meetings: meetings(session, &self.stocks, self.stock.id(), &failure),
            stock: &self.stock,
            written,
            durable: Vec::new(),
        };
        // Flush what was sent: this party may wait for nothing after it.
        let script = async |io: &mut Io<'_>| meeting::publish(io, self.role, &mut own).await;
        failure.or(session.script(script))
    }

    /// Returns the garbler's Δ of this epoch.
    pub(crate) fn delta(&self) -> Result<Delta, Error> {
        let secret = self.stock.epoch_secret()?;
        let bytes = secret
            .first_chunk()
            .filter(|_| secret.len() == Block::BYTES);
        let delta = bytes.and_then(|bytes| Delta::from_block(Block::from_bytes(*bytes)).ok());
        delta.ok_or_else(|| Error::damaged("the stock's record of its epoch has no offset"))
    }

    /// Iterates over the kinds that both parties have, with the number of instances that neither
    /// has spent, according to the last meeting.
    pub(super) fn agreed_kinds(&self) -> impl Iterator<Item = (ComponentDigest, u64)> {
        let kinds = self.agreement.kinds.iter();
        kinds.map(|agreed| (agreed.kind, agreed.available))
    }

    /// Returns how many instances of a kind both parties have and neither has spent, according to
    /// the last meeting.
    pub(crate) fn agreed(&self, kind: &ComponentDigest) -> u64 {
        let those = self.agreed_kinds().filter(|(agreed, _)| agreed == kind);
        those.map(|(_, available)| available).sum()
    }

    /// Adds a lot that both parties have published since the last meeting.
    pub(crate) fn note_published(&mut self, kind: &ComponentDigest, lot: Span) {
        let kinds = &mut self.agreement.kinds;
        match kinds.iter_mut().find(|agreed| agreed.kind == *kind) {
            Some(agreed) => {
                agreed.available += lot.count;
                agreed.next_number = agreed.next_number.max(lot.end());
            }
            None => kinds.push(AgreedKind {
                kind: *kind,
                mark: lot.first,
                available: lot.count,
                next_number: lot.end(),
            }),
        }
    }

    /// Returns the first number of a kind's next lot, according to the last meeting.
    pub(crate) fn next_number(&self, kind: &ComponentDigest) -> u64 {
        let kinds = self.agreement.kinds.iter();
        kinds
            .filter(|agreed| agreed.kind == *kind)
            .map(|agreed| agreed.next_number)
            .sum()
    }
}

/// Returns the meetings of a session's stock.
fn meetings<'a>(
    session: &mut Session,
    stocks: &'a Stocks,
    id: StockId,
    failure: &'a StockFailure,
) -> OwnMeetings<'a> {
    OwnMeetings {
        stocks,
        id,
        patience: Patience::new(session.channel().timeout()),
        failure,
    }
}

/// Retries while another session holds the right, up to the time limit for a message.
pub(crate) fn wait_for<R>(
    session: &mut Session,
    mut tried: impl FnMut() -> Result<Result<R, StockError>, Error>,
) -> Result<R, Error> {
    let mut patience = Patience::new(session.channel().timeout());
    loop {
        session.channel().check()?;
        match tried()? {
            Ok(right) => return Ok(right),
            Err(busy) => patience.pause(busy)?,
        }
    }
}
