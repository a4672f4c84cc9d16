//! Two parties with a stock each, and what they do with their stocks, from meeting to compacting.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use tacit_stock::{
    Agreement, ComponentDigest, EpochId, InstanceSize, Lease, LeasePool, LeaseRequest, Limits,
    LotWriter, PeerId, Role, RootKey, Span, Stock, StockError, StockId, Stocks, Storage, Witness,
};

pub(crate) const TABLES: ComponentDigest = ComponentDigest([7; 32]);
pub(crate) const OTS: ComponentDigest = ComponentDigest([9; 32]);
pub(crate) const EPOCH: EpochId = EpochId {
    number: 1,
    nonce: [3; 16],
};

pub(crate) fn id(role: Role) -> StockId {
    let (own, peer) = match role {
        Role::Garbler => (PeerId([1; 32]), PeerId([2; 32])),
        Role::Evaluator => (PeerId([2; 32]), PeerId([1; 32])),
    };
    StockId {
        own,
        peer,
        role,
        scheme: *b"test",
        lanes: Default::default(),
    }
}

pub(crate) fn size(role: Role, kind: &ComponentDigest) -> InstanceSize {
    let table_bytes = if role == Role::Evaluator && *kind == TABLES {
        1500
    } else {
        0
    };
    InstanceSize {
        secret_bytes: 16,
        table_bytes,
    }
}

/// Every number that a party was ever given, over all its restarts.
#[derive(Default)]
pub(crate) struct Ledger {
    given: BTreeSet<(Role, ComponentDigest, u64)>,
    pub(crate) used: u64,
}

impl Ledger {
    pub(crate) fn record(
        &mut self,
        role: Role,
        kind: ComponentDigest,
        spans: impl Iterator<Item = Span>,
    ) {
        for number in spans.flat_map(|span| span.first..span.end()) {
            let new = self.given.insert((role, kind, number));
            assert!(new, "{role:?} was given instance {number} of {kind} twice");
        }
    }
}

pub(crate) fn open(
    storage: Arc<dyn Storage>,
    folder: &Path,
    role: Role,
) -> Result<Stock, StockError> {
    let witness = Witness::open(Arc::clone(&storage), &folder.join("witness"))?;
    let stocks = Stocks::open(storage, folder, RootKey::Beside)?.witnessed(witness);
    match stocks.stock(id(role), Limits::default()) {
        Err(StockError::Missing { .. }) => {
            stocks.create(id(role), EPOCH, b"the epoch's secret", Limits::default())
        }
        result => result,
    }
}

/// Returns the mark, the available number and the next number of each kind.
fn by_kind(agreement: &Agreement) -> BTreeMap<ComponentDigest, (u64, u64, u64)> {
    let kinds = agreement.kinds.iter();
    kinds
        .map(|kind| (kind.kind, (kind.mark, kind.available, kind.next_number)))
        .collect()
}

/// A new lot: its kind, its first number and count, and a tag that distinguishes it from others.
pub(crate) type NewLot = (ComponentDigest, (u64, u64), u64);

/// Writes a lot at both parties and publishes it.
pub(crate) fn prepare_lot(
    both: [&tacit_stock::Preparation; 2],
    kind: ComponentDigest,
    numbers: (u64, u64),
    tag: u64,
) -> Result<(), StockError> {
    prepare_lots(both, &[(kind, numbers, tag)])
}

/// Writes lots at both parties, and publishes them together.
pub(crate) fn prepare_lots(
    both: [&tacit_stock::Preparation; 2],
    lots: &[NewLot],
) -> Result<(), StockError> {
    for preparation in both {
        let role = preparation.stock().id().role;
        let asked = lots.iter().map(|(kind, (first, count), _)| {
            let (first, count) = (*first, *count);
            (*kind, size(role, kind), Span { first, count })
        });
        let writers = preparation.begin_lots(&asked.collect::<Vec<_>>())?;
        for (lot, (kind, (first, count), tag)) in writers.iter().zip(lots) {
            let tables = vec![*tag as u8; size(role, kind).table_bytes as usize];
            for number in *first..first + count {
                let secret = [tag.to_le_bytes(), number.to_le_bytes()].concat();
                lot.put(number, &secret, &tables)?;
            }
        }
        LotWriter::finish_all(writers)?;
    }
    let named: Vec<_> = lots
        .iter()
        .map(|(kind, (first, _), _)| (*kind, *first))
        .collect();
    let mut both = both.into_iter();
    both.try_for_each(|preparation| preparation.stock().publish_all(&named))
}

/// Reads both halves of the same instances and compares them.
pub(crate) fn use_both(
    garbler: Lease,
    evaluator: Lease,
    ledger: &mut Ledger,
) -> Result<(), StockError> {
    for (ours, theirs) in garbler.instances().zip(evaluator.instances()) {
        let (ours, theirs) = (ours?, theirs?);
        assert_eq!(ours.number(), theirs.number());
        assert_eq!(
            ours.secret(),
            theirs.secret(),
            "halves of different instances"
        );
        assert!(
            theirs
                .tables()
                .iter()
                .all(|byte| *byte == theirs.secret()[0])
        );
        ledger.used += 1;
    }
    Ok(())
}

/// Meets, prepares, leases, uses and compacts.
pub(crate) fn run(
    garbler: &Stock,
    evaluator: &Stock,
    ledger: &mut Ledger,
    tag: u64,
) -> Result<(), StockError> {
    {
        let (ours, theirs) = (garbler.prepare()?, evaluator.prepare()?);
        let (our_marks, their_marks) = (ours.marks()?, theirs.marks()?);
        let at_garbler = ours.reconcile(&their_marks)?;
        let at_evaluator = theirs.reconcile(&our_marks)?;
        assert_eq!(at_garbler.meeting, at_evaluator.meeting);
        assert_eq!(
            by_kind(&at_garbler),
            by_kind(&at_evaluator),
            "after the parties met"
        );
        garbler.confirm(at_garbler.meeting)?;
        evaluator.confirm(at_evaluator.meeting)?;
        let both = [&ours, &theirs];
        let agreed = by_kind(&at_garbler);
        let next = |kind| agreed.get(kind).map_or(0, |kind| kind.2);
        let lots = [
            (TABLES, (next(&TABLES), 4), tag),
            (OTS, (next(&OTS), 9), tag + 1),
        ];
        prepare_lots(both, &lots)?;
        prepare_lot(both, TABLES, (next(&TABLES) + 4, 3), tag + 2)?;
    }
    let kinds = [TABLES, OTS];
    let (mut ours, mut theirs) = (LeasePool::new(), LeasePool::new());
    let wanted = kinds.map(|kind| LeaseRequest {
        kind,
        least: 3,
        most: 5,
    });
    let leases = evaluator.lease_all(&wanted)?;
    let spans: Vec<Vec<Span>> = leases.iter().map(|lease| lease.spans().collect()).collect();
    for (kind, spans) in kinds.iter().zip(&spans) {
        ledger.record(Role::Evaluator, *kind, spans.iter().copied());
    }
    let named: Vec<_> = kinds
        .iter()
        .zip(&spans)
        .map(|(kind, spans)| (*kind, &spans[..]))
        .collect();
    let followed = garbler.lease_named(&named)?;
    for (kind, spans) in kinds.iter().zip(&spans) {
        ledger.record(Role::Garbler, *kind, spans.iter().copied());
    }
    followed.into_iter().try_for_each(|lease| ours.add(lease))?;
    leases.into_iter().try_for_each(|lease| theirs.add(lease))?;
    for kind in &kinds {
        use_both(ours.take(kind, 2)?, theirs.take(kind, 2)?, ledger)?;
    }
    garbler.compact()?;
    evaluator.compact()?;
    assert_eq!(garbler.epoch_secret()?.as_slice(), b"the epoch's secret");
    Ok(())
}
