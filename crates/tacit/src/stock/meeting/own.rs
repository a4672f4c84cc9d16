//! A party's disk during meetings and preparations.

use std::thread;
use std::time::{Duration, Instant};

use rand_core::UnwrapErr;
use tacit_function::Role;
use tacit_ot::Delta;
use tacit_protocol::Error;
use tacit_stock::{
    Agreement, ComponentDigest, EpochId, LotWriter, Marks, Meeting, Preparation, Stock, StockError,
    StockId,
};
use zeroize::Zeroizing;

use crate::stock::Stocks;
use crate::stock::failure::StockFailure;

/// The pause after which a session first retries to take a right that another session has.
const RIGHT_PAUSE: Duration = Duration::from_millis(2);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// Gives back the right to prepare. If another session of this party waits for it, pauses for long
/// enough that it can take it.
pub(crate) fn give_way(right: Preparation) -> Result<(), StockError> {
    let is_awaited = right.is_awaited()?;
    drop(right);
    if is_awaited {
        thread::sleep(2 * LONGEST_PAUSE);
    }
    Ok(())
}

/// The wait of a session for a right that another session has.
pub(crate) struct Patience {
    at_most: Duration,
    end: Instant,
    pause: Duration,
}

impl Patience {
    /// Starts a wait of at most this time.
    pub(crate) fn new(at_most: Duration) -> Self {
        Self {
            at_most,
            end: Instant::now() + at_most,
            pause: RIGHT_PAUSE,
        }
    }

    /// Pauses. Later pauses are longer.
    pub(crate) fn pause(&mut self, busy: StockError) -> Result<(), StockError> {
        if Instant::now() >= self.end {
            return Err(busy);
        }
        thread::sleep(self.pause);
        self.pause = LONGEST_PAUSE.min(2 * self.pause);
        Ok(())
    }
}

/// The meetings of a stock. A party holds one at a time.
pub(crate) struct OwnMeetings<'a> {
    pub(crate) stocks: &'a Stocks,
    pub(crate) id: StockId,
    pub(crate) patience: Patience,
    /// Stores the stock's error.
    pub(crate) failure: &'a StockFailure,
}

impl OwnMeetings<'_> {
    /// Takes the right to meet, or returns `None` while another session of this party has it.
    pub(super) fn try_meet(&mut self) -> Result<Option<Meeting>, Error> {
        let stocks = &self.stocks.stocks;
        let right = self.failure.noted(stocks.try_meet(&self.id))?;
        if right.is_none() {
            let file = stocks.meeting_lock(&self.id);
            self.pause(StockError::Busy { file })?;
        }
        Ok(right)
    }

    fn pause(&mut self, busy: StockError) -> Result<(), Error> {
        self.failure.noted(self.patience.pause(busy))
    }
}

/// A party's record of a stock, as a meeting changes it. A change is durable once the call returns.
pub(crate) struct OwnRecord<'a> {
    pub(crate) meetings: OwnMeetings<'a>,
    /// The stock, once it is open.
    pub(crate) stock: Option<Stock>,
    /// Whether the party takes the right to prepare before it meets, and keeps it.
    pub(crate) prepares: bool,
    /// The right to prepare, once it is taken.
    pub(crate) right: Option<Preparation>,
    /// Tells others, while it lives, that this session waits for the right.
    pub(crate) waiting: Option<Box<dyn Send + Sync>>,
}

impl OwnRecord<'_> {
    fn open(&self) -> Result<&Stock, Error> {
        let none = Error::ApiMisuse("a stock is opened before its record is changed");
        self.stock.as_ref().ok_or(none)
    }

    /// Takes the right to meet, and before it the right to prepare if the party wants it. Returns
    /// `None` while another session of this party has it.
    pub(super) fn try_meet(&mut self) -> Result<Option<Meeting>, Error> {
        if self.prepares && self.right.is_none() {
            match self.open()?.prepare() {
                Ok(right) => {
                    self.right = Some(right);
                    self.waiting = None;
                }
                Err(busy @ StockError::Busy { .. }) => {
                    if self.waiting.is_none() {
                        let waiting = self.open()?.wait_to_prepare();
                        self.waiting = self.meetings.failure.noted(waiting)?;
                    }
                    self.meetings.pause(busy)?;
                    return Ok(None);
                }
                Err(error) => return Err(self.meetings.failure.note(error)),
            }
            self.meetings.patience = Patience::new(self.meetings.patience.at_most);
        }
        self.meetings.try_meet()
    }

    /// Returns the record, if there is one.
    pub(super) fn marks(&mut self) -> Result<Option<Marks>, Error> {
        let (stocks, failure) = (self.meetings.stocks, self.meetings.failure);
        if self.stock.is_none() {
            let found = stocks.stocks.find(self.meetings.id, stocks.limits);
            self.stock = failure.noted(found)?;
        }
        if self.stock.is_none() {
            return Ok(None);
        }
        let marks = match &self.right {
            Some(right) => right.marks(),
            None => self.open()?.marks(),
        };
        failure.noted(marks).map(Some)
    }

    /// Reduces the stock to the lots that both parties have.
    pub(super) fn reconcile(&self, theirs: &Marks) -> Result<Agreement, Error> {
        let agreed = match &self.right {
            Some(right) => right.reconcile(theirs),
            None => self.open()?.reconcile(theirs),
        };
        self.meetings.failure.noted(agreed)
    }

    /// Records that the peer has recorded a meeting.
    pub(super) fn confirm(&self, meeting: u64) -> Result<(), Error> {
        self.meetings.failure.noted(self.open()?.confirm(meeting))
    }

    /// Draws the name of an epoch that follows the one with the number `last`.
    pub(super) fn name_epoch(&self, last: u64) -> Result<EpochId, Error> {
        self.meetings.failure.noted(EpochId::generate(last))
    }

    /// Begins an epoch, in place of an earlier one if there is any.
    pub(super) fn begin_epoch(&mut self, epoch: EpochId) -> Result<(), Error> {
        let OwnMeetings {
            stocks,
            id,
            failure,
            ..
        } = self.meetings;
        let secret = match id.role {
            Role::Garbler => {
                let delta = Delta::random(&mut UnwrapErr(getrandom::SysRng));
                let delta = Zeroizing::new(delta.to_block().to_bytes());
                Zeroizing::new(delta.to_vec())
            }
            Role::Evaluator => Zeroizing::default(),
        };
        let begun = match self.stock.take() {
            Some(old) => old.new_epoch(epoch, &secret),
            None => stocks.stocks.create(id, epoch, &secret, stocks.limits),
        };
        self.stock = Some(failure.noted(begun)?);
        Ok(())
    }

    /// Stores the reason why the parties cannot meet, and returns the error that ends the script.
    pub(super) fn refuse(&self, why: crate::Error) -> Error {
        self.meetings.failure.note(why)
    }
}

/// Written lots of a party.
pub(crate) struct OwnLots<'a> {
    pub(crate) meetings: OwnMeetings<'a>,
    pub(crate) stock: &'a Stock,
    pub(crate) written: Vec<LotWriter>,
    /// The kinds and first numbers of the lots that are durable.
    pub(crate) durable: Vec<(ComponentDigest, u64)>,
}

impl OwnLots<'_> {
    /// Makes the lots durable.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let lots = self.written.iter();
        self.durable = lots.map(|lot| (lot.kind(), lot.span().first)).collect();
        let finished = LotWriter::finish_all(std::mem::take(&mut self.written));
        self.meetings.failure.noted(finished)
    }

    /// Publishes the lots, which the peer has made durable, too.
    pub(super) fn publish(&mut self) -> Result<(), Error> {
        let published = self.stock.publish_all(&self.durable);
        self.meetings.failure.noted(published)
    }
}
