//! Leased instances in memory: their numbers, their keys and their open files.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::cover::Cover;
use crate::records::LotRecord;
use crate::stock::LotFile;
use crate::{ComponentDigest, Instance, InstanceSize, OfProcess, Span, StockError};

/// The bytes that are read at a time from small instances.
const READ_BYTES: u64 = 256 * 1024;

/// The part that the leases of one call share: the files of their instances, and the keys.
pub(super) struct Source {
    pub(super) size: InstanceSize,
    /// By number. The files are open from the start, so that they can be read after compaction.
    pub(super) lots: Vec<(LotRecord, Arc<LotFile>)>,
    pub(super) cover: Cover,
}

/// Leased instances of one kind, each to be used at most once. If it is dropped, the instances are
/// wasted. In a forked process it is empty.
pub struct Lease {
    pub(super) kind: ComponentDigest,
    pub(super) parts: OfProcess<VecDeque<(Arc<Source>, Span)>>,
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Lease({:?} of {})",
            self.spans().collect::<Vec<_>>(),
            self.kind
        )
    }
}

impl Lease {
    /// Returns an empty lease, to be extended.
    pub fn empty(kind: ComponentDigest) -> Self {
        Self {
            kind,
            parts: OfProcess::default(),
        }
    }

    /// Returns the kind.
    pub fn kind(&self) -> ComponentDigest {
        self.kind
    }

    /// Iterates over the numbers, in order.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        let parts = self.parts.get().into_iter().flatten();
        parts.map(|(_, span)| *span)
    }

    /// Returns how many instances are left.
    pub fn count(&self) -> u64 {
        self.spans().map(|span| span.count).sum()
    }

    /// Appends another lease of the same kind.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if it is for another kind or has some of the same numbers.
    pub fn extend(&mut self, later: Self) -> Result<(), StockError> {
        let here = |span: Span| self.spans().any(|own| own.common(span).is_some());
        if later.kind != self.kind || later.spans().any(here) {
            return Err(StockError::misuse(format!(
                "{self:?} extended by {later:?}"
            )));
        }
        self.parts.or_cleared().extend(later.parts.into_inner());
        Ok(())
    }

    /// Splits off the first `count` instances, without touching the disk.
    ///
    /// # Errors
    ///
    /// [`StockError::Exhausted`] if fewer are left, which then stay.
    pub fn take(&mut self, count: u64) -> Result<Self, StockError> {
        let available = self.count();
        if available < count {
            return Err(StockError::Exhausted {
                kind: self.kind,
                asked: count,
                available,
            });
        }
        let parts = self.parts.or_cleared();
        let mut taken = VecDeque::new();
        let mut wanted = count;
        while wanted > 0 {
            let Some((source, span)) = parts.front_mut() else {
                break;
            };
            let part = Span {
                first: span.first,
                count: span.count.min(wanted),
            };
            taken.push_back((Arc::clone(source), part));
            wanted -= part.count;
            span.first += part.count;
            span.count -= part.count;
            if span.count == 0 {
                parts.pop_front();
            }
        }
        Ok(Self {
            kind: self.kind,
            parts: OfProcess::new(taken),
        })
    }

    /// Reads and opens the instances, in order, each once. A damaged instance is an error in its
    /// place. The iterator then continues with the next instance.
    #[must_use]
    pub fn instances(self) -> Instances {
        Instances {
            lease: self,
            ready: OfProcess::default(),
        }
    }

    /// Returns the secrets of all instances, one after another. This is for kinds without tables,
    /// such as OTs.
    ///
    /// # Errors
    ///
    /// [`StockError::Corrupted`] if one is damaged. No secrets are returned then.
    pub fn secrets(self) -> Result<Zeroizing<Vec<u8>>, StockError> {
        let parts = self.parts.get();
        let width = parts
            .and_then(VecDeque::front)
            .map_or(0, |(source, _)| source.size.secret_bytes);
        let mut secrets =
            Zeroizing::new(Vec::with_capacity(width as usize * self.count() as usize));
        for instance in self.instances() {
            secrets.extend_from_slice(instance?.secret());
        }
        Ok(secrets)
    }
}

/// An iterator over the instances of a lease, from [`Lease::instances`].
#[derive(Debug)]
pub struct Instances {
    lease: Lease,
    ready: OfProcess<VecDeque<Instance>>,
}

impl Instances {
    /// Reads the next few small instances, or the next large one.
    fn read(&mut self) -> Option<Result<(), StockError>> {
        let (source, span) = self.lease.parts.get()?.front()?;
        let source = Arc::clone(source);
        let lot = source
            .lots
            .iter()
            .find(|lot| lot.0.span.contains(span.first));
        let in_lot = lot.map_or(1, |(lot, _)| lot.span.end() - span.first);
        let at_once = (READ_BYTES / source.size.record_bytes().max(1)).max(1);
        let count = span.count.min(in_lot).min(at_once);
        // If instances cannot be read together, read them one by one, to name the damaged one.
        let taken = self.lease.take(count).ok()?;
        let (_, span) = taken.parts.get()?.front()?;
        let Some((lot, file)) = lot else {
            return Some(Err(StockError::misuse(format!(
                "a lease of {span} without its lot"
            ))));
        };
        let read = |span| Instance::read(file, &source.size, lot, &source.cover, span);
        match read(*span) {
            Ok(instances) => self.ready.or_cleared().extend(instances),
            Err(error) if span.count == 1 => return Some(Err(error)),
            Err(_) => {
                let rest = Span {
                    first: span.first + 1,
                    count: span.count - 1,
                };
                self.lease
                    .parts
                    .or_cleared()
                    .push_front((Arc::clone(&source), rest));
                let one = read(Span { count: 1, ..*span });
                return Some(one.map(|instances| self.ready.or_cleared().extend(instances)));
            }
        }
        Some(Ok(()))
    }
}

impl Iterator for Instances {
    type Item = Result<Instance, StockError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.or_cleared().is_empty()
            && let Err(error) = self.read()?
        {
            return Some(Err(error));
        }
        self.ready.or_cleared().pop_front().map(Ok)
    }
}

/// Leases of many kinds. They are made in advance, and taken from during runs.
#[derive(Debug, Default)]
pub struct LeasePool {
    kinds: BTreeMap<ComponentDigest, Lease>,
}

impl LeasePool {
    /// Creates an empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns how many leased instances of a kind are left in the pool.
    pub fn count(&self, kind: &ComponentDigest) -> u64 {
        self.kinds.get(kind).map_or(0, Lease::count)
    }

    /// Adds a lease behind those of its kind.
    ///
    /// # Errors
    ///
    /// [`StockError::ApiMisuse`] if some of its numbers are already in the pool.
    pub fn add(&mut self, lease: Lease) -> Result<(), StockError> {
        let kind = lease.kind;
        let held = self.kinds.entry(kind).or_insert_with(|| Lease::empty(kind));
        held.extend(lease)
    }

    /// Takes instances from the leases of a kind, as [`Lease::take`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Lease::take`].
    pub fn take(&mut self, kind: &ComponentDigest, count: u64) -> Result<Lease, StockError> {
        match self.kinds.get_mut(kind) {
            Some(lease) => lease.take(count),
            None => Lease::empty(*kind).take(count),
        }
    }
}
