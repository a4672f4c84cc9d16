//! The contents of a party's stock, in the terms of this crate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_net::Fingerprint;
use tacit_protocol::prepared::Demand;
use tacit_stock::{ComponentDigest, EpochId, KindSummary, PeerId, StockId};

use super::authenticated::is_of_lot;
use super::crosses::BlockKind;
use super::prepare::{kinds_of, names_of};
use super::{Keepers, Lanes, OT_BLOCK, Stocks, family, ot_kind, unit, usage};
use crate::Error;
use crate::advice::advice;
use crate::protocols::StatisticalSecurity;

/// The name of OTs in the stock.
pub(super) const OTS: &str = "OTs";

/// The most bytes of all names of a component together.
const MAX_NAMES_BYTES: u64 = 1024;

/// The least time for a rate: two runs in the first minute do not mean 2880 a day.
const LEAST_FOR_A_RATE: Duration = Duration::from_secs(3600);

/// The amount of one kind that a run takes, and the amount in a stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockNeed {
    /// The kind's name: OTs, or a function's component.
    pub name: String,
    /// The number that the run takes.
    pub needed: u64,
    /// The number that is there.
    pub available: u64,
}

/// The name of a stock. There is one for each pair of processes, role and garbling scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockName {
    /// This party.
    pub own: Fingerprint,
    /// The other party.
    pub peer: Fingerprint,
    /// This party's role in the runs that use the stock.
    pub role: Role,
    /// The scheme under which its components are garbled.
    pub scheme: SchemeId,
    /// The parties' processes, where a party has several.
    pub lanes: Lanes,
}

/// A summary of a stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockSummary {
    /// The name of the stock.
    pub name: StockName,
    /// Its epoch: the lifetime of one Δ.
    pub epoch: EpochId,
    /// Bytes on the disk.
    pub bytes: u64,
    /// The largest size in bytes.
    pub max_bytes: u64,
    /// The contents, by kind.
    pub kinds: Vec<StockedKind>,
}

/// The contents of one kind in a stock. OTs, triples and crosses are counted one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockedKind {
    /// The component's name when it was first prepared, `OTs`, the content of a lot of
    /// `authenticated`, or the type of crosses.
    pub name: String,
    /// Other names under which it was prepared later.
    pub other_names: Vec<String>,
    /// The component's digest.
    pub digest: ComponentDigest,
    /// Instances that a run can use.
    pub available: u64,
    /// Instances that the peer has not acknowledged. The next meeting acknowledges or drops them.
    pub pending: u64,
    /// Instances that are damaged at one of the parties.
    pub withdrawn: u64,
    /// Bytes on the disk, including used instances until they are compacted.
    pub bytes: u64,
    /// The number of instances that runs have taken recently, within a day at most.
    pub taken: u64,
    /// The time span in which they were taken.
    pub taken_within: Duration,
}

impl StockedKind {
    /// Iterates over all names under which the kind was prepared.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.other_names.iter();
        std::iter::once(&self.name)
            .chain(others)
            .map(String::as_str)
    }

    /// Returns how many instances runs take per day at the recent rate, or `None` if there was no
    /// run or less than an hour of data.
    pub fn taken_per_day(&self) -> Option<f64> {
        const DAY_S: f64 = 86_400.0;
        let known = self.taken > 0 && self.taken_within >= LEAST_FOR_A_RATE;
        known.then(|| self.taken as f64 * DAY_S / self.taken_within.as_secs_f64())
    }

    /// Returns how long the available instances last at that rate, or `None` if there is no rate.
    pub fn lasts(&self) -> Option<Duration> {
        self.taken_per_day()?;
        let taken = u128::from(self.taken);
        let nanos = self
            .taken_within
            .as_nanos()
            .saturating_mul(self.available.into());
        let lasts = nanos.checked_div(taken)?;
        Some(Duration::from_nanos(lasts.try_into().unwrap_or(u64::MAX)))
    }
}

impl StockName {
    pub(super) fn id(&self) -> StockId {
        StockId {
            own: PeerId(self.own.0),
            peer: PeerId(self.peer.0),
            role: self.role,
            scheme: self.scheme.to_bytes(),
            lanes: self.lanes.ids(),
        }
    }

    /// Returns the processes that share the stock.
    pub(crate) fn keepers(&self) -> Keepers {
        let Self {
            own, peer, lanes, ..
        } = *self;
        Keepers { own, peer, lanes }
    }

    fn of(id: &StockId) -> Result<Self, Error> {
        let scheme = SchemeId::from_bytes(id.scheme).map_err(|_| {
            Error::material(
                "a stock is of a garbling scheme that this version does not know",
                advice!("use the version that prepared it"),
            )
        })?;
        Ok(Self {
            own: Fingerprint(id.own.0),
            peer: Fingerprint(id.peer.0),
            role: id.role,
            scheme,
            lanes: Lanes::of(id.lanes)?,
        })
    }
}

impl Stocks {
    /// Returns the names of all stocks.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<StockName>, Error> {
        self.stocks.list()?.iter().map(StockName::of).collect()
    }

    /// Returns the names of the stocks that can be read, and the errors of the others.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn list_each(&self) -> Result<(Vec<StockName>, Vec<Error>), Error> {
        let (mut names, mut failures) = (Vec::new(), Vec::new());
        for id in self.stocks.list_each()? {
            match id.map_err(Error::from).and_then(|id| StockName::of(&id)) {
                Ok(name) => names.push(name),
                Err(error) => failures.push(error),
            }
        }
        Ok((names, failures))
    }

    /// Returns a summary of a stock.
    ///
    /// # Errors
    ///
    /// The stock does not exist, or cannot be read.
    pub fn summary(&self, name: &StockName) -> Result<StockSummary, Error> {
        let id = name.id();
        let summary = self.stocks.stock(id, self.limits)?.summary()?;
        // Each lot of `authenticated` has its own kinds, so a used-up one is of no interest.
        let is_of_use = |kind: &&KindSummary| {
            let left = kind.available + kind.pending + kind.withdrawn;
            left > 0 || !is_of_lot(&kind.kind)
        };
        let kinds = summary.kinds.iter().filter(is_of_use).map(|kind| {
            let unit = unit(&kind.kind);
            let usage = self.usage(&id, &kind.kind);
            let (taken, taken_within) = usage
                .map(|usage| usage.recently(usage::now_s()))
                .unwrap_or_default();
            let mut names = self.names_of(&kind.kind).into_iter();
            StockedKind {
                name: names.next().unwrap_or_else(|| kind.kind.to_string()),
                other_names: names.collect(),
                digest: kind.kind,
                available: kind.available * unit,
                pending: kind.pending * unit,
                withdrawn: kind.withdrawn * unit,
                bytes: kind.bytes,
                taken: taken.saturating_mul(unit),
                taken_within,
            }
        });
        Ok(StockSummary {
            name: *name,
            epoch: summary.epoch,
            bytes: summary.bytes,
            max_bytes: summary.max_bytes,
            kinds: kinds.collect(),
        })
    }

    /// Returns what a run of `function` by `prepared` takes of each kind, and how much of it a
    /// stock has. The stock need not exist.
    ///
    /// # Errors
    ///
    /// The stock cannot be read.
    pub fn needs(&self, name: &StockName, function: &Function) -> Result<Vec<StockNeed>, Error> {
        let available = self.instances_of(name)?;
        let demand = Demand::of(function)?;
        let needed = std::iter::once(demand.ots).chain(demand.instances);
        let named = names_of(function).zip(kinds_of(function.components()));
        let needs = named.zip(needed).map(|((name, kind), needed)| {
            let available = available.get(&kind).copied().unwrap_or_default();
            StockNeed {
                name,
                needed,
                available: available.saturating_mul(unit(&kind)),
            }
        });
        Ok(needs.filter(|need| need.needed > 0).collect())
    }

    /// Returns for how many runs of `function` a stock has enough. It is zero if the stock does not
    /// exist.
    ///
    /// # Errors
    ///
    /// The function has saved values, or the stock cannot be read.
    pub fn runs_left(&self, name: &StockName, function: &Function) -> Result<u64, Error> {
        let demand = Demand::of(function)?;
        let available = self.instances_of(name)?;
        let needed = std::iter::once(demand.ots.div_ceil(OT_BLOCK)).chain(demand.instances);
        // A component may occur twice, under two names.
        let mut of_kinds: BTreeMap<_, u64> = BTreeMap::new();
        for (kind, needed) in kinds_of(function.components()).into_iter().zip(needed) {
            *of_kinds.entry(kind).or_default() += needed;
        }
        let runs = of_kinds.iter().filter(|(_, needed)| **needed > 0);
        let runs = runs.map(|(kind, needed)| available.get(kind).map_or(0, |count| count / needed));
        Ok(runs.min().unwrap_or(u64::MAX))
    }

    /// Returns the number of checked executions of `function` at this s that runs by `batch` can
    /// take from a stock. The stock need not exist.
    ///
    /// # Errors
    ///
    /// The stock cannot be read.
    pub fn executions_left(
        &self,
        name: &StockName,
        function: &Function,
        security: StatisticalSecurity,
    ) -> Result<u64, Error> {
        let family = family(function, security.bits());
        let kinds = self.instances_of(name)?.into_iter();
        let kinds = kinds.filter(|(kind, _)| kind.0.starts_with(&family));
        Ok(kinds.map(|(_, available)| available).sum())
    }

    /// Returns the available number of instances of each kind in a stock. It is empty if the stock
    /// does not exist.
    pub(super) fn instances_of(
        &self,
        name: &StockName,
    ) -> Result<BTreeMap<ComponentDigest, u64>, Error> {
        let Some(stock) = self.stocks.find(name.id(), self.limits)? else {
            return Ok(BTreeMap::new());
        };
        let kinds = stock.summary()?.kinds.into_iter();
        Ok(kinds.map(|kind| (kind.kind, kind.available)).collect())
    }

    fn name_file(&self, kind: &ComponentDigest) -> PathBuf {
        let digest: String = kind.0.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join("names").join(digest)
    }

    /// Stores a kind's name for people, one per line of a file. It may fail, since nothing depends
    /// on the name.
    pub(super) fn note_name(&self, kind: &ComponentDigest, name: &str) {
        let known = self.names_of(kind);
        if known.iter().any(|known| known == name) {
            return;
        }
        let names = known.iter().map(String::as_str).chain([name]);
        let names = names.collect::<Vec<_>>().join("\n");
        if names.len() as u64 <= MAX_NAMES_BYTES {
            self.note(&self.name_file(kind), names.as_bytes());
        }
    }

    /// Removes the names of forgotten kinds, so that failed orders leave no files.
    pub(super) fn forget_names(&self, kinds: &[ComponentDigest]) {
        for kind in kinds {
            let _ = self.storage.remove(&self.name_file(kind));
        }
    }

    /// Writes a file on which nothing depends. It may fail.
    pub(super) fn note(&self, path: &Path, bytes: &[u8]) {
        let folder = path.parent();
        if folder.is_none_or(|folder| self.storage.create_folder(folder).is_err()) {
            return;
        }
        let file = self.storage.open(path);
        if let Ok(file) = file.or_else(|_| self.storage.create(path)) {
            let _ = file.write_at(bytes, 0);
        }
    }

    /// Returns the stored names, the first one first.
    fn names_of(&self, kind: &ComponentDigest) -> Vec<String> {
        if *kind == ot_kind() {
            return vec![OTS.to_owned()];
        }
        if let Some(crosses) = BlockKind::of(kind) {
            return vec![crosses.name()];
        }
        let names = self.read_names(&self.name_file(kind));
        names.unwrap_or_default()
    }

    fn read_names(&self, path: &Path) -> Option<Vec<String>> {
        let file = self.storage.open(path).ok()?;
        let length = file.len().ok();
        let length = length.filter(|length| *length <= MAX_NAMES_BYTES)?;
        let mut names = vec![0; usize::try_from(length).ok()?];
        file.read_at(&mut names, 0).ok()?;
        let names = String::from_utf8(names).ok()?;
        let plain = |name: &&str| !name.is_empty() && !name.chars().any(char::is_control);
        Some(names.lines().filter(plain).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_known_after_an_hour() {
        let mut kind = StockedKind {
            name: OTS.to_owned(),
            other_names: Vec::new(),
            digest: ot_kind(),
            available: 30,
            pending: 0,
            withdrawn: 0,
            bytes: 0,
            taken: 10,
            taken_within: Duration::from_secs(3599),
        };
        assert_eq!((kind.taken_per_day(), kind.lasts()), (None, None));
        kind.taken_within = Duration::from_secs(7200);
        assert_eq!(kind.taken_per_day(), Some(120.0));
        assert_eq!(kind.lasts(), Some(Duration::from_secs(6 * 3600)));
        kind.taken = 0;
        assert_eq!((kind.taken_per_day(), kind.lasts()), (None, None));
    }
}
