//! How far a run has come, on a terminal; nothing in a pipe.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tacit::Progress;

/// AND gates from which on a bar is worth its flicker.
const WORTH_SHOWING_ANDS: u64 = 100_000;

/// A bar on standard error, hidden where that is no terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// A bar for a run of this many AND gates.
    pub(crate) fn new(what: &str, ands: u64, wanted: bool) -> Self {
        let target = if wanted && ands >= WORTH_SHOWING_ANDS {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(ands), target);
        // The template is a constant, so that it parses or a test says that it does not.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self(bar)
    }

    /// Shows how far the run is.
    pub(crate) fn show(&self, progress: Progress) {
        if progress.total_ands > 0 {
            self.0.set_length(progress.total_ands);
            self.0.set_position(progress.done_ands);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

const TEMPLATE: &str = "{msg} [{bar:24}] {human_pos}/{human_len} AND, {per_sec}, {eta} left";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_parses() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
