//! The events of a service: one per step, with public values only.

use std::fmt::{self, Write as _};

use serde::Serialize;

/// The severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A person has to act: it concerns this party's own files or disk.
    Error,
    /// A peer was refused or failed.
    Warning,
    /// A normal action of the service.
    Info,
    /// A detail that only an auditor asks for.
    Debug,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
        })
    }
}

/// An event. Its `session` and `run` are the names that the peer's log has as well.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum Event {
    /// The service accepts peers at this address.
    Listening { address: String },
    /// The service answers for metrics and health at this address.
    Metrics { address: String },
    /// A peer began a session.
    SessionBegan {
        peer: String,
        from: String,
        session: Option<String>,
    },
    /// A session ended, for this reason.
    SessionEnded {
        peer: String,
        runs: u64,
        seconds: f64,
        reason: String,
        session: Option<String>,
    },
    /// A connection, a session, a run or a preparation was refused.
    Refused {
        peer: Option<String>,
        from: Option<String>,
        what: &'static str,
        reason: String,
    },
    /// This many further refusals were not reported one by one.
    RefusedMore { peer: Option<String>, count: u64 },
    /// A run ended well.
    Run {
        peer: String,
        offer: String,
        protocol: String,
        milliseconds: f64,
        bytes_sent: u64,
        bytes_received: u64,
        and_gates_on_the_spot: u64,
        run: Option<String>,
    },
    /// A run takes these numbers from the stock, which no other run ever takes.
    Takes {
        peer: String,
        offer: String,
        numbers: String,
        digest: String,
        epoch: String,
        run: Option<String>,
    },
    /// A run failed.
    RunFailed {
        peer: String,
        offer: String,
        protocol: String,
        reason: String,
        run: Option<String>,
    },
    /// This party's inputs could not be obtained.
    InputsFailed {
        offer: String,
        reason: String,
        run: Option<String>,
    },
    /// This party's results could not be delivered.
    ResultsFailed {
        offer: String,
        reason: String,
        run: Option<String>,
    },
    /// A line of the audit log could not be written. If the run had not begun, it was refused.
    AuditFailed { reason: String, run: Option<String> },
    /// A stock was filled.
    Replenished {
        peer: String,
        function: String,
        runs: u64,
        made: u64,
        seconds: f64,
        run: Option<String>,
    },
    /// A stock could not be filled.
    ReplenishFailed {
        peer: String,
        function: String,
        reason: String,
        run: Option<String>,
    },
    /// A stock cannot be read.
    StockFailed { peer: String, reason: String },
    /// This many notes of how far the stock is could not be written since the last such event. The
    /// reason is that of the last note, unless that was written.
    NotesFailed { count: u64, reason: Option<String> },
    /// Another configuration is in force.
    Reloaded {
        peers: usize,
        functions: usize,
        levels: usize,
    },
    /// Another configuration was not accepted, and the old one stays in force.
    ReloadRefused { reason: String },
    /// The log was not read in time, and this many events are missing from it.
    LogDropped { count: u64 },
    /// No further sessions are accepted.
    Stopping { sessions: usize },
    /// All sessions have ended; this many were cut off.
    Stopped { cut: usize },
}

/// Receives events. It must return soon, because sessions wait for it.
pub trait Observer: Send + Sync {
    /// Receives an event.
    fn tell(&self, event: &Event);

    /// Returns the number of events that it dropped in order not to make sessions wait.
    fn dropped(&self) -> u64 {
        0
    }
}

impl<F: Fn(&Event) + Send + Sync> Observer for F {
    fn tell(&self, event: &Event) {
        self(event);
    }
}

impl Event {
    /// Returns the event's severity.
    #[must_use]
    pub fn severity(&self) -> Severity {
        match self {
            Self::InputsFailed { .. }
            | Self::ResultsFailed { .. }
            | Self::AuditFailed { .. }
            | Self::StockFailed { .. }
            | Self::NotesFailed { .. }
            | Self::ReloadRefused { .. } => Severity::Error,
            Self::Refused { .. }
            | Self::RefusedMore { .. }
            | Self::RunFailed { .. }
            | Self::ReplenishFailed { .. }
            | Self::LogDropped { .. } => Severity::Warning,
            Self::Takes { .. } => Severity::Debug,
            _ => Severity::Info,
        }
    }

    /// Returns the event as JSON: its name, its severity, `time` in seconds since 1970, the version
    /// of this form, and its fields, in this order.
    #[must_use]
    pub fn json(&self, time: f64) -> String {
        let mut fields = self.fields();
        let name = fields.remove("event").unwrap_or_default();
        let severity = serde_json::to_value(self.severity()).unwrap_or_default();
        let mut text =
            format!(r#"{{"event":{name},"severity":{severity},"time":{time},"version":1"#);
        for (name, value) in fields {
            let _ = write!(text, r#","{name}":{value}"#);
        }
        text + "}"
    }

    /// Returns the event as a line of text: the time, given in seconds since 1970, its severity,
    /// its name and its fields.
    #[must_use]
    pub fn line(&self, seconds: u64) -> String {
        format!("{} {} {}", utc(seconds), self.severity(), self.text())
    }

    /// Returns its name and fields as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut fields = self.fields();
        let name = fields.remove("event");
        let mut text = name
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default();
        for (name, value) in fields {
            let _ = match value {
                serde_json::Value::Null => Ok(()),
                serde_json::Value::String(plain)
                    if !plain
                        .contains(|c: char| c == '"' || c.is_whitespace() || c.is_control()) =>
                {
                    write!(text, " {name}={plain}")
                }
                // A time in seconds; milliseconds are precise enough for people.
                value if value.is_f64() => {
                    write!(text, " {name}={:.3}", value.as_f64().unwrap_or_default())
                }
                value => write!(text, " {name}={value}"),
            };
        }
        text
    }

    fn fields(&self) -> serde_json::Map<String, serde_json::Value> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        }
    }
}

/// Formats a time, given in seconds since 1970, as in RFC 3339.
fn utc(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Years that begin in March end with the leap day. 719 468 days lie between March of year 0 and
    // 1970, and 146 097 days are 400 years.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = match month {
        0..=9 => (month + 3, 0),
        _ => (month - 9, 1),
    };
    let year = 400 * era + year + later;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_lines_for_programs_and_people() {
        let refused = Event::Refused {
            peer: Some("bob".to_owned()),
            from: None,
            what: "run",
            reason: "it asks \"for\"\nmore".to_owned(),
        };
        assert_eq!(
            refused.json(1.5),
            concat!(
                r#"{"event":"refused","severity":"warning","time":1.5,"version":1,"#,
                r#""from":null,"peer":"bob","reason":"it asks \"for\"\nmore","what":"run"}"#
            )
        );
        assert_eq!(
            refused.text(),
            r#"refused peer=bob reason="it asks \"for\"\nmore" what=run"#
        );
        let replenished = Event::Replenished {
            peer: "bob".to_owned(),
            function: "sum".to_owned(),
            runs: 2,
            made: 1,
            seconds: 6.143_057_000_000_001,
            run: Some("0123456789abcdef-2".to_owned()),
        };
        assert_eq!(
            replenished.text(),
            "replenished function=sum made=1 peer=bob run=0123456789abcdef-2 runs=2 seconds=6.143"
        );
        let stopped = Event::Stopped { cut: 2 };
        assert_eq!(stopped.text(), "stopped cut=2");
        let line = stopped.line(1_795_260_429);
        assert_eq!(line, "2026-11-21T11:27:09Z info stopped cut=2");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_208_000, "2024-02-29T12:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (4_107_456_000, "2100-02-28T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }
}
