//! Several processes simultaneously open a folder that is new, or that a crash left with half a
//! key.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use tacit_stock::{
    Disk, EpochId, Limits, PeerId, Role, RootKey, Stock, StockError, StockId, Stocks,
};

const PROCESSES: u8 = 8;
/// The variable that tells a process of this test its number.
const NUMBER: &str = "TACIT_TEST_PROCESS";
/// The number of the stock that all processes want.
const SHARED: u8 = 200;

fn id(peer: u8) -> StockId {
    StockId {
        own: PeerId([1; 32]),
        peer: PeerId([peer; 32]),
        role: Role::Garbler,
        scheme: *b"test",
        lanes: Default::default(),
    }
}

fn epoch() -> EpochId {
    EpochId {
        number: 1,
        nonce: [3; 16],
    }
}

fn open(folder: &Path) -> Result<Stocks, StockError> {
    Stocks::open(Arc::new(Disk), folder, RootKey::Beside)
}

fn create(stocks: &Stocks, peer: u8) -> Result<Stock, StockError> {
    stocks.create(id(peer), epoch(), &[peer], Limits::default())
}

/// Does what each process does in each round: opens the folder, creates a stock of its own, and
/// creates or opens the shared one.
fn take_part(number: u8, folder: &Path) -> Result<(), StockError> {
    let stocks = open(folder)?;
    create(&stocks, number)?;
    let shared = match create(&stocks, SHARED) {
        Err(StockError::ApiMisuse { .. }) => stocks.stock(id(SHARED), Limits::default())?,
        other => other?,
    };
    assert_eq!(shared.epoch_secret()?[..], [SHARED]);
    Ok(())
}

/// Runs as one of the processes: takes part in each folder that it is given, and answers.
#[test]
#[ignore = "a process of the tests in this file, which start it"]
fn process() {
    let Ok(number) = env::var(NUMBER) else {
        return;
    };
    let number = number.parse().unwrap();
    for folder in std::io::stdin().lines() {
        let answer = match take_part(number, Path::new(&folder.unwrap())) {
            Ok(()) => "done".to_owned(),
            Err(error) => error.to_string(),
        };
        // The test harness writes to the same pipe.
        println!("\nanswer: {answer}");
    }
}

struct Process {
    child: Child,
    folders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(number: u8) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "first_opening::process",
                "--ignored",
                "--nocapture",
            ])
            .env(NUMBER, number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            folders: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn tell(&mut self, folder: &Path) {
        let folders = self.folders.as_mut().unwrap();
        writeln!(folders, "{}", folder.display()).unwrap();
    }

    fn answer(&mut self) -> String {
        let mut lines = (&mut self.answers).lines().map(Result::unwrap);
        let answer = lines.find_map(|line| Some(line.strip_prefix("answer: ")?.to_owned()));
        answer.expect("an answer of the process")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process ends with its input.
        self.folders = None;
        let _ = self.child.wait();
    }
}

/// Lets all processes open a folder at once, `rounds` times. `prepare` creates what they find.
fn race(rounds: usize, prepare: impl Fn(&Path)) {
    let mut processes: Vec<Process> = (0..PROCESSES).map(Process::start).collect();
    for round in 0..rounds {
        let parent = tempfile::tempdir().unwrap();
        let folder: PathBuf = parent.path().join("stocks");
        prepare(&folder);
        processes.iter_mut().for_each(|one| one.tell(&folder));
        let answers: Vec<String> = processes.iter_mut().map(Process::answer).collect();
        assert!(
            answers.iter().all(|answer| answer == "done"),
            "round {round}: {answers:#?}"
        );
        // All stocks open under the key that is on the disk.
        let stocks = open(&folder).unwrap();
        for peer in (0..PROCESSES).chain([SHARED]) {
            let stock = stocks.stock(id(peer), Limits::default()).unwrap();
            assert_eq!(stock.epoch_secret().unwrap()[..], [peer]);
        }
    }
}

fn nothing(_: &Path) {}

/// Writes half a root key, as a crash leaves it.
fn half_a_key(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    let file = folder.join("root.key");
    std::fs::write(&file, b"TACITROT and no more").unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

#[test]
fn eight_processes_open_a_new_folder_at_once() {
    race(20, nothing);
}

#[test]
fn eight_processes_open_a_folder_with_half_a_key_at_once() {
    race(20, half_a_key);
}

#[test]
#[ignore = "takes minutes"]
fn eight_processes_open_a_new_folder_a_thousand_times() {
    race(1_000, nothing);
    race(1_000, half_a_key);
}
