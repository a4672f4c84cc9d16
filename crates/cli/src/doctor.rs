//! `tacit doctor`: checks everything that a run needs before a run needs it.
//!
//! Each finding is right, a warning or a failure; the last two say what to do. The command changes
//! nothing, except that it writes a probe file into the stock's folder and removes it.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value as Json, json};
use tacit::stock::Stocks;
use tacit::{Category, Identity};
use tacit_serve::memory;

use crate::args::DoctorArgs;
use crate::config::{self, Config, Peer};
use crate::failure::{Failure, usage};
use crate::report::{json_with, shown_bytes};
use crate::terminal::escaped;
use crate::{output, party, serve, stock};

/// The longest wait for a peer or a relay to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// The largest difference by which the clock may be behind a file that was written earlier.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// The number of timed writes, and the usual wait for the disk from which they are slow.
const WRITES: usize = 5;
const SLOW_DISK: Duration = Duration::from_millis(50);

/// A subject and its state.
struct Finding {
    subject: String,
    state: Verdict,
    text: String,
    remedy: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Right,
    Warning,
    Failed(Category),
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Right => "ok",
            Self::Warning => "warning",
            Self::Failed(_) => "failed",
        }
    }
}

impl Finding {
    fn right(subject: impl Into<String>, told: impl Into<String>) -> Self {
        Self {
            subject: subject.into(),
            state: Verdict::Right,
            text: told.into(),
            remedy: None,
        }
    }

    fn warning(subject: impl Into<String>, told: impl Into<String>, remedy: &str) -> Self {
        Self {
            state: Verdict::Warning,
            remedy: Some(remedy.to_owned()),
            ..Self::right(subject, told)
        }
    }

    fn failed(subject: impl Into<String>, failure: &Failure) -> Self {
        let (told, remedy) = failure.parts(None);
        Self {
            state: Verdict::Failed(failure.category()),
            remedy,
            ..Self::right(subject, told)
        }
    }

    fn json(&self) -> Json {
        json!({
            "subject": self.subject,
            "state": self.state.word(),
            "told": self.text,
            "remedy": self.remedy,
        })
    }
}

/// Runs the command.
///
/// Returns the first failure that was found, once all findings are printed.
pub(crate) fn doctor(args: &DoctorArgs, explicit: Option<&Path>) -> Result<(), Failure> {
    let findings = look(args, explicit);
    let told: Vec<_> = findings.iter().map(Finding::json).collect();
    let failed = findings.iter().find_map(|finding| match finding.state {
        Verdict::Failed(category) => Some(Failure::found(category, &finding.subject)),
        _ => None,
    });
    if args.json {
        return json_with(failed, json!({ "findings": told }));
    }
    output::print(text(&findings))?;
    failed.map_or(Ok(()), Err)
}

fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|one| one.subject.len()).max();
    let width = width.unwrap_or_default();
    let lines = findings.iter().map(|finding| {
        let (word, subject) = (finding.state.word(), &finding.subject);
        let line = format!("{word:<7}  {subject:width$}  {}", finding.text);
        let remedy = finding.remedy.as_ref();
        let remedy = remedy.map(|remedy| format!("{:9}what to do: {}\n", "", escaped(remedy)));
        // The configuration may contain any characters.
        format!("{}\n{}", escaped(&line), remedy.unwrap_or_default())
    });
    lines.collect()
}

fn look(args: &DoctorArgs, explicit: Option<&Path>) -> Vec<Finding> {
    let mut findings = vec![machine()];
    let config = match configuration(explicit) {
        Ok((config, finding)) => {
            findings.push(finding);
            config
        }
        Err(finding) => {
            findings.push(finding);
            return findings;
        }
    };
    findings.extend(identity(&config));
    findings.extend(peers(args, &config));
    findings.extend(stocks(args, &config));
    if config.serve.is_some() {
        findings.push(match serve::looked_at(explicit) {
            Ok(told) => Finding::right("service", told),
            Err(failure) => Finding::failed("service", &failure),
        });
    }
    findings
}

/// Checks the processors and the memory that this process may use.
fn machine() -> Finding {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let aes = tacit::cost::aes_backend();
    let memory = memory::allowed().map(|bytes| format!(", {} of memory", shown_bytes(bytes)));
    let memory = memory.unwrap_or_default();
    let told = format!("{cores} processors, AES by {aes}{memory}");
    if aes == "portable" {
        Finding::warning(
            "machine",
            told,
            "this processor has no AES instructions that Tacit knows, and garbles some thirty \
             times slower",
        )
    } else {
        Finding::right("machine", told)
    }
}

fn configuration(explicit: Option<&Path>) -> Result<(Config, Finding), Finding> {
    let subject = "configuration";
    let failed = |failure: Failure| Finding::failed(subject, &failure);
    let path = config::file(explicit).map_err(failed)?;
    let config = Config::load(explicit).map_err(failed)?;
    let told = if path.exists() {
        path.display().to_string()
    } else {
        format!("{} is not there; all of it is optional", path.display())
    };
    Ok((config, Finding::right(subject, told)))
}

/// Checks the identity, and that the clock is not behind the time when the identity was made: the
/// validity of certificates is compared with the clock.
fn identity(config: &Config) -> Vec<Finding> {
    let path = match party::identity_path(None, config) {
        Ok(path) => path,
        Err(failure) => return vec![Finding::failed("identity", &failure)],
    };
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => {
            let told = format!("{} is not there", path.display());
            let remedy = "`tacit pair` or `tacit keygen` makes one";
            return vec![Finding::warning("identity", told, remedy)];
        }
        Err(error) => {
            let failure = Failure::read(path.display().to_string(), error);
            return vec![Finding::failed("identity", &failure)];
        }
    }
    let finding = match Identity::load(&path) {
        Ok(identity) => Finding::right("identity", identity.fingerprint().to_string()),
        Err(error) => Finding::failed("identity", &tacit::Error::from(error).into()),
    };
    // A file system may keep no times.
    let Ok(made) = path.metadata().and_then(|metadata| metadata.modified()) else {
        return vec![finding];
    };
    let clock = if SystemTime::now() + CLOCK_SLACK < made {
        Finding::warning(
            "clock",
            "earlier than the time at which the identity was made",
            "set this machine's clock: invitations and rates go by it",
        )
    } else {
        Finding::right(
            "clock",
            "set: it is not before the time at which the identity was made",
        )
    };
    vec![finding, clock]
}

/// Checks the peers of the configuration, or the one that the arguments name, all at the same time.
fn peers(args: &DoctorArgs, config: &Config) -> Vec<Finding> {
    if let Some(name) = &args.peer
        && !config.peers.contains_key(name)
    {
        let unknown = usage!(
            "tacit.toml has no peer {name}";
            "`tacit doctor` without --with lists them, and `tacit pair` adds one"
        );
        return vec![Finding::failed(format!("peer {name}"), &unknown)];
    }
    let asked = |name: &&String| args.peer.as_ref().is_none_or(|only| only == *name);
    let names: Vec<_> = config.peers.keys().filter(asked).collect();
    thread::scope(|scope| {
        let looks = names
            .iter()
            .map(|&name| scope.spawn(|| peer(name, &config.peers[name], config.serve.is_some())));
        let looks: Vec<_> = looks.collect();
        let found = looks.into_iter().map(|look| {
            let found = look.join();
            found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        found.collect()
    })
}

fn peer(name: &str, peer: &Peer, is_served: bool) -> Finding {
    let subject = format!("peer {name}");
    let ways = (&peer.relay, &peer.listen, &peer.address);
    let (place, found) = match ways {
        (Some(relay), _, _) => (format!("the relay {relay}"), answers(relay)),
        (None, Some(listen), _) => return waits(subject, listen),
        (None, None, Some(address)) => (address.clone(), answers(address)),
        (None, None, None) if is_served => {
            return Finding::right(subject, "connects to this party's service");
        }
        (None, None, None) => {
            let told = "has no address in tacit.toml";
            let remedy = "give --listen or --connect with each command, or pair again";
            return Finding::warning(subject, told, remedy);
        }
    };
    match found {
        Ok(time) => {
            let milliseconds = time.as_secs_f64() * 1000.0;
            let told = format!("{place} accepts connections, after {milliseconds:.1} ms");
            Finding::right(subject, told)
        }
        Err(reason) => Finding::warning(
            subject,
            format!("{place} does not accept connections now: {reason}"),
            "if the peer should be there, look at its address and at firewalls between; a peer \
             that \
             listens for one run alone is there only then",
        ),
    }
}

/// Returns the time that a connection to this address takes.
fn answers(address: &str) -> Result<Duration, String> {
    let addresses = address.to_socket_addrs();
    let addresses = addresses.map_err(|error| error.to_string())?;
    let mut last = "its name has no address".to_owned();
    for address in addresses {
        let begun = Instant::now();
        match TcpStream::connect_timeout(&address, CONNECT_TIME) {
            Ok(_) => return Ok(begun.elapsed()),
            Err(error) => last = error.to_string(),
        }
    }
    Err(last)
}

/// Checks whether this party can wait for a peer at `address`.
fn waits(subject: String, address: &str) -> Finding {
    match TcpListener::bind(address) {
        Ok(_) => Finding::right(subject, format!("can be waited for at {address}")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Finding::right(
            subject,
            format!("is waited for at {address}, or another program listens there"),
        ),
        Err(error) => Finding::warning(
            subject,
            format!("cannot be waited for at {address}: {error}"),
            "give an address of this machine under `listen` in tacit.toml",
        ),
    }
}

/// Checks that a run can write into the stocks' folder and how long that takes, and the stocks in
/// it.
fn stocks(args: &DoctorArgs, config: &Config) -> Vec<Finding> {
    let found = look_at_stocks(args, config);
    found.unwrap_or_else(|failure| vec![Finding::failed("stock", &failure)])
}

fn look_at_stocks(args: &DoctorArgs, config: &Config) -> Result<Vec<Finding>, Failure> {
    let folder = stock::folder(args.stock.as_deref(), config)?;
    let is_there = folder.try_exists();
    let is_there = is_there.map_err(|error| Failure::read(folder.display().to_string(), error))?;
    if !is_there {
        let told = format!("none yet; `tacit prepare` makes {}", folder.display());
        return Ok(vec![Finding::right("stock", told)]);
    }
    let stocks = stock::open_silently(&folder, config)?;
    let waits = (0..WRITES).map(|_| stocks.probe());
    let disk = disk(waits.collect::<Result<_, _>>()?);
    let (bytes, mut wrong) = contents(&stocks)?;
    let told = format!("{} in {}", shown_bytes(bytes), folder.display());
    if let Some(why) = stocks.why_unwitnessed() {
        wrong.push(format!("nothing outside of it notes how far it is: {why}"));
    }
    if wrong.is_empty() {
        return Ok(vec![disk, Finding::right("stock", told)]);
    }
    let told = format!("{told}; {}", wrong.join("; "));
    let remedy = "`tacit stock list` and `tacit stock check` say more; `witness` under [stock] \
                  names \
                  the folder of notes";
    Ok(vec![disk, Finding::warning("stock", told, remedy)])
}

/// Judges the times of writes like those of a lease.
fn disk(mut waits: Vec<Duration>) -> Finding {
    waits.sort_unstable();
    let ms = |place: usize| waits[place].as_secs_f64() * 1000.0;
    let (usual, longest) = (ms(WRITES / 2), ms(WRITES - 1));
    let told = format!("a write waits {usual:.1} ms, at most {longest:.1} ms in {WRITES} writes");
    if waits[WRITES / 2] < SLOW_DISK {
        return Finding::right("disk", told);
    }
    let remedy = "each run from the stock waits for the disk three times: find what else writes to \
                  it, or put the stock on a faster one";
    Finding::warning("disk", told, remedy)
}

/// Returns the bytes of all stocks, and the problems of some.
fn contents(stocks: &Stocks) -> Result<(u64, Vec<String>), Failure> {
    let (names, failures) = stocks.list_each()?;
    let (_, of_chains) = stocks.chains_by_peer()?;
    let failures = failures.iter().chain(&of_chains);
    let mut wrong: Vec<_> = failures.map(ToString::to_string).collect();
    let mut bytes = 0;
    for name in &names {
        match stocks.summary(name) {
            Ok(summary) => {
                bytes += summary.bytes;
                let damaged: u64 = summary.kinds.iter().map(|kind| kind.withdrawn).sum();
                if damaged > 0 {
                    wrong.push(format!("{damaged} instances are damaged"));
                }
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    Ok((bytes, wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_slow_if_most_of_its_writes_are() {
        let of = |waits: [u64; WRITES]| disk(waits.map(Duration::from_millis).to_vec());
        let fast = of([2, 900, 3, 1, 4]);
        assert!(fast.state == Verdict::Right, "{}", fast.text);
        assert_eq!(
            fast.text,
            "a write waits 3.0 ms, at most 900.0 ms in 5 writes"
        );
        let slow = of([60, 1, 70, 80, 2]);
        assert!(slow.state == Verdict::Warning && slow.remedy.is_some());
    }
}
