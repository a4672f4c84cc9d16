//! Arguments of `tacit serve`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::StockArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  tacit serve --check                   check [serve] in tacit.toml
  tacit serve --check --json            the same for programs
  tacit serve
  tacit serve --log json
  kill -HUP PID                         read tacit.toml again; keep the old one if it is wrong
  curl http://127.0.0.1:9464/metrics    metrics; /health shows whether it accepts peers

SIGTERM and Ctrl-C stop it: runs get some time to end, and the second signal ends it at once. \
docs/operate.md shows a configuration and a systemd unit; docs/outsourced.md, two servers.

With `tacit prepare` peers may order what [[serve.stock]] keeps with them, and no more.";

/// Arguments of `tacit serve`.
#[derive(Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Answer at this address instead of the one in tacit.toml; port 0 takes a free one and prints
    /// it
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) listen: Option<String>,
    /// Answer for metrics and health at this address instead of the one in tacit.toml; nowhere if
    /// it is empty
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics: Option<String>,
    /// This party's identity, from `tacit keygen`. Default: the one in tacit.toml
    #[arg(long, value_name = "FILE")]
    pub(crate) identity: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) stock: StockArgs,
    /// The form of events on standard error
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log: LogFormat,
    /// Check the configuration and end
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the findings of --check as JSON; for the log of a running service use --log json
    #[arg(long, requires = "check")]
    pub(crate) json: bool,
}

/// The form of events.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines of text, for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}
