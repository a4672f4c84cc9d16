//! What the lines of a run cost, from its regions and calls.

use std::collections::{HashMap, HashSet};

use tacit_circuit::Gate;

use super::super::cut::Traced;
use super::super::lines::{LineCosts, SiteCosts, SiteId};
use super::super::run::Run;
use crate::program::{FunctionId, Program};

/// Costs so far; stays empty where nothing is recorded.
#[derive(Debug, Default)]
pub(super) struct Costs {
    sites: SiteCosts,
    /// How often each site calls each component.
    calls: HashMap<(SiteId, FunctionId), u64>,
    components: HashMap<FunctionId, LineCosts>,
    /// What the region at hand reads, as far as it is known.
    read: HashSet<usize>,
}

impl Costs {
    pub(super) fn call(&mut self, site: SiteId, function: FunctionId, bits: usize) {
        *self.calls.entry((site, function)).or_default() += 1;
        self.sites.add(site, 0, bits as u64);
    }

    pub(super) fn component(&mut self, function: FunctionId, lines: LineCosts) {
        self.components.insert(function, lines);
    }

    /// A region's gates, before what it reads.
    pub(super) fn region(&mut self, gates: &[u32], traced: &Traced<'_>, run: &Run) {
        let Some((_, sites)) = &run.recorded else {
            return;
        };
        self.read.clear();
        for &gate in gates {
            let gate = gate as usize;
            if matches!(traced.gates[gate], Gate::And(..)) {
                self.sites.add(sites[gate], 1, 0);
            }
        }
    }

    /// A gate of the region reads a wire from outside: a port, which is the first reader's.
    pub(super) fn read(&mut self, gate: usize, at: usize, run: &Run) {
        if let Some((_, sites)) = &run.recorded
            && self.read.insert(at)
        {
            self.sites.add(sites[gate], 0, 1);
        }
    }

    pub(super) fn lines(&self, program: &Program, run: &Run) -> LineCosts {
        let Some((recorder, _)) = &run.recorded else {
            return LineCosts::default();
        };
        let calls = self
            .calls
            .iter()
            .map(|(&(site, function), &times)| (site, times, &self.components[&function]));
        LineCosts::new(program, recorder, &self.sites, calls)
    }
}
