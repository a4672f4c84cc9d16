//! What a party has in stock, in the words of this crate.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tacit_function::{Function, Role};
use tacit_garble::SchemeId;
use tacit_net::Fingerprint;
use tacit_protocol::prepared::Demand;
use tacit_stock::{ComponentDigest, EpochId, KindSummary, PeerId, StockError, StockId};

use super::authenticated::is_of_lot;
use super::crosses::BlockKind;
use super::prepare::kinds_of;
use super::{OT_BLOCK, Stocks, family, ot_kind, unit, usage};
use crate::Error;
use crate::advice::advice;
use crate::protocols::StatisticalSecurity;

/// The name of OTs among what is in stock.
pub(super) const OTS: &str = "OTs";

/// The names of a component are not longer than this, all together.
const MAX_NAMES_BYTES: u64 = 1024;

/// Less time than this says nothing of a rate: two runs in the first minute are not 2880 a day.
const LEAST_FOR_A_RATE: Duration = Duration::from_secs(3600);

/// Which stock: one for each pair of parties, role and garbling scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StockName {
    /// This party.
    pub own: Fingerprint,
    /// The other one.
    pub peer: Fingerprint,
    /// What this party is in the runs that use the stock.
    pub role: Role,
    /// The scheme that its components are garbled under.
    pub scheme: SchemeId,
}

/// What a stock holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockSummary {
    /// The stock.
    pub name: StockName,
    /// Its epoch: the lifetime of one Δ.
    pub epoch: EpochId,
    /// Bytes on the disk.
    pub bytes: u64,
    /// Most bytes that it may take.
    pub max_bytes: u64,
    /// What is there of each kind.
    pub kinds: Vec<StockedKind>,
}

/// What a stock holds of one kind. All counts of OTs, triples and crosses are of these, one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockedKind {
    /// The component's name as it was first prepared, `OTs`, what a lot of `authenticated` has, or
    /// which crosses they are.
    pub name: String,
    /// Other names under which it was prepared since.
    pub other_names: Vec<String>,
    /// The component's digest.
    pub digest: ComponentDigest,
    /// Instances that a run can use.
    pub available: u64,
    /// Instances that the peer has not acknowledged; the next meeting does, or drops them.
    pub pending: u64,
    /// Instances that are damaged at one of the parties.
    pub withdrawn: u64,
    /// Bytes on the disk, of used ones as well until they are compacted.
    pub bytes: u64,
    /// Instances that runs took of late: within a day at most.
    pub taken: u64,
    /// In how much time they did.
    pub taken_within: Duration,
}

impl StockedKind {
    /// All names under which it was prepared.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.other_names.iter();
        std::iter::once(&self.name)
            .chain(others)
            .map(String::as_str)
    }

    /// How many runs take in a day where they go on to take as much as of late; `None` where none
    /// does, or not yet for an hour.
    #[must_use]
    pub fn taken_per_day(&self) -> Option<f64> {
        const DAY_S: f64 = 86_400.0;
        let known = self.taken > 0 && self.taken_within >= LEAST_FOR_A_RATE;
        known.then(|| self.taken as f64 * DAY_S / self.taken_within.as_secs_f64())
    }

    /// How long what is available lasts at that rate; `None` where there is none.
    #[must_use]
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
        }
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
        })
    }
}

impl Stocks {
    /// The stocks that there are.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn list(&self) -> Result<Vec<StockName>, Error> {
        self.stocks.list()?.iter().map(StockName::of).collect()
    }

    /// The stocks that can be read, and why others cannot.
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

    /// What a stock holds.
    ///
    /// # Errors
    ///
    /// It is not there, or cannot be read.
    pub fn summary(&self, name: &StockName) -> Result<StockSummary, Error> {
        let id = name.id();
        let summary = self.stocks.stock(id, self.limits)?.summary()?;
        // Each lot of `authenticated` has kinds of its own: one that is used up says nothing.
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

    /// For how many runs of `function` a stock has enough; none where it is not there.
    ///
    /// # Errors
    ///
    /// The function has saved values, or the stock cannot be read.
    pub fn runs_left(&self, name: &StockName, function: &Function) -> Result<u64, Error> {
        let demand = Demand::of(function)?;
        let stock = match self.stocks.stock(name.id(), self.limits) {
            Ok(stock) => stock,
            Err(StockError::Missing { .. }) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let needed = std::iter::once(demand.ots.div_ceil(OT_BLOCK)).chain(demand.instances);
        // A component may be there under two names.
        let mut of_kinds: BTreeMap<_, u64> = BTreeMap::new();
        for (kind, needed) in kinds_of(function.components()).into_iter().zip(needed) {
            *of_kinds.entry(kind).or_default() += needed;
        }
        let summary = stock.summary()?;
        let available = |kind: &ComponentDigest| {
            let kinds = summary.kinds.iter().filter(|found| found.kind == *kind);
            kinds.map(|found| found.available).sum::<u64>()
        };
        let runs = of_kinds.iter().filter(|(_, needed)| **needed > 0);
        let runs = runs.map(|(kind, needed)| available(kind) / needed);
        Ok(runs.min().unwrap_or(u64::MAX))
    }

    /// Checked executions of `function` at this s that runs by `batch` can take from a stock, which
    /// need not be there.
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
        let stock = match self.stocks.stock(name.id(), self.limits) {
            Ok(stock) => stock,
            Err(StockError::Missing { .. }) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let family = family(function, security.bits());
        let summary = stock.summary()?;
        let kinds = summary.kinds.iter();
        let kinds = kinds.filter(|found| found.kind.0.starts_with(&family));
        Ok(kinds.map(|found| found.available).sum())
    }

    fn name_file(&self, kind: &ComponentDigest) -> PathBuf {
        let digest: String = kind.0.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join("names").join(digest)
    }

    /// Notes a kind's name for people to read, a line for each. Nothing rests on it, so that it may
    /// fail.
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

    /// Removes the names of kinds that are forgotten, so that orders in vain leave no files.
    pub(super) fn forget_names(&self, kinds: &[ComponentDigest]) {
        for kind in kinds {
            let _ = self.storage.remove(&self.name_file(kind));
        }
    }

    /// Writes a file on which nothing rests, so that it may fail.
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

    /// The names that were noted, the first one first.
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
