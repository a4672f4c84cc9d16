//! Two parties that know each other, each with stocks, and both ends of their sessions.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tacit::net::{NetError, memory};
use tacit::session::Side;
use tacit::stock::Stocks;
use tacit::{Error, Function, Identity, Listener, Role, Session, Settings, Type, Value, library};
use tacit_stock::Memory;
use tempfile::TempDir;

pub(crate) const ROLES: [Role; 2] = Role::BOTH;

/// A pair of results, the garbler's first.
pub(crate) type Both<T> = [Result<T, Error>; 2];

/// The parties, the garbler first.
pub(crate) struct Pair {
    pub(crate) identities: [Identity; 2],
    /// The folders of their stocks, unless these are on `disks`.
    pub(crate) folders: Option<[TempDir; 2]>,
    /// Storage that can lose power.
    pub(crate) disks: [Memory; 2],
    pub(crate) max_bytes: [u64; 2],
}

impl Pair {
    /// Parties whose stocks are in folders.
    pub(crate) fn in_folders() -> Self {
        Self {
            folders: Some([(); 2].map(|()| TempDir::new().expect("a folder"))),
            ..Self::in_memory()
        }
    }

    /// Parties whose stocks are on storage that can lose power.
    pub(crate) fn in_memory() -> Self {
        Self {
            identities: [(); 2].map(|()| Identity::generate().expect("randomness")),
            folders: None,
            disks: [(); 2].map(|()| Memory::new()),
            max_bytes: [1 << 30; 2],
        }
    }

    /// Returns the same parties, on other storage.
    pub(crate) fn on(&self, disks: [Memory; 2]) -> Self {
        Self {
            identities: self.identities.clone(),
            disks,
            folders: None,
            ..*self
        }
    }

    pub(crate) fn folder(&self, party: usize) -> &Path {
        self.folders.as_ref().expect("folders")[party].path()
    }

    pub(crate) fn stocks(&self, party: usize) -> Stocks {
        self.open(party).expect("storage with power")
    }

    fn open(&self, party: usize) -> Result<Stocks, Error> {
        let max_bytes = self.max_bytes[party];
        if self.folders.is_some() {
            return Stocks::open(self.folder(party), max_bytes);
        }
        let storage = Arc::new(self.disks[party].clone());
        Stocks::over(storage, Path::new("stocks"), max_bytes)
    }

    /// Runs `work` at both parties over a session of its own, each over its stocks.
    pub(crate) fn both<T: Send>(
        &self,
        work: impl Fn(usize, &mut Session, &Stocks) -> Result<T, Error> + Sync,
    ) -> Both<T> {
        let work = |party: usize, session: Result<Session, Error>| {
            let (mut session, stocks) = (session?, self.open(party)?);
            let done = work(party, &mut session, &stocks);
            // A peer that has lost its power does not affect what is done.
            let _ = session.close();
            done
        };
        self.over_tls(work)
    }

    /// Returns the ends of a session, the garbler's first.
    pub(crate) fn meet(&self) -> (Session, Session) {
        let [a, b] = self.over_tls(|_, session| session);
        (a.expect("a session"), b.expect("a session"))
    }

    /// Runs `work` at both parties on their ends of a session over TLS.
    fn over_tls<T: Send>(
        &self,
        work: impl Fn(usize, Result<Session, Error>) -> Result<T, Error> + Sync,
    ) -> Both<T> {
        let [a, b] = &self.identities;
        let settings = &Settings {
            timeout: Duration::from_secs(60),
            ..Settings::default()
        };
        let listener = Listener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_address().to_string();
        at_both(
            || work(0, listener.accept(a, &b.fingerprint(), settings)),
            || work(1, Session::connect(&address, b, &a.fingerprint(), settings)),
        )
    }
}

/// Runs `work` at both parties, each over its end of one session in memory. The garbler connects.
pub(crate) fn in_memory<T: Send>(
    work: impl Fn(usize, &mut Session) -> Result<T, Error> + Sync,
) -> Both<T> {
    let (a, b) = memory::pair();
    let act = |party: usize, channel, side| {
        let mut session = Session::over(channel, side, None)?;
        work(party, &mut session)
    };
    at_both(
        || act(0, a, Side::Connecting),
        || act(1, b, Side::Listening),
    )
}

/// Runs both parts at the same time and returns their results.
pub(crate) fn at_both<T: Send>(
    garbler: impl FnOnce() -> T + Send,
    evaluator: impl FnOnce() -> T,
) -> [T; 2] {
    thread::scope(|scope| {
        let garbler = scope.spawn(garbler);
        let evaluator = evaluator();
        [garbler.join().expect("no panic"), evaluator]
    })
}

/// From FIPS 197, appendix C.1.
pub(crate) const KEY: &str = "000102030405060708090a0b0c0d0e0f";
pub(crate) const BLOCK: &str = "00112233445566778899aabbccddeeff";
pub(crate) const CIPHERTEXT: &str = "69c4e0d86a7b0430d8cdb78070b4c55a";

/// Returns the name and the value of a party's input to AES.
pub(crate) fn aes_input(party: usize) -> (&'static str, Value) {
    let (name, hex) = [("key", KEY), ("block", BLOCK)][party];
    (name, bytes(hex))
}

pub(crate) fn bytes(hex: &str) -> Value {
    Value::parse(&Type::bytes(hex.len() / 2), hex).expect("hex")
}

pub(crate) fn aes_128_rounds() -> Function {
    library::function("aes-128-rounds", &BTreeMap::new()).expect("a function")
}

pub(crate) fn millionaires(bits: u64) -> Function {
    let bits = BTreeMap::from([("bits".to_owned(), bits)]);
    library::function("millionaires", &bits).expect("a function")
}

/// Fails the test if a party waited in vain. A loss of power may cause any other error.
pub(crate) fn no_hang<T>(result: Result<T, Error>) -> Result<T, Error> {
    if let Err(Error::Network(NetError::Timeout { .. } | NetError::TimeLimit { .. })) = &result {
        panic!("a party waits for one that is gone");
    }
    result
}
