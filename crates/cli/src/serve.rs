//! `tacit serve`: the service, its configuration, its signals and its log.
//!
//! | signal | effect |
//! |---|---|
//! | SIGHUP | reads the configuration again, and accepts it if it is valid |
//! | SIGTERM, SIGINT | stops: the first gives runs some time to end, the second stops at once |

mod border;
mod check;
pub(crate) mod config;
mod joined;
mod lanes;
mod levels;
mod policy;
mod servers;
mod sources;
mod tables;
mod visitors;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tacit::net::{IpNet, Lane, NetError};
use tacit::{Category, Error, Listener};
use tacit_serve::event::Severity;
use tacit_serve::{Event, Log, Observer, Policy, Service, descriptors, http};

use crate::args::{LogFormat, ServeArgs};
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::output::{self, counted};
use crate::{party, stock};

/// The default addresses for peers and for metrics.
const LISTEN: &str = "0.0.0.0:7000";
const METRICS: &str = "127.0.0.1:9464";
/// The default time for runs to end when the service stops.
const STOP_TIME: Duration = Duration::from_secs(30);
/// The time for the last lines of the log to be read.
const LOG_TIME: Duration = Duration::from_secs(1);

/// The action that a signal asks for.
enum Signal {
    #[cfg_attr(not(unix), expect(dead_code, reason = "no signal asks for it there"))]
    Reload,
    Stop,
}

/// The contents of the configuration. Only the policy may change while the service runs.
struct ServeConfig {
    fixed: Fixed,
    policy: Policy,
    stop: Duration,
    /// Settings that are valid but probably not meant; `--check` prints them.
    warnings: Vec<String>,
}

#[derive(PartialEq, Eq)]
struct Fixed {
    listen: String,
    origins: Option<Vec<String>>,
    proxy_from: Vec<IpNet>,
    metrics: String,
    identity: PathBuf,
    stock: Option<PathBuf>,
    witness: Option<PathBuf>,
    lane: Option<Lane>,
    stock_bytes: u64,
}

impl Fixed {
    /// Returns the fixed fields in which another configuration differs.
    fn differences(&self, other: &Self) -> Vec<&'static str> {
        let fields = [
            ("listen", self.listen != other.listen),
            ("origins", self.origins != other.origins),
            ("proxy_from", self.proxy_from != other.proxy_from),
            ("metrics", self.metrics != other.metrics),
            ("identity", self.identity != other.identity),
            ("[stock] folder", self.stock != other.stock),
            ("[stock] witness", self.witness != other.witness),
            ("[stock] lane", self.lane != other.lane),
            ("[stock] limit_gib", self.stock_bytes != other.stock_bytes),
        ];
        let differing = fields.iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| *name).collect()
    }
}

impl ServeConfig {
    /// Reads and checks the configuration, in the same way at the start, at a reload and for
    /// `--check`.
    fn read(args: &ServeArgs, path: Option<&Path>) -> Result<Self, Failure> {
        let config = Config::load(path)?;
        let Some(serve) = &config.serve else {
            let path = crate::config::file(path)?;
            if !path.exists() {
                return Err(Failure::no_config(&path));
            }
            return Err(usage!(
                "{} has no [serve]", path.display();
                "docs/operate.md shows one, and `tacit config schema` prints its schema"
            ));
        };
        let said = |given: &Option<String>, found: &Option<String>, usual: &str| {
            let said = given.as_ref().or(found.as_ref());
            said.map_or_else(|| usual.to_owned(), Clone::clone)
        };
        let fixed = Fixed {
            listen: said(&args.listen, &serve.listen, LISTEN),
            origins: serve.origins.clone(),
            proxy_from: serve.proxy_from.clone(),
            metrics: said(&args.metrics, &serve.metrics, METRICS),
            identity: party::identity_path(args.identity.as_ref(), &config)?,
            stock: args.stock.stock.clone().or(config.stock.folder.clone()),
            witness: config.stock.witness.clone(),
            lane: config.stock.lane,
            stock_bytes: stock::limit_bytes(&config),
        };
        let policy = policy::policy(&config, serve)?;
        let folder = stock::folder(args.stock.stock.as_deref(), &config)?;
        lanes::check_chains(&folder, &config, &policy)?;
        descriptors::allow(policy.limits().descriptors())
            .map_err(|error| Failure::usage(format!("[serve] sessions: {error}")))?;
        Ok(Self {
            warnings: check::check(&fixed, &policy)?,
            fixed,
            policy,
            stop: serve.stop.unwrap_or(STOP_TIME),
        })
    }

    /// Returns the numbers of peers, functions, tables and levels of stock. A program that joins
    /// tables is a function.
    fn counts(&self) -> [usize; 4] {
        let functions = self.policy.function_count();
        let offers = self.policy.offers().iter();
        let plain: usize = offers.map(|offer| offer.functions.len()).sum();
        [
            self.policy.peers().len(),
            functions,
            self.policy.table_offers().len() - (functions - plain),
            self.policy.levels().len(),
        ]
    }

    /// Returns the same numbers in words.
    fn counted(&self) -> String {
        let [peers, functions, tables, levels] = self.counts();
        let counts = [
            counted(peers, "peer"),
            counted(functions, "function"),
            counted(tables, "table"),
            counted(levels, "level"),
        ];
        format!("{} of stock", counts.join(", "))
    }
}

/// Runs the command.
pub(crate) fn serve(args: &ServeArgs, config: Option<&Path>, verbose: u8) -> Result<(), Failure> {
    let wanted = ServeConfig::read(args, config)?;
    let identity = party::own_identity(&wanted.fixed.identity)?;
    if args.check {
        return told(&wanted, args.json);
    }
    let signals = signals()?;
    let stocks = stock::open(args.stock.stock.as_deref(), &Config::load(config)?)?;
    let format = args.log;
    let least = match verbose {
        0 => Severity::Info,
        _ => Severity::Debug,
    };
    let log = Log::start(standard_error(), least, move |event| line(event, format));
    let no_thread = |_| Error::ApiMisuse("the system gives no thread; see its limits");
    let log = Arc::new(log.map_err(no_thread)?);
    let listener = Listener::bind(&wanted.fixed.listen)?;
    let ServeConfig {
        fixed,
        policy,
        mut stop,
        ..
    } = wanted;
    let service = Service::start(
        identity,
        listener,
        Some(stocks),
        policy,
        Arc::<Log>::clone(&log),
    )?;
    let _metrics = serve_metrics(&fixed.metrics, &service, &log)?;
    notify(Phase::Ready, "");
    while let Ok(Signal::Reload) = signals.recv() {
        notify(Phase::Reloading, "");
        let refused = match ServeConfig::read(args, config) {
            Ok(wanted) if wanted.fixed == fixed => {
                stop = wanted.stop;
                service.reload(wanted.policy);
                None
            }
            Ok(wanted) => Some(format!(
                "{} changed, which takes a restart",
                fixed.differences(&wanted.fixed).join(", ")
            )),
            Err(failure) => Some(failure.to_string()),
        };
        let status = refused.as_ref().map(|why| format!("reload refused: {why}"));
        let status = status.map(|status| status.replace('\n', " "));
        if let Some(why) = refused {
            service.reload_refused(why);
        }
        notify(Phase::Ready, &status.unwrap_or_default());
    }
    notify(Phase::Stopping, "");
    std::thread::spawn(move || {
        while let Ok(signal) = signals.recv() {
            if matches!(signal, Signal::Stop) {
                std::process::exit(Category::Cancelled as i32);
            }
        }
    });
    service.stop(stop);
    log.flush(LOG_TIME);
    Ok(())
}

/// Serves metrics and health at this address, or nowhere if it is empty.
fn serve_metrics(
    address: &str,
    service: &Service,
    log: &Log,
) -> Result<Option<http::Server>, Failure> {
    if address.is_empty() {
        return Ok(None);
    }
    let server = http::Server::start(address, service.answers());
    let server = server.map_err(|reason| {
        let address = format!("{address} for metrics");
        Error::Network(NetError::Address { address, reason })
    })?;
    let address = server.local_address().to_string();
    log.tell(&Event::Metrics { address });
    Ok(Some(server))
}

/// Prints the findings of `--check`.
fn told(wanted: &ServeConfig, as_json: bool) -> Result<(), Failure> {
    if as_json {
        let [peers, functions, tables, levels] = wanted.counts();
        return output::print_json(json!({
            "peers": peers,
            "functions": functions,
            "tables": tables,
            "levels": levels,
            "warnings": wanted.warnings,
        }));
    }
    for warning in &wanted.warnings {
        eprintln!("tacit: warning: {warning}");
    }
    output::print(format!("right: {}\n", wanted.counted()))
}

/// Returns the finding of `tacit doctor` about the service's configuration.
pub(crate) fn looked_at(config: Option<&Path>) -> Result<String, Failure> {
    let wanted = ServeConfig::read(&ServeArgs::default(), config)?;
    let mut told = wanted.counted();
    for warning in &wanted.warnings {
        told = format!("{told}; {warning}");
    }
    Ok(told)
}

/// Returns an event as a line of the log, with the time.
fn line(event: &Event, format: LogFormat) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let time = time.unwrap_or_default();
    match format {
        LogFormat::Text => event.line(time.as_secs()),
        LogFormat::Json => event.json(time.as_micros() as f64 / 1e6),
    }
}

/// Returns standard error without its lock, for which a panicking thread would wait.
#[cfg(unix)]
fn standard_error() -> Box<dyn Write + Send> {
    use std::os::fd::AsFd;
    match std::io::stderr().as_fd().try_clone_to_owned() {
        Ok(copy) => Box::new(std::fs::File::from(copy)),
        Err(_) => Box::new(std::io::stderr()),
    }
}

#[cfg(not(unix))]
fn standard_error() -> Box<dyn Write + Send> {
    Box::new(std::io::stderr())
}

#[cfg(unix)]
fn signals() -> Result<mpsc::Receiver<Signal>, Failure> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let caught = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]);
    let mut caught = caught.map_err(|error| Failure::signal(&error))?;
    let (sender, signals) = mpsc::channel();
    std::thread::spawn(move || {
        for signal in caught.forever() {
            let asked = match signal {
                SIGHUP => Signal::Reload,
                _ => Signal::Stop,
            };
            if sender.send(asked).is_err() {
                return;
            }
        }
    });
    Ok(signals)
}

#[cfg(not(unix))]
fn signals() -> Result<mpsc::Receiver<Signal>, Failure> {
    let (sender, signals) = mpsc::channel();
    // The receiver is gone once the service has stopped.
    ctrlc::set_handler(move || drop(sender.send(Signal::Stop)))
        .map_err(|error| Failure::signal(&error))?;
    Ok(signals)
}

/// The service's phase, for the service manager.
#[derive(Clone, Copy)]
enum Phase {
    Ready,
    Reloading,
    Stopping,
}

/// Tells the service manager, if there is one, the phase and a status line.
#[cfg(unix)]
fn notify(phase: Phase, status: &str) {
    use sd_notify::NotifyState;
    let status = NotifyState::Status(status);
    // Without a service manager a failure does not matter.
    let _ = match phase {
        Phase::Ready => sd_notify::notify(&[NotifyState::Ready, status]),
        Phase::Reloading => match NotifyState::monotonic_usec_now() {
            Ok(now) => sd_notify::notify(&[NotifyState::Reloading, now]),
            Err(_) => sd_notify::notify(&[NotifyState::Reloading]),
        },
        Phase::Stopping => sd_notify::notify(&[NotifyState::Stopping]),
    };
}

#[cfg(not(unix))]
fn notify(_phase: Phase, _status: &str) {}
