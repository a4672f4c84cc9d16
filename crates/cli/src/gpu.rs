//! The GPU that makes the OTs of `gmw`.

use std::sync::Arc;

use tacit::session::{OtDevice, OtExtension};
use tacit_gpu::Cards;

use crate::failure::{Failure, usage};
use crate::log::Log;

/// The fewest OTs for which a GPU is taken without being asked for: to compile its kernels takes a
/// second, in which threads make some millions of OTs.
const WORTH_OTS: u64 = 1 << 24;

/// What `--gpu` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GpuChoice {
    /// Take none.
    Never,
    /// Take one for each direction, or the only one, if the work is worth it.
    Auto,
    /// Take the one of this number.
    Number(usize),
}

/// The OTs that a command is to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OtWork {
    /// Whether they are those of `gmw`, which alone takes them from a GPU.
    pub(crate) by_gmw: bool,
    /// The extension that this party was given.
    pub(crate) extension: Option<OtExtension>,
    /// How many there are, about.
    pub(crate) count: u64,
}

impl GpuChoice {
    /// Reads `never`, `auto` or a number.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self::Never),
            "auto" => Ok(Self::Auto),
            _ => text.parse().map(Self::Number).map_err(|_| {
                "expected never, auto, or the number of a GPU, the first of which is 0".to_owned()
            }),
        }
    }

    /// Returns the GPUs that make the OTs of `work`, if any do. Says why none does, if one was
    /// asked for or there is one that cannot be used.
    ///
    /// # Errors
    ///
    /// The GPU that was asked for cannot make them.
    pub(crate) fn device(
        self,
        work: OtWork,
        log: Log,
    ) -> Result<Option<Arc<dyn OtDevice>>, Failure> {
        let is_silent = work.extension == Some(OtExtension::Silent);
        let cards = match self {
            Self::Never => return Ok(None),
            Self::Auto if !work.by_gmw || !is_silent || work.count < WORTH_OTS => {
                return Ok(None);
            }
            Self::Auto => match Cards::first().and_then(compiled) {
                Ok(Some(cards)) => cards,
                Ok(None) => return Ok(None),
                Err(error) => {
                    eprintln!("the GPU is not used: {error}");
                    return Ok(None);
                }
            },
            Self::Number(number) if !work.by_gmw => {
                return Err(usage!(
                    "--gpu {number}: a GPU makes the OTs of the protocol gmw alone";
                    "leave --gpu out, or give --protocol gmw"
                ));
            }
            Self::Number(number) if !is_silent => {
                return Err(usage!(
                    "--gpu {number}: a GPU makes OTs by silent OT alone";
                    "give both parties --ot-extension silent, or leave --gpu out"
                ));
            }
            Self::Number(number) => {
                let cards = Cards::one(number).map(Some).and_then(compiled);
                let unusable = |error| usage!("--gpu {number}: {error}"; "leave --gpu out");
                match cards.map_err(unusable)? {
                    Some(cards) => cards,
                    None => return Ok(None),
                }
            }
        };
        log.step(format_args!("OTs are made on {cards}"));
        Ok(Some(Arc::new(cards)))
    }
}

/// Compiles the kernels for all cards, so that what is missing is known before the peer is met.
fn compiled(cards: Option<Cards>) -> Result<Option<Cards>, tacit_gpu::Error> {
    if let Some(cards) = &cards {
        cards.compile()?;
    }
    Ok(cards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        assert_eq!(GpuChoice::read("never"), Ok(GpuChoice::Never));
        assert_eq!(GpuChoice::read("auto"), Ok(GpuChoice::Auto));
        assert_eq!(GpuChoice::read("3"), Ok(GpuChoice::Number(3)));
        for wrong in ["", "-1", "all", "1.5"] {
            assert!(GpuChoice::read(wrong).is_err(), "{wrong}");
        }
    }

    /// A GPU that is asked for and cannot serve is never passed over in silence.
    #[test]
    fn what_no_gpu_can_make_is_refused() {
        let log = Log::new(0);
        let silent = OtWork {
            by_gmw: true,
            extension: Some(OtExtension::Silent),
            count: 1,
        };
        let others = OtWork {
            by_gmw: false,
            ..silent
        };
        let spoken = OtWork {
            extension: None,
            ..silent
        };
        for work in [others, spoken] {
            assert!(GpuChoice::Number(0).device(work, log).is_err());
            for choice in [GpuChoice::Never, GpuChoice::Auto] {
                assert!(matches!(choice.device(work, log), Ok(None)));
            }
        }
        // Few OTs are made by threads.
        assert!(matches!(GpuChoice::Auto.device(silent, log), Ok(None)));
        let far = GpuChoice::Number(usize::MAX);
        assert!(far.device(silent, log).is_err());
    }
}
