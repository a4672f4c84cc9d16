//! Shows the progress of a run on a terminal. Shows nothing in a pipe.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tacit::Progress;

/// The number of AND gates from which on a bar is shown; shorter runs would only make it flicker.
const WORTH_SHOWING_ANDS: u64 = 100_000;
/// The time after which a bar with a percentage is shown.
const PERCENT_SHOWN_AFTER: Duration = Duration::from_secs(1);

/// A bar on standard error, hidden if standard error is no terminal.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Returns a bar for a run of this many AND gates.
    pub(crate) fn new(what: &str, ands: u64, wanted: bool) -> Self {
        let target = if wanted && ands >= WORTH_SHOWING_ANDS {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(ands), target);
        // The template is a constant, and a test shows that it parses.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        Self(bar)
    }

    /// Returns a spinner for a step of unknown length. It is not shown during the first half
    /// second.
    pub(crate) fn without_end(what: &'static str, wanted: bool) -> Self {
        let target = if wanted {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let mut bar = ProgressBar::with_draw_target(None, target).with_message(what);
        if let Ok(style) = ProgressStyle::with_template(WITHOUT_END) {
            bar = bar.with_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Self(bar)
    }

    /// Returns a bar with a percentage, which starts with `what`. It is not shown during the first
    /// second.
    pub(crate) fn percent(what: &'static str, wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template(PERCENT) {
            bar.set_style(style);
        }
        bar.set_message(what);
        if !wanted {
            // `show_part` never shows a finished bar.
            bar.finish();
        }
        Self(bar)
    }

    /// Shows how much of all is done on a bar with a percentage.
    pub(crate) fn show_part(&self, done: u64, all: u64) {
        if self.0.is_finished() || self.0.elapsed() < PERCENT_SHOWN_AFTER {
            return;
        }
        if self.0.is_hidden() {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.0.set_length(all);
        self.0.set_position(done);
    }

    /// Shows the progress of the run.
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
const WITHOUT_END: &str = "{msg}, {elapsed}";
const PERCENT: &str = "{msg} [{bar:24}] {percent}%, {elapsed}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_parse() {
        for template in [TEMPLATE, WITHOUT_END, PERCENT] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
