//! The changes of a lying party to its messages, as the fuzzer's bytes describe them.
//!
//! | byte | meaning |
//! |---|---|
//! | 0 | the liar |
//! | 1 | the number of its messages that are honest |
//! | 2.. | for each later message operations until one that ends it, see [`Edits::change`] |

use std::collections::VecDeque;

use tacit_protocol::message::Kind;

/// The remaining operations.
pub(super) struct Edits {
    liar: u8,
    honest: u8,
    rest: VecDeque<u8>,
}

impl Edits {
    pub(super) fn new(data: &[u8]) -> Self {
        let mut edits = Self {
            liar: 0,
            honest: 0,
            rest: VecDeque::from(data.to_vec()),
        };
        edits.liar = edits.byte().unwrap_or(0);
        edits.honest = edits.byte().unwrap_or(0);
        edits
    }

    /// Returns whether there are no changes.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the liar, out of `count` parties.
    pub(super) fn liar(&self, count: u8) -> usize {
        usize::from(self.liar % count)
    }

    /// Returns the further choice of a target in the byte that names the liar.
    pub(super) fn choice(&self, parties: u8) -> usize {
        usize::from(self.liar / parties)
    }

    fn byte(&mut self) -> Option<u8> {
        self.rest.pop_front()
    }

    fn below(&mut self, limit: usize) -> Option<usize> {
        let bytes = [self.byte()?, self.byte()?];
        Some(usize::from(u16::from_le_bytes(bytes)) % limit.max(1))
    }

    /// Changes one of the liar's messages.
    pub(super) fn change(&mut self, kind: &mut u8, payload: &mut Vec<u8>) {
        match self.honest {
            0 => while self.step(kind, payload).is_some() {},
            _ => self.honest -= 1,
        }
    }

    /// Makes one operation. Returns `None` if the message is finished.
    fn step(&mut self, kind: &mut u8, payload: &mut Vec<u8>) -> Option<()> {
        match self.byte()? % 8 {
            0 => return None,
            1 => {
                let length = self.below(payload.len() + 1)?;
                payload.truncate(length);
            }
            2 => {
                let (count, byte) = (self.byte()?, self.byte()?);
                payload.resize(payload.len() + usize::from(count), byte);
            }
            3 => {
                let count = self.below(usize::MAX)?.min(self.rest.len());
                *payload = self.rest.drain(..count).collect();
            }
            4 => {
                *kind = match self.byte()? {
                    byte @ ..128 => byte,
                    _ => Kind::Abort.byte(),
                }
            }
            5 => {
                let byte = self.byte()?;
                payload.fill(byte);
            }
            _ => {
                let (at, bits) = (self.below(payload.len())?, self.byte()?);
                if let Some(byte) = payload.get_mut(at) {
                    *byte ^= bits;
                }
            }
        }
        Some(())
    }
}
