//! A run: refills and layers in turn, followed by the results.

use core::num::NonZeroUsize;

use tacit_circuit::Role;
use tacit_function::schedule::StepWork;
use tacit_function::{Function, Schedule};
use tacit_kernels::{Prg, wiping_stack};
use zeroize::Zeroizing;

use super::crosses::MadeMasks;
use super::directions::Directions;
use super::messages::{self, LAYER_FRAME_BYTES, LAYER_HEADER_BYTES};
use super::rows::{CrossMasks, OpenedBits, Rows};
use super::stocked::{OpenedCrosses, StockedCrosses};
use crate::bits::{check_bits, unpack};
use crate::direct::check_without_values;
use crate::io::{Io, boxed};
use crate::message::Kind;
use crate::party::Progress;
use crate::shares::InputShares;
use crate::{Error, Misbehaviour};

/// The number of frames of a step that a party sends before it waits for the peer's first frame.
/// From then on it stays ahead of its reading by this number. With their headers the frames take
/// less than 8 MiB, which a wire must be able to buffer.
pub const FRAMES_AHEAD: usize = 7;

/// A run on which both parties have agreed.
#[derive(Clone, Copy)]
pub struct Run<'f> {
    /// The function, without saved values.
    pub function: &'f Function,
    /// The function's schedule.
    pub schedule: &'f Schedule,
}

/// The source of a run's masks.
trait MaskSource {
    type Masks: CrossMasks;

    /// Returns the masks.
    fn masks(&self) -> &Self::Masks;

    /// Ensures that the masks of a step are available.
    async fn before(&mut self, io: &mut Io<'_>, step: &StepWork) -> Result<(), Error>;

    /// Called when the step is done.
    fn after(&mut self, step: &StepWork);
}

/// Masks of OTs that are made during the run.
struct Making<'r, 's> {
    schedule: &'s Schedule,
    directions: &'r mut Directions,
    /// The numbers of the run's first OTs, by their sender.
    first: [u64; 2],
    /// Boxed, so that it is never moved.
    rng: Box<Prg>,
    masks: MadeMasks<'s>,
}

impl<'s> MaskSource for Making<'_, 's> {
    type Masks = MadeMasks<'s>;

    fn masks(&self) -> &Self::Masks {
        &self.masks
    }

    async fn before(&mut self, io: &mut Io<'_>, step: &StepWork) -> Result<(), Error> {
        let made = self.directions.made();
        let made_for_run =
            Role::BOTH.map(|sender| made[sender as usize] - self.first[sender as usize]);
        let refill = self.schedule.refill(step, made_for_run);
        let totals = Role::BOTH.map(|sender| made[sender as usize] + refill[sender as usize]);
        let (directions, masks) = (&mut *self.directions, &mut self.masks);
        if refill == [0, 0] {
            // The OTs left by an earlier run may be enough.
            return directions.hash_into(masks);
        }
        boxed(|| directions.refill(io, totals, &mut self.rng, masks)).await
    }

    fn after(&mut self, step: &StepWork) {
        self.masks.end_step(step);
    }
}

impl MaskSource for StockedCrosses<'_> {
    type Masks = OpenedCrosses;

    fn masks(&self) -> &OpenedCrosses {
        self.masks()
    }

    async fn before(&mut self, _io: &mut Io<'_>, step: &StepWork) -> Result<(), Error> {
        self.begin_step(step)
    }

    fn after(&mut self, step: &StepWork) {
        self.end_step(step);
    }
}

impl Run<'_> {
    /// Runs a party's side with OTs from `directions`, and returns its output bits, in port order.
    /// `shares` are the party's input bits in port order; of shared and public inputs of the
    /// schedule they are its shares. `seed` is random, secret and used for this run alone.
    ///
    /// # Errors
    ///
    /// The number of `shares` is not what the schedule takes from the party, the function has saved
    /// values, the peer misbehaves, or the wire fails. `directions` must not be used afterwards.
    pub async fn run(
        self,
        io: &mut Io<'_>,
        shares: impl Into<InputShares<'_>>,
        directions: &mut Directions,
        seed: &Zeroizing<[u8; 32]>,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let (role, threads) = (directions.role(), directions.threads());
        let making = Making {
            schedule: self.schedule,
            first: directions.next_numbers(),
            directions: &mut *directions,
            // A future that begins later is moved with what the stack still holds.
            rng: wiping_stack(|| Box::new(Prg::from_seed(seed))),
            masks: MadeMasks::new(self.schedule, role),
        };
        let shares = shares.into();
        let results = boxed(|| self.run_by(io, (role, threads), shares, making)).await;
        directions.forget_hashes();
        results
    }

    /// Runs a party's side as [`run`](Self::run) does, with masks from stock, which are then spent,
    /// on `threads` threads.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub async fn run_stocked(
        self,
        io: &mut Io<'_>,
        shares: impl Into<InputShares<'_>>,
        masks: StockedCrosses<'_>,
        threads: NonZeroUsize,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let shares = shares.into();
        boxed(|| self.run_by(io, (masks.role(), threads), shares, masks)).await
    }

    async fn run_by(
        self,
        io: &mut Io<'_>,
        (role, threads): (Role, NonZeroUsize),
        shares: InputShares<'_>,
        mut source: impl MaskSource,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let mut rows = self.rows((role, threads), shares)?;
        let (mut ours, mut theirs) = (OpenedBits::default(), Vec::new());
        while let Some(step) = rows.step() {
            let step = step.clone();
            source.before(io, &step).await?;
            io.progressed(self.progress(&step));
            rows.open(source.masks(), &mut ours);
            let bits = step.bits[role.other() as usize];
            exchange(io, step.number, &ours, (bits, &mut theirs)).await?;
            rows.absorb(source.masks(), &theirs);
            source.after(&step);
            io.breathe().await?;
        }
        self.results(io, role, &rows).await
    }

    /// Returns the party's rows before the first step.
    fn rows(
        &self,
        party: (Role, NonZeroUsize),
        shares: InputShares<'_>,
    ) -> Result<Rows<'_>, Error> {
        check(self.function)?;
        if Rows::share_count(self.schedule, party.0) != shares.len() as u64 {
            return Err(Error::ApiMisuse("a share of each bit that a party holds"));
        }
        Ok(Rows::of_shares(self.schedule, party, shares))
    }

    /// Returns the progress of a party before this step. Gates are counted by their OTs.
    fn progress(&self, step: &StepWork) -> Progress {
        Progress {
            done_ands: step.ots_before.iter().sum(),
            total_ands: self.schedule.total_ots().iter().sum(),
        }
    }

    /// Sends the shares of the peer's results, and adds the peer's shares of its own results.
    async fn results(
        &self,
        io: &mut Io<'_>,
        role: Role,
        rows: &Rows<'_>,
    ) -> Result<Zeroizing<Vec<bool>>, Error> {
        let of = |role: Role| {
            let outputs = self.function.outputs().iter().enumerate();
            outputs
                .filter(move |(_, output)| output.recipient.includes(role))
                .map(|(number, _)| number)
        };
        let theirs = rows.results(of(role.other()));
        let mut results = rows.results(of(role));
        let waits = receives_first(role, [theirs.len(), results.len()]);
        if !waits {
            send_result(io, &theirs)?;
        }
        if let Some(message) = messages::result(results.len()) {
            let shares = io.receive(message).await?;
            check_bits(Kind::ResultShares, shares, results.len())?;
            let shares = unpack(shares, results.len());
            for (result, share) in results.iter_mut().zip(shares.iter()) {
                *result ^= share;
            }
        }
        if waits {
            send_result(io, &theirs)?;
        }
        Ok(results)
    }
}

/// The number of result bits that a party sends before it reads the peer's: a wire buffers 8 MiB.
const MOST_BITS_AHEAD: usize = 1 << 26;

/// Returns whether a party receives its result before it sends the peer's. One party does so if
/// neither wire could buffer what both send.
fn receives_first(role: Role, bits: [usize; 2]) -> bool {
    role == Role::Evaluator && bits.iter().all(|bits| *bits > MOST_BITS_AHEAD)
}

/// Sends the shares of the peer's result, if it has one.
fn send_result(io: &mut Io<'_>, shares: &[bool]) -> Result<(), Error> {
    let Some(message) = messages::result(shares.len()) else {
        return Ok(());
    };
    io.message().clear();
    io.message().extend(crate::bits::pack(shares));
    io.send(message)
}

/// Checks that `gmw` can run `function`, which must not save or load values.
///
/// # Errors
///
/// [`Error::SavedValue`] if the function loads or saves a value.
pub fn check(function: &Function) -> Result<(), Error> {
    check_without_values(function, "gmw")
}

/// Sends the party's bits of a step, and replaces `theirs` by the words of the peer's `bits` bits.
pub(super) async fn exchange(
    io: &mut Io<'_>,
    step: u32,
    ours: &OpenedBits,
    (bits, theirs): (u64, &mut Vec<u64>),
) -> Result<(), Error> {
    let [ours_bytes, mut left] = [ours.byte_count() as u64, bits.div_ceil(8)];
    let frames = [ours_bytes, left].map(|bytes| bytes.div_ceil(LAYER_FRAME_BYTES as u64));
    theirs.clear();
    for number in 0..frames[0].max(frames[1] + FRAMES_AHEAD as u64 - 1) {
        if number < frames[0] {
            send_frame(io, [step, number as u32], ours)?;
        }
        let due = (number + 1).checked_sub(FRAMES_AHEAD as u64);
        if let Some(due) = due.filter(|due| *due < frames[1]) {
            let frame = io.receive(messages::layer(left)).await?;
            let frame = frame_bits(frame, [step, due as u32])?;
            left -= frame.len() as u64;
            append_words(frame, theirs);
        }
    }
    if words_are_padded(theirs, bits) {
        return Ok(());
    }
    Err(invalid("padding"))
}

/// Appends bytes as words. The last word is filled up with zeros.
fn append_words(bytes: &[u8], words: &mut Vec<u64>) {
    let (whole, rest) = bytes.as_chunks();
    words.extend(whole.iter().map(|bytes| u64::from_le_bytes(*bytes)));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        words.push(u64::from_le_bytes(last));
    }
}

/// Returns whether the bits after the first `bits` ones, in the last word, are zero.
fn words_are_padded(words: &[u64], bits: u64) -> bool {
    let used = bits % 64;
    used == 0 || words.last().is_none_or(|last| last >> used == 0)
}

/// Sends frame number `number` of a step's bits.
fn send_frame(io: &mut Io<'_>, [step, number]: [u32; 2], ours: &OpenedBits) -> Result<(), Error> {
    let begin = number as usize * LAYER_FRAME_BYTES;
    let message = messages::layer((ours.byte_count() - begin) as u64);
    let end = begin + message.max_bytes - LAYER_HEADER_BYTES;
    let payload = io.message();
    payload.clear();
    payload.extend_from_slice(&step.to_le_bytes());
    payload.extend_from_slice(&number.to_le_bytes());
    ours.append_bytes(begin..end, payload);
    io.send(message)
}

/// Returns the bits in the peer's frame number `number` of a step.
fn frame_bits(frame: &[u8], [step, number]: [u32; 2]) -> Result<&[u8], Error> {
    let (header, bits) = frame.split_at(LAYER_HEADER_BYTES);
    if header[..4] != step.to_le_bytes() {
        return Err(invalid("step"));
    }
    if header[4..] != number.to_le_bytes() {
        return Err(invalid("frame number"));
    }
    Ok(bits)
}

fn invalid(field: &'static str) -> Error {
    Misbehaviour::invalid(Kind::Layer, field).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_party_alone_receives_first_where_both_results_are_large() {
        let large = MOST_BITS_AHEAD + 1;
        for (bits, first) in [
            ([large, large], [false, true]),
            ([large, MOST_BITS_AHEAD], [false; 2]),
            ([0, large], [false; 2]),
        ] {
            assert_eq!(Role::BOTH.map(|role| receives_first(role, bits)), first);
        }
    }
}
