//! The layout of a picture: where each box is, and its text.

use tacit::circuit::{Graph, GraphCall, GraphSource};
use tacit::{Function, Role};

use super::{CONSTANT, EVALUATOR, FILLS, GARBLER, LETTER, LINE, RESULT, SHARED};

/// Most arrows from one call; more become marks.
const MOST_ARROWS: usize = 6;

/// A line of text in a box: what, and its colour.
type Mark = (String, &'static str);

/// A call on the picture.
pub(super) struct Node {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) marks: Vec<Mark>,
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) fill: &'static str,
}

impl Node {
    pub(super) fn size(&self) -> (f64, f64) {
        let texts = self.marks.iter().map(|(text, _)| text.as_str());
        let texts = texts.chain([self.subtitle.as_str()]);
        let longest = texts.map(|text| text.chars().count()).max().unwrap_or(0) as f64;
        // The title is bold.
        let longest = longest.max(1.15 * self.title.chars().count() as f64);
        let lines = 1 + usize::from(!self.subtitle.is_empty()) + self.marks.len();
        (longest * LETTER + 16.0, lines as f64 * LINE + 8.0)
    }
}

/// The calls that each call reads, where that is shown by an arrow: (from, to).
pub(super) fn arrows(graph: &Graph) -> Vec<(usize, usize)> {
    let mut arrows = Vec::new();
    for (to, call) in graph.calls.iter().enumerate() {
        for source in &call.reads {
            if let GraphSource::Call(from, _) = source {
                arrows.push((*from as usize, to));
            }
        }
    }
    arrows.sort_unstable();
    arrows.dedup();
    let mut counts = vec![0; graph.calls.len()];
    arrows.iter().for_each(|&(from, _)| counts[from] += 1);
    arrows.retain(|&(from, _)| counts[from] <= MOST_ARROWS);
    arrows
}

pub(super) fn nodes(function: &Function, graph: &Graph) -> Vec<Node> {
    let arrows = arrows(graph);
    let has_arrow = |from: u32| {
        arrows
            .binary_search_by_key(&(from as usize), |a| a.0)
            .is_ok()
    };
    let mut nodes: Vec<Node> = Vec::new();
    let deepest = graph
        .calls
        .iter()
        .map(|call| call.counters.len())
        .max()
        .unwrap_or(0);
    let mut last: Option<&[(String, i64)]> = None;
    for call in &graph.calls {
        // A row is a turn of all loops but the innermost.
        let outer = &call.counters[..call.counters.len().min(deepest.saturating_sub(1).max(1))];
        let (row, column) = match nodes.last() {
            Some(node) if last == Some(outer) && !outer.is_empty() => (node.row, node.column + 1),
            // A call in no loop stands below what it reads.
            Some(node) if outer.is_empty() => (node.row + 1, last_read(call, &nodes)),
            Some(node) => (node.row + 1, 0),
            None => (0, 0),
        };
        last = Some(outer);
        let counters = call
            .counters
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let subtitle = counters.collect::<Vec<_>>().join(", ");
        let marks = call.reads.iter().filter_map(|source| match source {
            GraphSource::Constant => Some(("constant".to_owned(), CONSTANT)),
            GraphSource::Input(number, name) => {
                let owner = function.inputs().get(*number).map(|input| input.owner);
                Some((name.clone(), owner.map_or(SHARED, colour_of)))
            }
            GraphSource::Call(from, _) if has_arrow(*from) => None,
            GraphSource::Call(_, name) => Some((name.clone(), SHARED)),
        });
        nodes.push(Node {
            title: function.components()[call.component].name().to_owned(),
            subtitle,
            marks: gathered(marks.collect()),
            row,
            column,
            fill: FILLS[call.component % FILLS.len()],
        });
    }
    mark_shared(graph, &arrows, &mut nodes);
    mark_results(graph, &mut nodes);
    nodes
}

/// The column of the last call that `call` reads.
fn last_read(call: &GraphCall, nodes: &[Node]) -> usize {
    let calls = call.reads.iter().filter_map(|source| match source {
        GraphSource::Call(from, _) => Some(*from as usize),
        GraphSource::Constant | GraphSource::Input(..) => None,
    });
    calls.max().map_or(0, |from| nodes[from].column)
}

/// Marks the calls whose values are read by so many that there are no arrows.
fn mark_shared(graph: &Graph, arrows: &[(usize, usize)], nodes: &mut [Node]) {
    let has_arrow = |from: usize| arrows.binary_search_by_key(&from, |a| a.0).is_ok();
    for source in graph.calls.iter().flat_map(|call| &call.reads) {
        let GraphSource::Call(from, name) = source else {
            continue;
        };
        let name = name.split('[').next().unwrap_or_default();
        let mark = (format!("→ {name}"), SHARED);
        let marks = &mut nodes[*from as usize].marks;
        if !has_arrow(*from as usize) && !marks.contains(&mark) {
            marks.push(mark);
        }
    }
}

/// Marks the calls whose values are results.
fn mark_results(graph: &Graph, nodes: &mut [Node]) {
    let mut marks: Vec<Vec<Mark>> = vec![Vec::new(); nodes.len()];
    for (name, sources) in &graph.results {
        for source in sources {
            let GraphSource::Call(from, _) = source else {
                continue;
            };
            let (mark, marks) = ((name.clone(), RESULT), &mut marks[*from as usize]);
            if marks.last() != Some(&mark) {
                marks.push(mark);
            }
        }
    }
    for (node, marks) in nodes.iter_mut().zip(marks) {
        let marks = gathered(marks).into_iter();
        node.marks
            .extend(marks.map(|(name, colour)| (format!("→ {name}"), colour)));
    }
}

/// Neighbouring elements of one array under one mark.
fn gathered(marks: Vec<Mark>) -> Vec<Mark> {
    let mut gathered: Vec<(String, Vec<String>, &'static str)> = Vec::new();
    for (name, colour) in marks {
        let (array, index) = match name.rsplit_once('[') {
            Some((array, index)) => (array.to_owned(), index.trim_end_matches(']').to_owned()),
            None => (name, String::new()),
        };
        match gathered.last_mut() {
            Some((known, indices, _)) if *known == array && !index.is_empty() => {
                indices.push(index)
            }
            _ => gathered.push((array, vec![index], colour)),
        }
    }
    let text = |(array, indices, colour): (String, Vec<String>, &'static str)| {
        let text = match indices.as_slice() {
            [one] if one.is_empty() => array,
            [one] => format!("{array}[{one}]"),
            [first, .., last] => format!("{array}[{first}…{last}]"),
            [] => array,
        };
        (text, colour)
    };
    gathered.into_iter().map(text).collect()
}

pub(super) fn colour_of(owner: Role) -> &'static str {
    match owner {
        Role::Garbler => GARBLER,
        Role::Evaluator => EVALUATOR,
    }
}
