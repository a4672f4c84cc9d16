//! Both halves as state that can be kept, between two batches.
//!
//! | part | bytes |
//! |---|---|
//! | Δ, the sender's only | 16 |
//! | round; batch in it; COTs laid aside for the next round | 8; 8; 8 |
//! | inputs of the round, those that are used as zeros | 16 an each |
//! | COTs laid aside | 16 an each |

use tacit_kernels::Block;

use super::batch::Rounds;
use super::params::Schedule;
use super::{SilentReceiver, SilentSender};
use crate::state::{Reader, Writer};
use crate::{Corrupted, Delta, Security, SessionTag};

impl Rounds {
    fn write(&self, writer: &mut Writer) {
        let (round, batch) = self.schedule.place();
        writer.number(round);
        writer.number(batch as u64);
        writer.number(self.reserve.len() as u64);
        writer.blocks(self.inputs.iter().copied());
        writer.blocks(self.reserve.iter().copied());
    }

    fn read(
        reader: &mut Reader<'_>,
        tag: &SessionTag,
        security: Security,
    ) -> Result<Self, Corrupted> {
        let round = reader.number()?;
        let [batch, reserved] = [reader.count()?, reader.count()?];
        let schedule = Schedule::START.at(round, batch, reserved);
        let schedule = schedule.ok_or(reader.bad_value())?;
        let inputs = reader.blocks(schedule.params().inputs())?;
        let mut rounds = Self::new(*tag, security, schedule, inputs);
        let reserve = reader.blocks(reserved)?;
        rounds.reserve.extend_from_slice(&reserve);
        Ok(rounds)
    }

    fn state_bytes(&self) -> usize {
        64 + (self.inputs.len() + self.reserve.len()) * Block::BYTES
    }
}

impl SilentSender {
    pub(crate) fn state_bytes(&self) -> usize {
        self.rounds.state_bytes()
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.blocks([self.delta().to_block()]);
        self.rounds.write(writer);
    }

    pub(crate) fn read(
        reader: &mut Reader<'_>,
        tag: &SessionTag,
        security: Security,
    ) -> Result<Self, Corrupted> {
        let delta = Delta::from_block(reader.block()?).map_err(|_| reader.bad_value())?;
        let rounds = Rounds::read(reader, tag, security)?;
        Ok(Self { delta, rounds })
    }
}

impl SilentReceiver {
    pub(crate) fn state_bytes(&self) -> usize {
        self.rounds.state_bytes()
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        self.rounds.write(writer);
    }

    pub(crate) fn read(
        reader: &mut Reader<'_>,
        tag: &SessionTag,
        security: Security,
    ) -> Result<Self, Corrupted> {
        let rounds = Rounds::read(reader, tag, security)?;
        Ok(Self { rounds })
    }
}
