//! The costs of a run's lines, from its regions and calls.

use std::collections::{HashMap, HashSet};

use tacit_circuit::Gate;

use super::super::cut::Traced;
use super::super::lines::{LineCosts, SiteCosts, SiteId};
use super::super::run::Run;
use super::super::trace::Called;

/// The costs so far. They stay empty if nothing is recorded.
#[derive(Debug)]
pub(super) struct Costs {
    /// The site that made each gate, if costs are recorded.
    made_by: Option<Vec<SiteId>>,
    sites: SiteCosts,
    /// The number of calls of each component by each site.
    calls: HashMap<(SiteId, Called), u64>,
    components: HashMap<Called, LineCosts>,
    /// The places that the current region reads, as far as they are known.
    read: HashSet<usize>,
}

impl Costs {
    pub(super) fn new(traced: &Traced<'_>, run: &Run) -> Self {
        let recorder = run.recorder.as_ref();
        Self {
            made_by: recorder.map(|recorder| recorder.sites_of(&traced.numbers)),
            sites: SiteCosts::default(),
            calls: HashMap::new(),
            components: HashMap::new(),
            read: HashSet::new(),
        }
    }

    pub(super) fn call(&mut self, site: SiteId, called: Called, bits: usize) {
        self.calls(site, called, 1, bits as u64);
    }

    /// Adds `times` calls, each of which reads `bits` bits.
    pub(super) fn calls(&mut self, site: SiteId, called: Called, times: u64, bits: u64) {
        *self.calls.entry((site, called)).or_default() += times;
        self.sites.add(site, 0, times * bits);
    }

    /// Adds AND gates of a site, if costs are recorded.
    pub(super) fn add_ands(&mut self, site: SiteId, ands: u64) {
        if self.made_by.is_some() {
            self.sites.add(site, ands, 0);
        }
    }

    pub(super) fn component(&mut self, called: Called, lines: LineCosts) {
        self.components.insert(called, lines);
    }

    /// Adds a region's gates, before the wires that it reads.
    pub(super) fn region(&mut self, gates: &[u32], traced: &Traced<'_>) {
        let Some(made_by) = &self.made_by else {
            return;
        };
        self.read.clear();
        for &gate in gates {
            let gate = gate as usize;
            if matches!(traced.gates[gate], Gate::And(..)) {
                self.sites.add(made_by[gate], 1, 0);
            }
        }
    }

    /// Records that a gate of the region reads a wire from outside. The wire becomes a port, whose
    /// cost belongs to the first reader.
    pub(super) fn read(&mut self, gate: usize, at: usize) {
        if let Some(made_by) = &self.made_by
            && self.read.insert(at)
        {
            self.sites.add(made_by[gate], 0, 1);
        }
    }

    pub(super) fn lines(&self, run: &Run) -> LineCosts {
        let Some(recorder) = &run.recorder else {
            return LineCosts::default();
        };
        let calls = self
            .calls
            .iter()
            .map(|(&(site, called), &times)| (site, times, &self.components[&called]));
        LineCosts::new(recorder, &self.sites, calls)
    }
}
