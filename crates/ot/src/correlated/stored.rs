//! Both halves as state that can be kept: keys, and how far they have come.
//!
//! | part | bytes |
//! |---|---|
//! | OTs handed out; blocks of each stream used | 8; 8 |
//! | 1 if the first message was sent or taken, else 0 | 1 |
//! | Δ (sender), key of the masks (receiver) | 16 |
//! | sender before the first message: chosen keys of the base OTs | 128 · 32 |
//! | receiver before the first message: corrections and their proof | as the message has |
//! | else, and for the receiver always: leaves of all trees | 16 an each |

use tacit_kernels::{Block, Cpu};
use zeroize::Zeroizing;

use super::{CotReceiver, CotSender, MAX_TOTAL, Progress};
use crate::extension::{FieldBits, Streams, first_bytes};
use crate::state::{Reader, Writer};
use crate::{Corrupted, Delta, Security, SessionTag};

impl Progress {
    fn write(&self, opened: bool, writer: &mut Writer) {
        writer.number(self.handed_out);
        writer.number(self.stream_blocks);
        writer.bytes(&[u8::from(opened)]);
    }

    /// The progress, and whether the first message is over.
    fn read(reader: &mut Reader<'_>) -> Result<(Self, bool), Corrupted> {
        let progress = Self {
            handed_out: reader.number()?,
            stream_blocks: reader.number()?,
            ended: false,
        };
        let opened = reader.byte()?;
        let used = progress.stream_blocks.checked_mul(128);
        let in_bounds = used.is_some_and(|used| used <= MAX_TOTAL)
            && progress.handed_out <= progress.stream_blocks * 128;
        match opened {
            0 | 1 if in_bounds => Ok((progress, opened == 1)),
            _ => Err(reader.bad_value()),
        }
    }
}

impl CotSender {
    pub(crate) fn write(&self, writer: &mut Writer) {
        let opened = !self.groups.is_empty();
        self.progress.write(opened, writer);
        writer.blocks([self.delta.to_block()]);
        self.base
            .iter()
            .for_each(|key| writer.bytes(key.as_bytes()));
        self.groups
            .iter()
            .for_each(|group| writer.blocks(group.leaves()));
    }

    pub(crate) fn read(
        reader: &mut Reader<'_>,
        tag: &SessionTag,
        field: FieldBits,
        security: Security,
    ) -> Result<Self, Corrupted> {
        let (progress, opened) = Progress::read(reader)?;
        let delta = Delta::from_block(reader.block()?).map_err(|_| reader.bad_value())?;
        let (mut base, mut groups) = (Vec::new(), Vec::new());
        if opened {
            groups = read_groups(reader, field, true)?;
        } else {
            base = reader.keys(Delta::BITS)?;
        }
        Ok(Self {
            delta,
            tag: *tag,
            field,
            security,
            progress,
            base,
            groups,
        })
    }
}

impl CotReceiver {
    pub(crate) fn write(&self, writer: &mut Writer) {
        let bytes = first_bytes(self.field, self.security);
        let opened = self.corrections.len() != bytes || bytes == 0;
        self.progress.write(opened, writer);
        writer.blocks([*self.mask_key]);
        writer.bytes(&self.corrections);
        self.groups
            .iter()
            .for_each(|group| writer.blocks(group.leaves()));
    }

    pub(crate) fn read(
        reader: &mut Reader<'_>,
        tag: &SessionTag,
        field: FieldBits,
        security: Security,
    ) -> Result<Self, Corrupted> {
        let (progress, opened) = Progress::read(reader)?;
        let mask_key = Zeroizing::new(reader.block()?);
        let bytes = if opened {
            0
        } else {
            first_bytes(field, security)
        };
        let corrections = reader.bytes(bytes)?.to_vec();
        Ok(Self {
            tag: *tag,
            field,
            security,
            progress,
            corrections,
            groups: read_groups(reader, field, false)?,
            mask_key,
        })
    }
}

/// The streams of all groups, from their leaves.
fn read_groups(
    reader: &mut Reader<'_>,
    field: FieldBits,
    punctured: bool,
) -> Result<Vec<Streams>, Corrupted> {
    let cpu = Cpu::detect();
    let group = |group| {
        let leaves = reader.blocks(1 << field.group(group).len())?;
        Ok(if punctured {
            Streams::of_punctured(cpu, &leaves)
        } else {
            Streams::of_whole(cpu, &leaves)
        })
    };
    (0..field.groups()).map(group).collect()
}

/// Bytes that either half takes at most.
pub(crate) fn max_state_bytes(field: FieldBits) -> usize {
    let leaves = field.groups() << field.get();
    128 + Delta::BITS * 32 + first_bytes(field, Security::Malicious) + leaves * Block::BYTES
}
