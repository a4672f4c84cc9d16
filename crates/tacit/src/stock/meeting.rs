//! The meeting of the two parties' records of a stock, and the publishing of a lot at both: scripts
//! over a party's disk.
//!
//! The evaluator sends first, so that two long records never wait for each other. A party takes the
//! right to meet before it reads its record, and gives it back at the end. So no other meeting of
//! the same stocks can come in between.

mod own;

use tacit_function::Role;
use tacit_protocol::io::Io;
use tacit_protocol::message::Kind;
use tacit_protocol::{Error, Misbehaviour};
use tacit_stock::{Agreement, EpochId, Marks, Meeting, StockError};

use super::messages::{self, LOT_STORED, MARKS, MET, NEW_EPOCH};
use crate::advice::advice;

pub(crate) use own::{OwnLots, OwnMeetings, OwnRecord, Patience, give_way};

/// The limit of an epoch's number. No honest party reaches it.
const MAX_EPOCH: u64 = 1 << 48;

/// Runs a meeting of the records. If the parties are not in the same epoch and neither has ever
/// published anything in its own, the garbler names a new epoch and both begin it.
pub(super) async fn meet(
    io: &mut Io<'_>,
    role: Role,
    own: &mut OwnRecord<'_>,
) -> Result<Agreement, Error> {
    let (_right, ours, theirs) = begin(io, role, own).await?;
    let theirs = match (&ours, theirs) {
        (Some(ours), Some(theirs)) if ours.epoch == theirs.epoch => theirs,
        (_, theirs) => {
            may_begin(own, ours.as_ref(), theirs.as_ref())?;
            let records = ours.iter().chain(&theirs);
            let last = records.map(|marks| marks.epoch.number).max().unwrap_or(0);
            begin_epoch(io, role, own, last).await?;
            let theirs = match role {
                Role::Evaluator => {
                    send_marks(io, own.marks()?.as_ref())?;
                    receive_marks(io, own).await?
                }
                Role::Garbler => {
                    let theirs = receive_marks(io, own).await?;
                    send_marks(io, own.marks()?.as_ref())?;
                    theirs
                }
            };
            theirs.ok_or_else(|| own.refuse(one_sided(true)))?
        }
    };
    settle(io, own, &theirs).await
}

/// Runs a meeting of the records of a stock that both parties have.
pub(super) async fn meet_again(
    io: &mut Io<'_>,
    role: Role,
    own: &mut OwnRecord<'_>,
) -> Result<Agreement, Error> {
    let (_right, _, theirs) = begin(io, role, own).await?;
    let theirs = theirs.ok_or_else(|| own.refuse(one_sided(true)))?;
    settle(io, own, &theirs).await
}

/// Publishes lots at both parties while their records do not meet. So a record always contains
/// whatever the other party has published. The garbler publishes first, so that the evaluator can
/// name everything that it sees.
pub(super) async fn publish(
    io: &mut Io<'_>,
    role: Role,
    own: &mut OwnLots<'_>,
) -> Result<(), Error> {
    match role {
        Role::Evaluator => {
            let _right = right_to_meet(io, || own.meetings.try_meet()).await?;
            own.finish()?;
            messages::send(io, LOT_STORED, &[])?;
            io.receive(LOT_STORED).await?;
            own.publish()
        }
        Role::Garbler => {
            own.finish()?;
            io.receive(LOT_STORED).await?;
            let _right = right_to_meet(io, || own.meetings.try_meet()).await?;
            own.publish()?;
            messages::send(io, LOT_STORED, &[])
        }
    }
}

/// Starts a meeting. Returns the right to it, this party's record and the peer's.
async fn begin(
    io: &mut Io<'_>,
    role: Role,
    own: &mut OwnRecord<'_>,
) -> Result<(Meeting, Option<Marks>, Option<Marks>), Error> {
    let heard = match role {
        Role::Evaluator => None,
        Role::Garbler => Some(receive_marks(io, own).await?),
    };
    let right = right_to_meet(io, || own.try_meet()).await?;
    let ours = own.marks()?;
    send_marks(io, ours.as_ref())?;
    let theirs = match heard {
        Some(theirs) => theirs,
        None => receive_marks(io, own).await?,
    };
    Ok((right, ours, theirs))
}

/// Waits until no other session of this party has the right, and takes it.
async fn right_to_meet(
    io: &mut Io<'_>,
    mut try_meet: impl FnMut() -> Result<Option<Meeting>, Error>,
) -> Result<Meeting, Error> {
    loop {
        if let Some(right) = try_meet()? {
            return Ok(right);
        }
        io.breathe().await?;
    }
}

/// Ends a meeting: each party records it, and then records that the other has done so.
async fn settle(
    io: &mut Io<'_>,
    own: &mut OwnRecord<'_>,
    theirs: &Marks,
) -> Result<Agreement, Error> {
    let agreement = own.reconcile(theirs)?;
    messages::send(io, MET, &[])?;
    io.receive(MET).await?;
    own.confirm(agreement.meeting)?;
    Ok(agreement)
}

/// Begins an epoch at both parties, after the one with the number `last`.
async fn begin_epoch(
    io: &mut Io<'_>,
    role: Role,
    own: &mut OwnRecord<'_>,
    last: u64,
) -> Result<(), Error> {
    let invalid = |kind, field| Error::from(Misbehaviour::invalid(kind, field));
    if last >= MAX_EPOCH {
        return Err(invalid(Kind::StockMarks, "epoch"));
    }
    let epoch = match role {
        Role::Garbler => {
            let epoch = own.name_epoch(last)?;
            let name = [&epoch.number.to_le_bytes()[..], &epoch.nonce].concat();
            messages::send(io, NEW_EPOCH, &name)?;
            epoch
        }
        Role::Evaluator => {
            let name = io.receive(NEW_EPOCH).await?;
            let (number, nonce) = name.split_at(size_of::<u64>());
            let invalid = |field| invalid(Kind::NewEpoch, field);
            let number = number.try_into().map_err(|_| invalid("length"))?;
            let nonce = nonce.try_into().map_err(|_| invalid("length"))?;
            let number = u64::from_le_bytes(number);
            if number != last + 1 {
                return Err(invalid("number"));
            }
            EpochId { number, nonce }
        }
    };
    own.begin_epoch(epoch)
}

fn send_marks(io: &mut Io<'_>, ours: Option<&Marks>) -> Result<(), Error> {
    messages::send(io, MARKS, &ours.map(Marks::to_bytes).unwrap_or_default())
}

async fn receive_marks(io: &mut Io<'_>, own: &OwnRecord<'_>) -> Result<Option<Marks>, Error> {
    let payload = io.receive(MARKS).await?;
    let marks = (!payload.is_empty()).then(|| Marks::parse(payload));
    marks.transpose().map_err(|error| own.refuse(error.into()))
}

/// Checks that nothing was ever published in the epochs: only such epochs may end without asking.
fn may_begin(
    own: &OwnRecord<'_>,
    ours: Option<&Marks>,
    theirs: Option<&Marks>,
) -> Result<(), Error> {
    let records = ours.into_iter().chain(theirs);
    let mut kinds = records.flat_map(|marks| &marks.kinds);
    if kinds.all(|kind| kind.published == 0) {
        return Ok(());
    }
    Err(own.refuse(match (ours, theirs) {
        (Some(ours), Some(theirs)) => StockError::UnknownEpoch {
            own: ours.epoch,
            peer: theirs.epoch,
        }
        .into(),
        _ => one_sided(ours.is_some()),
    }))
}

fn one_sided(ours: bool) -> crate::Error {
    let (has, lacks, advice) = if ours {
        let advice = advice!("have the other party use the folder that it was prepared in or, if "
            "that is lost, drop this party's half with "(NewEpoch));
        ("this party", "the other party", advice)
    } else {
        // There is nothing here that could be dropped.
        let advice = advice!("use the folder that it was prepared in or, if that is lost, have the "
            "other party drop its half, by a new epoch with this party");
        ("the other party", "this party", advice)
    };
    crate::Error::material(
        format!(
            "{has} has a stock with this peer, role and scheme, and {lacks} has none: one was \
             removed or is in another folder"
        ),
        advice,
    )
}
