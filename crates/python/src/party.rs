//! The parties' identities, and their meeting.

use std::ffi::CString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant, SystemTime};

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use tacit::matching::{MAX_PARTS, Part};
use tacit::net::relay::Hello;
use tacit::session::{OtDevice, OtExtension};
use tacit::{Error, Fingerprint, Settings, WorkerTerms};
use tacit_gpu::{Choice, NotAChoice, Notice};

use crate::error;
use crate::session::Session;
use crate::wait::{Terms, Watch};

/// A key pair by which a peer knows this party.
#[pyclass(frozen, module = "tacit")]
pub(crate) struct Identity {
    identity: tacit::Identity,
}

#[pymethods]
impl Identity {
    /// Makes a new identity from the operating system's randomness. `save` stores it.
    #[staticmethod]
    fn generate(py: Python<'_>) -> PyResult<Self> {
        let made = tacit::Identity::generate();
        let identity = made.map_err(|error| error::raise(py, error))?;
        Ok(Self { identity })
    }

    /// Reads the identity that `save` or `tacit keygen` wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = tacit::Identity::load(&path);
        let identity = read.map_err(|error| error::raise(py, error))?;
        Ok(Self { identity })
    }

    /// Returns the identity in the file at `path`, or makes one there if the file does not exist.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        if path.exists() {
            return Self::load(py, path);
        }
        let made = Self::generate(py)?;
        made.save(py, path)?;
        Ok(made)
    }

    /// Writes the identity to a new file that only its owner can read.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = self.identity.save(&path);
        written.map_err(|error| error::raise(py, error))
    }

    /// Returns the fingerprint, by which the other party knows this identity. It is no secret.
    #[getter]
    fn fingerprint(&self) -> String {
        self.identity.fingerprint().to_string()
    }

    /// Makes a key for a worker of this party, which is this party to others for `valid` seconds.
    #[pyo3(signature = (name, *, valid))]
    fn for_worker(&self, py: Python<'_>, name: &str, valid: f64) -> PyResult<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_s = now.unwrap_or_default().as_secs();
        let terms = WorkerTerms::new(name, now_s, seconds(py, "valid", valid)?);
        let terms = terms.map_err(|error| error::usage(py, &error.to_string()))?;
        let worker = self.identity.for_worker(&terms);
        let identity = worker.map_err(|error| error::raise(py, error))?;
        Ok(Self { identity })
    }

    /// Returns the worker's name, if this is the key of a worker.
    #[getter]
    fn worker(&self) -> Option<&str> {
        self.identity.worker().map(WorkerTerms::name)
    }

    /// Pickles the key of a worker, and no other.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        if self.identity.worker().is_none() {
            let message = "the key of a party stays where it is; send identity.for_worker(...)";
            return Err(error::usage(py, message));
        }
        let pem = self.identity.to_pem();
        let pem = pem.map_err(|error| error::raise(py, error))?;
        let load = py.import("tacit._session")?.getattr("worker_of_pem")?;
        Ok((load, (pem.as_str().to_owned(),)))
    }

    /// Reads the text of a key that was pickled.
    #[staticmethod]
    fn of_pem(py: Python<'_>, pem: &str) -> PyResult<Self> {
        let read = tacit::Identity::from_pem(pem.as_bytes());
        let identity = read.map_err(|error| error::raise(py, error))?;
        Ok(Self { identity })
    }

    fn __repr__(&self) -> String {
        format!("Identity({})", self.identity.fingerprint())
    }
}

/// Ends waits from another thread.
#[pyclass(frozen, module = "tacit._tacit")]
pub(crate) struct Cancel {
    watch: Watch,
}

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        let watch = Watch::new();
        Self { watch }
    }

    fn cancel(&self) {
        self.watch.cancel_handle().cancel();
    }
}

/// The extra time for the library's own limit on connecting, whose error says more.
const GRACE: Duration = Duration::from_millis(60);

/// The terms of a session, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Meeting {
    peer: String,
    timeout: f64,
    patience: f64,
    stock: Option<PathBuf>,
    ot_extension: Option<String>,
    gpu: String,
    cancel: Py<Cancel>,
}

/// The peer, the limits of the wait for it, and how the session makes OTs.
struct Bounds {
    peer: Fingerprint,
    settings: Settings,
    limit: Duration,
    ot_extension: Option<OtExtension>,
    ot_device: Option<Arc<dyn OtDevice>>,
}

impl Bounds {
    fn new(py: Python<'_>, own: &Identity, meeting: &Meeting) -> PyResult<Self> {
        let limit = seconds(py, "timeout", meeting.timeout)?;
        let settings = Settings {
            connect_timeout: limit,
            timeout: seconds(py, "patience", meeting.patience)?,
            cancel: meeting.cancel.get().watch.cancel_handle().clone(),
            ..Settings::default()
        };
        let peer = fingerprint(py, own, &meeting.peer)?;
        let extension = meeting.ot_extension.as_deref();
        let extension = extension.map(|name| ot_extension(py, name)).transpose()?;
        let said = |error: String| error::usage(py, &format!("gpu: {error}"));
        let gpu: Choice = meeting
            .gpu
            .parse()
            .map_err(|error: NotAChoice| said(error.to_string()))?;
        let is_silent = extension == Some(OtExtension::Silent);
        if matches!(gpu, Choice::Number(_)) && !is_silent {
            let message = "a GPU makes OTs by silent OT alone; give both parties \
                           ot_extension=\"silent\", or leave gpu out";
            return Err(said(message.to_owned()));
        }
        let device = is_silent.then(|| gpu.device(warn)).transpose();
        let device = device.map_err(|error| said(error.to_string()))?;
        Ok(Self {
            peer,
            settings,
            limit,
            ot_extension: extension,
            ot_device: device.flatten(),
        })
    }

    /// Waits for a session, for `timeout` in all.
    fn wait(
        self,
        py: Python<'_>,
        identity: &Identity,
        meeting: Meeting,
        meet: impl FnOnce(&Self, &tacit::Identity) -> Result<tacit::Session, Error> + Send,
    ) -> PyResult<Session> {
        let end = Instant::now().checked_add(self.limit + GRACE);
        let terms = Terms {
            deadline: end.map(|end| (end, self.limit)),
            ..Terms::default()
        };
        let watch = meeting.cancel.get().watch.clone();
        let session = watch.run(py, terms, || meet(&self, &identity.identity))?;
        let mut session = session.map_err(|error| error::raise(py, error))?;
        if let Some(extension) = self.ot_extension {
            let set = session.set_ot_extension(extension);
            set.map_err(|error| error::raise(py, error))?;
        }
        if let Some(device) = &self.ot_device {
            session.set_ot_device(device.clone());
        }
        let own = identity.identity.fingerprint();
        Ok(Session::new(session, watch, own, meeting.stock))
    }
}

/// Connects to the peer at `address`. Repeats the try until the peer is there.
#[pyfunction]
pub(crate) fn connect(
    py: Python<'_>,
    address: &str,
    identity: &Identity,
    meeting: Meeting,
) -> PyResult<Session> {
    let bounds = Bounds::new(py, identity, &meeting)?;
    bounds.wait(py, identity, meeting, |bounds, identity| {
        tacit::Session::connect(address, identity, &bounds.peer, &bounds.settings)
    })
}

/// Meets the peer at the relay at `address`. Each part of a job has a room of its own there; part 0
/// is that of the processes that hand the parts out.
#[pyfunction]
pub(crate) fn meet(
    py: Python<'_>,
    address: &str,
    identity: &Identity,
    meeting: Meeting,
    part: Option<(u32, u32)>,
) -> PyResult<Session> {
    let bounds = Bounds::new(py, identity, &meeting)?;
    bounds.wait(py, identity, meeting, |bounds, identity| {
        let hello = Hello::between(&identity.fingerprint(), &bounds.peer);
        let hello = part.map_or(hello, |(number, of)| hello.in_part(number, of));
        let (peer, settings) = (&bounds.peer, &bounds.settings);
        tacit::Session::at_relay(address, hello, identity, peer, settings)
    })
}

/// An address to which a peer connects.
#[pyclass(frozen, module = "tacit._tacit")]
pub(crate) struct Listener {
    /// `None` once it is closed.
    listener: Mutex<Option<Arc<tacit::Listener>>>,
    address: String,
}

impl Listener {
    fn open(&self, py: Python<'_>) -> PyResult<Arc<tacit::Listener>> {
        let listener = self.listener.lock();
        let listener = listener.unwrap_or_else(PoisonError::into_inner);
        let closed = || error::usage(py, "the listener is closed; make a new one");
        listener.clone().ok_or_else(closed)
    }
}

#[pymethods]
impl Listener {
    #[new]
    fn new(py: Python<'_>, address: &str) -> PyResult<Self> {
        let bound = tacit::Listener::bind(address);
        let listener = bound.map_err(|error| error::raise(py, error))?;
        let address = listener.local_address().to_string();
        let listener = Mutex::new(Some(Arc::new(listener)));
        Ok(Self { listener, address })
    }

    /// Returns the address, with the port that was taken.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// Frees the port, once a running wait has ended, and so have sessions on several threads that
    /// began here.
    fn close(&self) {
        let listener = self.listener.lock();
        listener.unwrap_or_else(PoisonError::into_inner).take();
    }

    fn accept(&self, py: Python<'_>, identity: &Identity, meeting: Meeting) -> PyResult<Session> {
        let listener = self.open(py)?;
        let bounds = Bounds::new(py, identity, &meeting)?;
        bounds.wait(py, identity, meeting, |bounds, identity| {
            listener.accept(identity, &bounds.peer, &bounds.settings)
        })
    }
}

/// Returns the OT extension of this name.
fn ot_extension(py: Python<'_>, name: &str) -> PyResult<OtExtension> {
    OtExtension::from_name(name).ok_or_else(|| {
        let names = OtExtension::NAMED.map(|extension| extension.to_string());
        let names = names.join(", ");
        error::usage(
            py,
            &format!("ot_extension is {name:?}; give one of {names}"),
        )
    })
}

/// Warns that a GPU is not used.
fn warn(notice: &Notice) {
    if let Notice::NotUsed(_) = notice
        && let Ok(text) = CString::new(notice.to_string())
    {
        Python::attach(|py| {
            let category = py.get_type::<PyRuntimeWarning>();
            // The work goes on if the warning is an error.
            let _ = PyErr::warn(py, &category, &text, 1);
        });
    }
}

fn fingerprint(py: Python<'_>, own: &Identity, peer: &str) -> PyResult<Fingerprint> {
    let fingerprint: Fingerprint = peer
        .trim()
        .parse()
        .map_err(|error| error::usage(py, &format!("peer: {error}")))?;
    if fingerprint == own.identity.fingerprint() {
        let message = format!(
            "peer: {fingerprint} is this party's own fingerprint; give that of the other party"
        );
        return Err(error::usage(py, &message));
    }
    Ok(fingerprint)
}

/// Converts the argument `threads`, a number of threads; without it, returns that of the cores.
pub(crate) fn threads(py: Python<'_>, given: Option<i64>) -> PyResult<NonZeroUsize> {
    let Some(given) = given else {
        return Ok(available_parallelism().unwrap_or(NonZeroUsize::MIN));
    };
    let threads = usize::try_from(given).ok().and_then(NonZeroUsize::new);
    threads.ok_or_else(|| error::usage(py, "threads: give at least 1"))
}

/// Converts the argument `shard`, the number of a part and the number of all parts.
pub(crate) fn part(py: Python<'_>, given: Option<&Py<PyAny>>) -> PyResult<Option<Part>> {
    let Some(given) = given else {
        return Ok(None);
    };
    let numbers = given.bind(py).extract::<(u32, u32)>().ok();
    let part = numbers.and_then(|(number, of)| Part::new(number, of).ok());
    let part = part.ok_or_else(|| {
        let given = given.bind(py).repr();
        let given = given.map_or_else(|_| String::new(), |given| given.to_string());
        let message = format!(
            "shard is {given}; give (K, S), with K from 1 to S, and S up to {MAX_PARTS}, such as \
             (3, 16)"
        );
        error::usage(py, &message)
    })?;
    Ok(Some(part))
}

/// Converts the argument `name`, a number of seconds.
pub(crate) fn seconds(py: Python<'_>, name: &str, given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| {
            let message = format!("{name} is {given}; give a number of seconds above 0");
            error::usage(py, &message)
        })
}
