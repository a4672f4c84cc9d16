//! The files of a stock, and the peer's messages about its own stock.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use tacit_stock::{
    ChainMarks, ComponentDigest, EpochId, InstanceSize, Limits, Marks, Memory, PeerId, Policy,
    Role, RootKey, Span, StockError, StockId, Stocks,
};

const KIND: ComponentDigest = ComponentDigest([7; 32]);
const FOLDER: &str = "/stocks";

fn id() -> StockId {
    StockId {
        own: PeerId([1; 32]),
        peer: PeerId([2; 32]),
        role: Role::Evaluator,
        scheme: *b"test",
        lanes: Default::default(),
    }
}

/// Fuzzes a peer's marks, of a stock and of a chain.
pub fn marks(data: &[u8]) {
    if let Ok(marks) = ChainMarks::parse(data) {
        assert_eq!(marks.to_bytes()[..], *data);
    }
    if let Ok(marks) = Marks::parse(data) {
        assert_eq!(marks.to_bytes(), data);
    }
}

/// Returns a disk with a stock that holds a lot of ten instances and a chain with a value.
fn disk() -> &'static Memory {
    static MADE: OnceLock<Memory> = OnceLock::new();
    MADE.get_or_init(|| {
        let memory = Memory::new();
        fill(&memory).expect("a sound disk");
        memory
    })
}

fn open(memory: &Memory) -> Result<Stocks, StockError> {
    Stocks::open(Arc::new(memory.clone()), Path::new(FOLDER), RootKey::Beside)
}

fn fill(memory: &Memory) -> Result<(), StockError> {
    let epoch = EpochId {
        number: 1,
        nonce: [3; 16],
    };
    let stock = open(memory)?.create(id(), epoch, b"a secret", Limits::default())?;
    let preparation = stock.prepare()?;
    let size = InstanceSize {
        secret_bytes: 16,
        table_bytes: 40,
    };
    let span = Span {
        first: 0,
        count: 10,
    };
    let lot = preparation.begin_lot(KIND, size, span)?;
    for number in 0..span.count {
        lot.put(number, &[5; 16], &[6; 40])?;
    }
    lot.finish()?;
    stock.publish(&KIND, 0)?;
    let chain = stock.chain("patients")?;
    let policy = Policy::open_to(&[PeerId([3; 32])])?;
    let mut first = chain.create([4; 16], &policy, Some([5; 32]), b"state")?;
    first.put("age", b"value")?;
    let version = first.finish()?;
    chain.publish(version)
}

/// Returns the marks of the stock and of its chain in the form for a peer: inputs of [`marks`].
///
/// # Errors
///
/// The disk fails, which cannot happen.
pub fn honest_marks() -> Result<[Vec<u8>; 2], StockError> {
    let stock = open(&disk().copy())?.stock(id(), Limits::default())?;
    let chain = stock.chain("patients")?;
    Ok([
        stock.marks()?.to_bytes(),
        chain.marks()?.to_bytes().to_vec(),
    ])
}

/// Fuzzes a stock whose disk has changed: every read must report that or be right. Four bytes
/// change one byte: the number of a file or of an entry of the index, the offset, the bits.
pub fn stock(data: &[u8]) {
    let memory = disk().copy();
    for change in data.chunks_exact(4).take(64) {
        let offset = usize::from(u16::from_le_bytes([change[1], change[2]]));
        let number = usize::from(change[0] >> 1);
        if change[0] & 1 == 0 {
            let files = memory.files();
            memory.flip_bit(&files[number % files.len()], offset);
        } else {
            memory.change_entry(number, offset, change[3]);
        }
    }
    let _ = read_all(&memory);
}

/// Uses everything on the disk, and checks that the values read are those written.
fn read_all(memory: &Memory) -> Result<(), StockError> {
    let stocks = open(memory)?;
    for id in stocks.list()? {
        let _ = stocks.stock(id, Limits::default());
    }
    let stock = stocks.stock(id(), Limits::default())?;
    let _ = stock.summary();
    let _ = stock.chains();
    let _ = stock
        .epoch_secret()
        .map(|secret| assert_eq!(&secret[..], b"a secret"));
    if let Ok(chain) = stock.chain("patients") {
        let _ = chain.state().map(|state| assert_eq!(&state[..], b"state"));
        let _ = chain
            .load("age")
            .map(|(_, value)| assert_eq!(&value[..], b"value"));
        let _ = chain.marks();
        let _ = chain.policy();
    }
    if let Ok(lease) = stock.lease(&KIND, 3) {
        for instance in lease.instances().flatten() {
            assert_eq!(
                (instance.secret(), instance.tables()),
                (&[5; 16][..], &[6; 40][..])
            );
        }
    }
    let _ = stock.marks();
    let _ = stock.check();
    let _ = stock.compact();
    Ok(())
}
