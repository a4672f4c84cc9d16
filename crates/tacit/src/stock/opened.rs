//! A stock in a session: whose it is, its epoch, and how the two parties' records meet.

use std::thread;
use std::time::{Duration, Instant};

use rand_core::UnwrapErr;
use tacit_circuit::Component;
use tacit_function::Role;
use tacit_garble::{Scheme, SchemeId};
use tacit_kernels::Block;
use tacit_ot::Delta;
use tacit_protocol::message::Kind;
use tacit_protocol::prepared::{InstanceSeed, InstanceTables};
use tacit_stock::{
    AgreedKind, Agreement, ComponentDigest, EpochId, LeasePool, LotWriter, Marks, Meeting,
    Preparation, Shape, Span, Stock, StockError, StockId,
};
use zeroize::Zeroizing;

use super::fill::Ots;
use super::usage::Uncounted;
use super::{OT_BLOCK, StockName, Stocks};
use crate::driver::{flush, receive, send};
use crate::{Error, Session};

/// Most bytes of a record of marks. A channel holds as much before anything is known of it.
const MAX_MARKS_BYTES: usize = Marks::MAX_BYTES;

/// Bytes of an epoch's name on the wire.
const EPOCH_BYTES: usize = 24;

/// How long a session pauses before it tries again for what another has.
pub(super) const RIGHT_PAUSE: Duration = Duration::from_millis(2);

/// No honest party comes to this many epochs.
const MAX_EPOCH: u64 = 1 << 48;

/// A stock that both parties have open, in the same epoch.
pub(crate) struct OpenedStock {
    pub(crate) stock: Stock,
    pub(crate) role: Role,
    pub(crate) scheme: SchemeId,
    pub(crate) stocks: Stocks,
    /// What both have, as of the last meeting.
    pub(crate) agreement: Agreement,
    /// What both have leased for this session and no run has taken: the same numbers at both.
    pub(super) held: LeasePool,
    /// What runs have taken of it.
    pub(super) taken: Uncounted,
    /// What makes the OTs of lots, once the session has made some.
    pub(super) ots: Option<Ots>,
}

/// What an instance of a kind is on one side.
pub(crate) fn ot_shape(role: Role) -> Shape {
    let choices = match role {
        Role::Garbler => 0,
        Role::Evaluator => OT_BLOCK as usize / 8,
    };
    Shape {
        secret_bytes: (OT_BLOCK as usize * Block::BYTES + choices) as u32,
        table_bytes: 0,
    }
}

/// What an instance of a component is on one side.
///
/// # Errors
///
/// The component's tables are too large for a stock.
pub(crate) fn component_shape<S: Scheme>(
    scheme: S,
    role: Role,
    component: &Component,
) -> Result<Shape, Error> {
    Ok(match role {
        Role::Garbler => Shape {
            secret_bytes: InstanceSeed::BYTES as u32,
            table_bytes: 0,
        },
        Role::Evaluator => {
            let size = InstanceTables::size(scheme, component.program());
            let too_large = || {
                Error::Material(format!(
                    "an instance of {} takes {size} bytes, and a stock keeps at most {} of one; \
                     run the function by the protocol direct",
                    component.name(),
                    u32::MAX
                ))
            };
            Shape {
                secret_bytes: 0,
                table_bytes: u32::try_from(size).map_err(|_| too_large())?,
            }
        }
    })
}

impl OpenedStock {
    /// The name of the session's stock.
    fn id(session: &Session, role: Role, scheme: SchemeId) -> Result<StockId, Error> {
        let (Some(own), Some(peer)) = (session.own(), session.peer()) else {
            return Err(Error::ApiMisuse(
                "prepared material is used between authenticated parties only",
            ));
        };
        Ok(StockName {
            own,
            peer,
            role,
            scheme,
        }
        .id())
    }

    /// Ends this party's chains with the session's peer, whose values are under a Δ of the stock.
    pub(super) fn end_chains(&self, session: &Session) -> Result<(), Error> {
        let (Some(own), Some(peer)) = (session.own(), session.peer()) else {
            return Ok(());
        };
        let ended = self.stocks.kill_chains_with(own, peer, self.role);
        ended.map(drop)
    }

    /// The session's stock, which the parties let meet the first time. Where neither has one, the
    /// garbler names an epoch and both begin it. The caller gives it back with
    /// [`Session::keep_stock`].
    pub(crate) fn open(
        session: &mut Session,
        stocks: &Stocks,
        role: Role,
        scheme: SchemeId,
    ) -> Result<Self, Error> {
        if let Some(opened) = session.take_stock(role, scheme) {
            return match opened.stocks.folder == stocks.folder {
                true => Ok(opened),
                false => Err(Error::ApiMisuse(
                    "a session uses the stocks of one folder; open a new session for others",
                )),
            };
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

    /// The stock and what both have of it. Where the parties are not in the same epoch and nothing
    /// was ever published in either's, both begin another.
    fn meet(
        session: &mut Session,
        stocks: &Stocks,
        role: Role,
        scheme: SchemeId,
    ) -> Result<(Stock, Agreement), Error> {
        let id = Self::id(session, role, scheme)?;
        let mut own = None;
        let met = begin_meeting(
            session,
            stocks,
            &id,
            role,
            |_| Ok(()),
            |()| {
                own = match stocks.stocks.stock(id, stocks.limits) {
                    Ok(stock) => Some(stock),
                    Err(StockError::Missing { .. }) => None,
                    Err(error) => return Err(error.into()),
                };
                Ok(own.as_ref().map(|stock| stock.marks()).transpose()?)
            },
        )?;
        let Met {
            ours: record,
            theirs,
            _meeting,
            ..
        } = met;
        let stock = match (own, theirs) {
            (Some(stock), Some(theirs)) if stock.epoch() == theirs.epoch => {
                let agreement = stock.reconcile(&theirs)?;
                confirm(session, &stock, &agreement)?;
                return Ok((stock, agreement));
            }
            (stock, theirs) => {
                may_begin(record.as_ref(), theirs.as_ref())?;
                let records = record.iter().chain(&theirs);
                let last = records.map(|marks| marks.epoch.number).max();
                let last = last.unwrap_or(0);
                if last >= MAX_EPOCH {
                    return Err(tacit_protocol::Misbehaviour::InvalidField {
                        kind: Kind::StockMarks,
                        field: "epoch",
                    }
                    .into());
                }
                Self::begin(session, stocks, id, stock, (role, last))?
            }
        };
        let theirs = exchange_marks(session, role, &stock.marks()?)?;
        let agreement = stock.reconcile(&theirs.ok_or_else(|| one_sided(true))?)?;
        confirm(session, &stock, &agreement)?;
        Ok((stock, agreement))
    }

    /// Begins an epoch at both parties, after the one with the number `last`.
    fn begin(
        session: &mut Session,
        stocks: &Stocks,
        id: StockId,
        old: Option<Stock>,
        (role, last): (Role, u64),
    ) -> Result<Stock, Error> {
        let (epoch, secret) = match role {
            Role::Garbler => {
                let epoch = EpochId::generate(last)?;
                let mut message = epoch.number.to_le_bytes().to_vec();
                message.extend_from_slice(&epoch.nonce);
                send(session.channel(), Kind::NewEpoch, &message)?;
                let delta = Delta::random(&mut UnwrapErr(getrandom::SysRng));
                let delta = Zeroizing::new(delta.to_block().to_bytes());
                (epoch, Zeroizing::new(delta.to_vec()))
            }
            Role::Evaluator => {
                let payload = receive(session.channel(), Kind::NewEpoch, EPOCH_BYTES)?;
                let (number, nonce) = payload
                    .split_first_chunk()
                    .and_then(|(number, nonce)| Some((number, nonce.first_chunk()?)))
                    .filter(|_| payload.len() == EPOCH_BYTES)
                    .ok_or(tacit_protocol::Misbehaviour::InvalidField {
                        kind: Kind::NewEpoch,
                        field: "length",
                    })?;
                let (number, nonce) = (u64::from_le_bytes(*number), *nonce);
                if Some(number) != last.checked_add(1) {
                    return Err(tacit_protocol::Misbehaviour::InvalidField {
                        kind: Kind::NewEpoch,
                        field: "number",
                    }
                    .into());
                }
                (EpochId { number, nonce }, Zeroizing::default())
            }
        };
        Ok(match old {
            Some(stock) => stock.new_epoch(epoch, &secret)?,
            None => stocks.stocks.create(id, epoch, &secret, stocks.limits)?,
        })
    }

    /// Takes the right to prepare, and lets the records meet again while no other session of this
    /// party prepares: both drop what only one of them has.
    ///
    /// The evaluator has the right before it speaks and the garbler takes it after, so that of two
    /// sessions between the same parties neither has what the other waits for.
    pub(crate) fn meet_to_prepare(&mut self, session: &mut Session) -> Result<Preparation, Error> {
        let id = self.stock.id();
        let take = |session: &mut Session| {
            wait_for(session, || match self.stock.prepare() {
                Ok(right) => Ok(Ok(right)),
                Err(busy @ StockError::Busy { .. }) => Ok(Err(busy)),
                Err(error) => Err(error.into()),
            })
        };
        let record = |right: &Preparation| Ok(Some(right.marks()?));
        let met = begin_meeting(session, &self.stocks, &id, self.role, take, record)?;
        let Met {
            theirs,
            right,
            _meeting,
            ..
        } = met;
        let theirs = theirs.ok_or_else(|| one_sided(true))?;
        self.agreement = right.reconcile(&theirs)?;
        confirm(session, &self.stock, &self.agreement)?;
        Ok(right)
    }

    /// Makes lots durable at both parties and publishes them, while no records of theirs meet: what
    /// one has published the other's record always has. The garbler publishes first, so that the
    /// evaluator can name all that it sees.
    pub(crate) fn publish(&self, session: &mut Session, lots: Vec<LotWriter>) -> Result<(), Error> {
        let id = self.stock.id();
        let finish = || {
            let named = lots.iter().map(|lot| (lot.kind(), lot.span().first));
            let named: Vec<_> = named.collect();
            LotWriter::finish_all(lots).map(|()| named)
        };
        match self.role {
            Role::Evaluator => {
                let _meeting = right_to_meet(session, &self.stocks, &id)?;
                let lots = finish()?;
                send(session.channel(), Kind::LotStored, &[])?;
                receive(session.channel(), Kind::LotStored, 0)?;
                self.stock.publish_all(&lots)?;
            }
            Role::Garbler => {
                let lots = finish()?;
                receive(session.channel(), Kind::LotStored, 0)?;
                let _meeting = right_to_meet(session, &self.stocks, &id)?;
                self.stock.publish_all(&lots)?;
                send(session.channel(), Kind::LotStored, &[])?;
                // Nothing may follow that this party waits for.
                flush(session.channel())?;
            }
        }
        Ok(())
    }

    /// The garbler's Δ of this epoch.
    pub(crate) fn delta(&self) -> Result<Delta, Error> {
        let secret = self.stock.epoch_secret()?;
        let bytes = secret
            .first_chunk()
            .filter(|_| secret.len() == Block::BYTES);
        let delta = bytes.and_then(|bytes| Delta::from_block(Block::from_bytes(*bytes)).ok());
        delta.ok_or_else(|| Error::Material("the stock's record of its epoch has no offset".into()))
    }

    /// The kinds that both have, and how many instances neither has spent, as of the last meeting.
    pub(super) fn agreed_kinds(&self) -> impl Iterator<Item = (ComponentDigest, u64)> {
        let kinds = self.agreement.kinds.iter();
        kinds.map(|agreed| (agreed.kind, agreed.available))
    }

    /// How many instances of a kind both have and neither has spent, as of the last meeting.
    pub(crate) fn agreed(&self, kind: &ComponentDigest) -> u64 {
        let those = self.agreed_kinds().filter(|(agreed, _)| agreed == kind);
        those.map(|(_, available)| available).sum()
    }

    /// Notes a lot that both have published since the last meeting.
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

    /// Where the next lot of a kind begins, as of the last meeting.
    pub(crate) fn next_number(&self, kind: &ComponentDigest) -> u64 {
        let kinds = self.agreement.kinds.iter();
        kinds
            .filter(|agreed| agreed.kind == *kind)
            .map(|agreed| agreed.next_number)
            .sum()
    }
}

/// The beginning of a meeting: each party's record, and the right to meet, which this party gives
/// back at the meeting's end.
struct Met<R> {
    ours: Option<Marks>,
    theirs: Option<Marks>,
    /// What this party took before it.
    right: R,
    _meeting: Meeting,
}

/// Lets the parties' records meet: the evaluator speaks first, so that two long records never wait
/// for each other. `take` gives what this party must have before it meets, and `ours` its record
/// as late as that allows: no other meeting of the same stocks comes between.
fn begin_meeting<R>(
    session: &mut Session,
    stocks: &Stocks,
    id: &StockId,
    role: Role,
    take: impl FnOnce(&mut Session) -> Result<R, Error>,
    ours: impl FnOnce(&R) -> Result<Option<Marks>, Error>,
) -> Result<Met<R>, Error> {
    let heard = match role {
        Role::Evaluator => None,
        Role::Garbler => Some(receive_marks(session)?),
    };
    let right = take(session)?;
    let _meeting = right_to_meet(session, stocks, id)?;
    let ours = ours(&right)?;
    send_marks(session, ours.as_ref())?;
    let theirs = match heard {
        Some(theirs) => theirs,
        None => receive_marks(session)?,
    };
    Ok(Met {
        ours,
        theirs,
        right,
        _meeting,
    })
}

/// Waits while another session of this party meets the same peer: as long as for a message.
fn right_to_meet(session: &mut Session, stocks: &Stocks, id: &StockId) -> Result<Meeting, Error> {
    wait_for(session, || {
        let met = stocks.stocks.try_meet(id)?;
        Ok(met.ok_or_else(|| StockError::Busy {
            file: stocks.stocks.meeting_lock(id),
        }))
    })
}

/// Tries again while another session has what is wanted: as long as for a message.
pub(crate) fn wait_for<R>(
    session: &mut Session,
    mut tried: impl FnMut() -> Result<Result<R, StockError>, Error>,
) -> Result<R, Error> {
    let end = Instant::now() + session.channel().timeout();
    loop {
        session.channel().check()?;
        match tried()? {
            Ok(right) => return Ok(right),
            Err(_) if Instant::now() < end => thread::sleep(RIGHT_PAUSE),
            Err(busy) => return Err(busy.into()),
        }
    }
}

/// Exchanges records once more within a meeting.
fn exchange_marks(session: &mut Session, role: Role, ours: &Marks) -> Result<Option<Marks>, Error> {
    match role {
        Role::Evaluator => {
            send_marks(session, Some(ours))?;
            receive_marks(session)
        }
        Role::Garbler => {
            let theirs = receive_marks(session)?;
            send_marks(session, Some(ours))?;
            Ok(theirs)
        }
    }
}

fn send_marks(session: &mut Session, ours: Option<&Marks>) -> Result<(), Error> {
    let message = ours.map(Marks::to_bytes).unwrap_or_default();
    send(session.channel(), Kind::StockMarks, &message)
}

fn receive_marks(session: &mut Session) -> Result<Option<Marks>, Error> {
    Ok(
        match receive(session.channel(), Kind::StockMarks, MAX_MARKS_BYTES)? {
            [] => None,
            payload => Some(Marks::parse(payload)?),
        },
    )
}

/// Tells the peer that the meeting is recorded, and records that the peer did.
fn confirm(session: &mut Session, stock: &Stock, agreement: &Agreement) -> Result<(), Error> {
    send(session.channel(), Kind::StockMet, &[])?;
    receive(session.channel(), Kind::StockMet, 0)?;
    Ok(stock.confirm(agreement.meeting)?)
}

/// Only epochs in which nothing was ever published may be ended unasked.
fn may_begin(ours: Option<&Marks>, theirs: Option<&Marks>) -> Result<(), Error> {
    let mut kinds = ours
        .into_iter()
        .chain(theirs)
        .flat_map(|marks| &marks.kinds);
    if kinds.all(|kind| kind.published == 0) {
        return Ok(());
    }
    Err(match (ours, theirs) {
        (Some(ours), Some(theirs)) => StockError::UnknownEpoch {
            own: ours.epoch,
            peer: theirs.epoch,
        }
        .into(),
        _ => one_sided(ours.is_some()),
    })
}

fn one_sided(ours: bool) -> Error {
    let (whose, lacks) = match ours {
        true => ("this party has", "the other party has none"),
        false => ("the other party has", "this party has none"),
    };
    Error::Material(format!(
        "{whose} a stock with this peer, role and scheme, and {lacks}: one was removed or is in \
         another folder; use the folder that it was prepared in, or drop both halves with `tacit \
         stock new-epoch --peer PEER`"
    ))
}
