//! The costs of each line of a run: the origin of each gate, including calls.
//!
//! A *site* is an expression or statement of a function, under the site that called the function.
//! While a run is traced, a [`Recorder`] notes the number of gates at which the trace moves to each
//! site. A gate that several lines share counts for the first line. Gates that no result needs
//! count for no line.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tacit_circuit::Circuit;

use super::chains::{ChainedLoop, TracedLoop};
use crate::program::FunctionId;
use crate::source::{FileId, SourceMap, Span};

/// The costs of a run by origin. Their sums are those of the function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCosts {
    /// Each stack once, in the order of the source.
    pub stacks: Vec<CostStack>,
    /// The loops that remain chains, in the shallow form, with those of the most layers first.
    pub chains: Vec<ChainedLoop>,
}

/// A place in the source, the calls that lead to it, and its costs over the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostStack {
    /// The expression or statement in each function, from the run inwards. The last one makes the
    /// gates.
    pub spans: Vec<Span>,
    /// The number of AND gates.
    pub and_gates: u64,
    /// The number of bits that enter components here.
    pub link_bits: u64,
}

/// A line of a file, counted from 1. Lines are ordered by file first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// The file.
    pub file: FileId,
    /// The line's number.
    pub number: usize,
}

/// The costs of a line over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCost {
    /// The number of AND gates, including those of the functions and components that the line
    /// calls.
    pub and_gates: u64,
    /// The number of AND gates of the line alone.
    pub own_and_gates: u64,
    /// The number of bits that enter components, counted as for `and_gates`.
    pub link_bits: u64,
}

impl LineCosts {
    /// Returns the AND gates of the whole run, and the bits that enter components.
    pub fn sums(&self) -> (u64, u64) {
        let stacks = self.stacks.iter();
        stacks.fold((0, 0), |(ands, links), stack| {
            (ands + stack.and_gates, links + stack.link_bits)
        })
    }

    /// Returns the lines that cost anything, those of the program's own file first.
    pub fn by_line(&self, map: &SourceMap) -> Vec<(Line, LineCost)> {
        let mut lines: BTreeMap<Line, LineCost> = BTreeMap::new();
        for stack in &self.stacks {
            let line = |span: &Span| Line {
                file: span.file,
                number: map.line_and_column(*span).0,
            };
            let called: Vec<Line> = stack.spans.iter().map(line).collect();
            for line in called.iter().collect::<BTreeSet<_>>() {
                let cost = lines.entry(*line).or_default();
                cost.and_gates += stack.and_gates;
                cost.link_bits += stack.link_bits;
            }
            if let Some(line) = called.last() {
                lines.entry(*line).or_default().own_and_gates += stack.and_gates;
            }
        }
        let costly = |cost: &LineCost| cost.and_gates + cost.link_bits > 0;
        lines.into_iter().filter(|(_, cost)| costly(cost)).collect()
    }
}

/// The number of a site.
pub(super) type SiteId = u32;

const NO_SITE: SiteId = SiteId::MAX;

#[derive(Clone, Copy, Debug)]
struct Site {
    caller: SiteId,
    span: Span,
}

/// The current state of a recorder, to return to.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecorderMark {
    current: SiteId,
    caller: SiteId,
    function: FunctionId,
}

/// Records the origin of gates while a run or component is traced.
#[derive(Debug)]
pub(super) struct Recorder {
    sites: Vec<Site>,
    known: HashMap<(SiteId, Span), SiteId>,
    /// The number of gates from which on each site makes them, in order.
    marks: Vec<(usize, SiteId)>,
    top: RecorderMark,
    /// The loops that are not order-free, if the form is shallow.
    pub(super) loops: Vec<TracedLoop>,
}

impl Recorder {
    pub(super) fn new(function: FunctionId, span: Span) -> Self {
        let mut recorder = Self {
            sites: Vec::new(),
            known: HashMap::new(),
            marks: Vec::new(),
            top: RecorderMark {
                current: NO_SITE,
                caller: NO_SITE,
                function,
            },
            loops: Vec::new(),
        };
        recorder.go_to(span, 0);
        recorder
    }

    /// Returns the current site.
    pub(super) fn site(&self) -> SiteId {
        self.top.current
    }

    /// Moves to `span`, which makes the gates from number `gates` on.
    pub(super) fn go_to(&mut self, span: Span, gates: usize) -> RecorderMark {
        let before = self.top;
        let caller = before.caller;
        let new = self.sites.len() as SiteId;
        let site = *self.known.entry((caller, span)).or_insert(new);
        if site == new {
            self.sites.push(Site { caller, span });
        }
        self.mark(site, gates);
        before
    }

    /// Enters a function that the current site calls. If the function is the one being traced,
    /// nothing changes.
    pub(super) fn enter(&mut self, function: FunctionId) -> RecorderMark {
        let before = self.top;
        if function != before.function {
            self.top.caller = before.current;
            self.top.function = function;
        }
        before
    }

    pub(super) fn go_back(&mut self, before: RecorderMark, gates: usize) {
        self.top = before;
        self.mark(before.current, gates);
    }

    fn mark(&mut self, site: SiteId, gates: usize) {
        self.top.current = site;
        match self.marks.last_mut() {
            Some((_, last)) if *last == site => {}
            Some((from, last)) if *from == gates => *last = site,
            _ => self.marks.push((gates, site)),
        }
    }

    /// Returns the sites of gates, given for each the number of gates made before it, in order.
    pub(super) fn sites_of(&self, numbers: &[u32]) -> Vec<SiteId> {
        let mut next = 0;
        let site_of = |&number: &u32| {
            while next + 1 < self.marks.len() && self.marks[next + 1].0 <= number as usize {
                next += 1;
            }
            self.marks[next].1
        };
        numbers.iter().map(site_of).collect()
    }

    /// Returns the spans of a site and of those that led to it, from the run inwards.
    fn spans(&self, site: SiteId) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut next = site;
        while let Some(site) = self.sites.get(next as usize) {
            spans.push(site.span);
            next = site.caller;
        }
        spans.reverse();
        spans
    }
}

/// Costs by site, while they are added up.
#[derive(Debug, Default)]
pub(super) struct SiteCosts(BTreeMap<SiteId, (u64, u64)>);

impl SiteCosts {
    pub(super) fn add(&mut self, site: SiteId, and_gates: u64, link_bits: u64) {
        let sum = self.0.entry(site).or_default();
        sum.0 += and_gates;
        sum.1 += link_bits;
    }
}

impl LineCosts {
    /// Returns the costs of a circuit without lines of its own, which count for its caller.
    pub(super) fn of_caller(circuit: &Circuit) -> Self {
        let stack = CostStack {
            spans: Vec::new(),
            and_gates: circuit.statistics().and as u64,
            link_bits: 0,
        };
        Self {
            stacks: vec![stack],
            ..Self::default()
        }
    }

    /// Returns costs by the places of a recorder. `calls` lists how often a site calls components,
    /// and the costs of these.
    pub(super) fn new<'c>(
        recorder: &Recorder,
        costs: &SiteCosts,
        calls: impl Iterator<Item = (SiteId, u64, &'c Self)>,
    ) -> Self {
        let mut sums: BTreeMap<Vec<Span>, (u64, u64)> = BTreeMap::new();
        for (&site, &(and_gates, link_bits)) in &costs.0 {
            let sum = sums.entry(recorder.spans(site)).or_default();
            sum.0 += and_gates;
            sum.1 += link_bits;
        }
        for (site, times, inner) in calls {
            let outer = recorder.spans(site);
            for stack in &inner.stacks {
                let spans = [&outer[..], &stack.spans[..]].concat();
                let sum = sums.entry(spans).or_default();
                sum.0 += times * stack.and_gates;
                sum.1 += times * stack.link_bits;
            }
        }
        let stack = |(spans, (and_gates, link_bits))| CostStack {
            spans,
            and_gates,
            link_bits,
        };
        Self {
            stacks: sums.into_iter().map(stack).collect(),
            ..Self::default()
        }
    }
}
