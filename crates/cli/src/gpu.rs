//! The GPU that makes OTs.

use std::sync::Arc;

use tacit::session::{OtDevice, OtExtension};
use tacit_gpu::{Choice, Notice};

use crate::failure::{Failure, usage};
use crate::log::Log;

/// Returns the device that makes the OTs of a run or preparation, if one does. `option` names
/// the flag or field of the choice, and `takes` says whether they are of a kind that a GPU makes.
pub(crate) fn device(
    (option, choice): (&str, Choice),
    (takes, extension): (bool, Option<OtExtension>),
    log: Log,
) -> Result<Option<Arc<dyn OtDevice>>, Failure> {
    let is_named = matches!(choice, Choice::Number(_));
    if is_named && !takes {
        return Err(usage!(
            "{option} {choice}: a GPU makes the OTs of gmw alone";
            "leave {option} out"
        ));
    }
    let is_silent = extension == Some(OtExtension::Silent);
    if is_named && !is_silent {
        return Err(usage!(
            "{option} {choice}: a GPU makes OTs by silent OT alone";
            "let both parties make OTs by silent OT, or leave {option} out"
        ));
    }
    if !takes || !is_silent {
        return Ok(None);
    }
    let device = choice.device(move |notice| match notice {
        Notice::Used(_) => log.step(format_args!("{notice}")),
        _ => eprintln!("{notice}"),
    });
    device.map_err(|error| usage!("{option} {choice}: {error}"; "leave {option} out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_gpu_can_make_is_refused() {
        let log = Log::new(0);
        let silent = Some(OtExtension::Silent);
        for work in [(false, silent), (true, None)] {
            assert!(device(("--gpu", Choice::Number(0)), work, log).is_err());
            for choice in [Choice::Never, Choice::Auto] {
                assert!(matches!(device(("--gpu", choice), work, log), Ok(None)));
            }
        }
        assert!(device(("--gpu", Choice::Number(usize::MAX)), (true, silent), log).is_err());
        assert!(matches!(
            device(("--gpu", Choice::Never), (true, silent), log),
            Ok(None)
        ));
        assert!(matches!(
            device(("--gpu", Choice::Auto), (true, silent), log),
            Ok(Some(_))
        ));
    }
}
