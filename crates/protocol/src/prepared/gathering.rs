//! The evaluator's first phase, which does not depend on its inputs: it gathers the early links.

use tacit_garble::Scheme;
use tacit_kernels::{Block, Prg};

use super::{Demand, Run, mask, messages};
use crate::bits::read_blocks;
use crate::io::Io;
use crate::message::Kind;
use crate::result::GARBLING_START;
use crate::{Error, Misbehaviour};

/// All links that no input of the evaluator decides, masked.
pub struct EarlyLinks {
    pub(super) start: Block,
    pub(super) label_seed: Block,
    /// Links of saved values.
    pub(super) saved: Vec<u8>,
    /// Links of all other values.
    pub(super) bytes: Vec<u8>,
    pub(super) demand: Demand,
}

impl EarlyLinks {
    /// Removes the mask.
    pub(super) fn unmasked(mut self, mask_seed: Block) -> Self {
        let mut pad = Prg::new(mask_seed);
        mask(&mut pad, &mut self.saved);
        mask(&mut pad, &mut self.bytes);
        self
    }
}

impl<S: Scheme> Run<'_, S> {
    /// Gathers the links that the garbler sends first.
    ///
    /// # Errors
    ///
    /// The function needs too many links, the garbler misbehaves, or the wire fails.
    pub async fn gather(self, io: &mut Io<'_>) -> Result<EarlyLinks, Error> {
        let (demand, link_bytes) = (Demand::of(self.function)?, self.scheme.link_bytes());
        let (early, saved) = (demand.early_bytes(link_bytes)?, demand.saved_bytes());
        demand.late_bytes(link_bytes)?;
        let start = io.receive(GARBLING_START).await?;
        let [start, label_seed] = read_blocks(Kind::GarblingStart, start)?;
        let mut links = EarlyLinks {
            start,
            label_seed,
            saved: Vec::new(),
            bytes: Vec::new(),
            demand,
        };
        while links.saved.len() < saved {
            let expected = messages::saved_links(saved - links.saved.len());
            links.saved.extend_from_slice(io.receive(expected).await?);
        }
        while links.bytes.len() < early {
            let left = early - links.bytes.len();
            let expected = messages::early_links(self.scheme, self.function, left);
            let frame = io.receive(expected).await?;
            // A frame ends with a call, so no link is cut.
            if frame.is_empty() || !frame.len().is_multiple_of(link_bytes) {
                return Err(Misbehaviour::WrongLength {
                    kind: Kind::Links,
                    expected: left as u64,
                    found: frame.len() as u64,
                }
                .into());
            }
            links.bytes.extend_from_slice(frame);
        }
        Ok(links)
    }
}
