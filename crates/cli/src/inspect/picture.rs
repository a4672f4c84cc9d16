//! `tacit inspect --svg`: a function's graph as a picture.
//!
//! Calls stand in rows by the counters of the loops around them: a turn of an outer loop is a row
//! and the turns of the innermost loop go along it, so that a table's cells form a grid. What a
//! call reads of an input, or of a call that many read, is a mark on it in that party's colour;
//! all else is an arrow. A function of more than [`MOST_CALLS`] calls is shown by its steps and
//! loops instead.
mod layout;

use std::fmt::Write as _;
use std::path::Path;

use tacit::Function;
use tacit::circuit::Graph;

use super::graph::{components, steps, title};
use crate::failure::Failure;
use crate::new_file::{Readers, write_new};
use layout::{Node, arrows, colour_of, nodes};

/// Most calls that are drawn one by one.
const MOST_CALLS: u32 = 400;

const LINE: f64 = 17.0;
const LETTER: f64 = 6.7;
const GAP: f64 = 34.0;
const MARGIN: f64 = 28.0;

const GARBLER: &str = "#1d5fa8";
const EVALUATOR: &str = "#b3500b";
const SHARED: &str = "#55306e";
const CONSTANT: &str = "#6b6b6b";
const RESULT: &str = "#1d6b34";
/// Fills of boxes, one component after the other.
const FILLS: [&str; 6] = [
    "#eef3fa", "#f6efe2", "#eaf5ec", "#f5eaf3", "#f3f3e4", "#eaf4f5",
];

/// Draws `function` into a new file.
///
/// # Errors
///
/// The file exists or cannot be written.
pub(super) fn draw(function: &Function, path: &Path) -> Result<(), Failure> {
    let svg = match function.graph(MOST_CALLS) {
        Some(graph) => Picture::of_calls(function, &graph),
        None => Picture::of_steps(function),
    };
    write_new(path, Readers::All, |file| {
        file.write_all(svg.finish().as_bytes())
            .map_err(|error| Failure::write(path, &error))
    })
}

/// SVG in the making, and how large it has become.
#[derive(Default)]
struct Picture {
    /// Arrows, which lie below boxes.
    arrows: String,
    boxes: String,
    width: f64,
    height: f64,
}

impl Picture {
    fn of_calls(function: &Function, graph: &Graph) -> Self {
        let mut picture = Self::default();
        let top = picture.heading(function);
        let nodes = nodes(function, graph);
        let columns = nodes.iter().map(|node| node.column + 1).max().unwrap_or(0);
        let rows = nodes.iter().map(|node| node.row + 1).max().unwrap_or(0);
        let mut widths = vec![0.0_f64; columns];
        let mut heights = vec![0.0_f64; rows];
        for node in &nodes {
            let (width, height) = node.size();
            widths[node.column] = widths[node.column].max(width);
            heights[node.row] = heights[node.row].max(height);
        }
        let xs = starts(&widths, MARGIN);
        let ys = starts(&heights, top);
        let place = |node: &Node| BoxPosition {
            x: xs[node.column],
            y: ys[node.row],
            width: widths[node.column],
            height: heights[node.row],
            row: node.row,
            column: node.column,
        };
        for node in &nodes {
            picture.node(node, &place(node));
        }
        let arrows = arrows(graph);
        for &(from, to) in &arrows {
            picture.arrow(&place(&nodes[from]), &place(&nodes[to]));
        }
        picture
    }

    /// The steps in nested boxes.
    fn of_steps(function: &Function) -> Self {
        let mut picture = Self::default();
        let mut y = picture.heading(function);
        // Open loops: where their box begins.
        let mut open: Vec<f64> = Vec::new();
        let steps = steps(function);
        let longest = steps
            .iter()
            .map(|step| step.chars().count())
            .max()
            .unwrap_or(0);
        let full = longest as f64 * LETTER + 160.0;
        for step in &steps {
            let inset = 16.0 * open.len() as f64;
            if step == "end" {
                let Some(top) = open.pop() else { continue };
                let inset = inset - 16.0;
                picture.rectangle((MARGIN + inset, top, full - 2.0 * inset, y - top), "none");
                y += 10.0;
                continue;
            }
            if let Some(head) = step.strip_prefix("for ") {
                open.push(y);
                let head = format!("for each {head}");
                picture.text((MARGIN + inset + 10.0, y + 17.0), &head, CONSTANT, true);
                y += 28.0;
                continue;
            }
            let number = function
                .components()
                .iter()
                .position(|component| step.contains(&format!("= {}(", component.name())));
            let fill = number.map_or("#fafafa", |number| FILLS[number % FILLS.len()]);
            let place = (MARGIN + inset + 6.0, y, full - 2.0 * inset - 12.0, 26.0);
            picture.rectangle(place, fill);
            picture.text((place.0 + 10.0, y + 17.5), step, "#222", false);
            y += 34.0;
        }
        picture.grow(MARGIN + full, y);
        picture
    }

    /// The name, ports and components; where the graph begins below them.
    fn heading(&mut self, function: &Function) -> f64 {
        let mut y = MARGIN + 8.0;
        self.heavy((MARGIN, y), &title(function));
        let mut line = |picture: &mut Self, text: &str, colour| {
            y += LINE + 2.0;
            picture.text((MARGIN, y), text, colour, false);
        };
        for input in function.inputs() {
            let (colour, owner) = (colour_of(input.owner), input.owner.name());
            let text = format!(
                "input {}: {} of the {owner}",
                input.port.name, input.port.ty
            );
            line(self, &text, colour);
        }
        for port in function.loads() {
            line(
                self,
                &format!("input {}: {}, saved", port.name, port.ty),
                SHARED,
            );
        }
        for output in function.outputs() {
            let (port, recipient) = (&output.port, output.recipient.name());
            line(
                self,
                &format!("result {}: {} to {recipient}", port.name, port.ty),
                RESULT,
            );
        }
        for port in function.saves() {
            line(
                self,
                &format!("result {}: {}, saved", port.name, port.ty),
                RESULT,
            );
        }
        for component in components(function) {
            line(self, &component, "#222");
        }
        y + GAP
    }

    fn grow(&mut self, x: f64, y: f64) {
        self.width = self.width.max(x + MARGIN);
        self.height = self.height.max(y + MARGIN);
    }

    fn rectangle(&mut self, (x, y, width, height): (f64, f64, f64, f64), fill: &str) {
        let _ = writeln!(
            self.boxes,
            "<rect x='{x:.1}' y='{y:.1}' width='{width:.1}' height='{height:.1}' rx='5' \
             fill='{fill}' stroke='#8a8a8a'/>"
        );
        self.grow(x + width, y + height);
    }

    fn text(&mut self, (x, y): (f64, f64), text: &str, colour: &str, is_bold: bool) {
        let weight = if is_bold { " font-weight='bold'" } else { "" };
        let shown = escaped(text);
        let _ = writeln!(
            self.boxes,
            "<text x='{x:.1}' y='{y:.1}' fill='{colour}'{weight}>{shown}</text>"
        );
        self.grow(x + text.chars().count() as f64 * LETTER, y);
    }

    fn heavy(&mut self, (x, y): (f64, f64), text: &str) {
        let shown = escaped(text);
        let _ = writeln!(
            self.boxes,
            "<text x='{x:.1}' y='{y:.1}' font-size='16' font-weight='bold'>{shown}</text>"
        );
        self.grow(x + text.chars().count() as f64 * 1.5 * LETTER, y);
    }

    fn node(&mut self, node: &Node, place: &BoxPosition) {
        let BoxPosition {
            x,
            y,
            width,
            height,
            ..
        } = *place;
        self.rectangle((x, y, width, height), node.fill);
        let (left, mut line) = (x + 8.0, y + 16.0);
        self.text((left, line), &node.title, "#111", true);
        if !node.subtitle.is_empty() {
            line += LINE;
            self.text((left, line), &node.subtitle, CONSTANT, false);
        }
        for (mark, colour) in &node.marks {
            line += LINE;
            self.text((left, line), mark, colour, false);
        }
    }

    /// An arrow that keeps to the gaps between rows and columns.
    fn arrow(&mut self, from: &BoxPosition, to: &BoxPosition) {
        let (fx, fy) = (from.x + from.width / 2.0, from.y + from.height / 2.0);
        let (tx, ty) = (to.x + to.width / 2.0, to.y + to.height / 2.0);
        let (right, bottom) = (from.x + from.width, from.y + from.height);
        let path = if from.row == to.row && to.column == from.column + 1 {
            format!("M{right:.1},{fy:.1}L{:.1},{ty:.1}", to.x)
        } else if to.row == from.row + 1 && to.column == from.column {
            format!("M{fx:.1},{bottom:.1}L{tx:.1},{:.1}", to.y)
        } else if to.row == from.row + 1 && to.column == from.column + 1 {
            format!("M{right:.1},{bottom:.1}L{:.1},{:.1}", to.x, to.y)
        } else if to.row == from.row + 1 {
            let middle = (bottom + to.y) / 2.0;
            format!("M{fx:.1},{bottom:.1}V{middle:.1}H{tx:.1}V{:.1}", to.y)
        } else if to.column == from.column {
            // Down through the gap behind the column.
            let (out, gap) = (fy + LINE / 2.0, right + GAP / 2.0);
            let over = to.y - GAP / 3.0;
            format!(
                "M{right:.1},{out:.1}H{gap:.1}V{over:.1}H{tx:.1}V{:.1}",
                to.y
            )
        } else {
            // Down through the gap before the column.
            let (out, gap) = (bottom + GAP / 3.0, to.x - GAP / 2.0);
            let over = to.y - GAP / 3.0;
            format!(
                "M{fx:.1},{bottom:.1}V{out:.1}H{gap:.1}V{over:.1}H{tx:.1}V{:.1}",
                to.y
            )
        };
        let _ = writeln!(
            self.arrows,
            "<path d='{path}' fill='none' stroke='#555' marker-end='url(#head)'/>"
        );
    }

    fn finish(&self) -> String {
        let Self {
            arrows,
            boxes,
            width,
            height,
        } = self;
        format!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0} {height:.0}' \
             width='{width:.0}' height='{height:.0}' font-family='DejaVu Sans, Verdana, \
             sans-serif' font-size='11'>\n<defs><marker id='head' viewBox='0 0 8 8' refX='8' \
             refY='4' markerWidth='7' markerHeight='7' orient='auto'><path d='M0,0L8,4L0,8z' \
             fill='#555'/></marker></defs>\n<rect width='100%' height='100%' fill='white'/>\n\
             {arrows}{boxes}</svg>\n"
        )
    }
}

/// Where a box is, in the grid and on the picture.
struct BoxPosition {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    row: usize,
    column: usize,
}

/// Where each of these begins, one after the other.
fn starts(sizes: &[f64], first: f64) -> Vec<f64> {
    let mut next = first;
    let start = |size: &f64| {
        next += size + GAP;
        next - size - GAP
    };
    sizes.iter().map(start).collect()
}

/// The text as it stands in XML, which has no place for control characters.
fn escaped(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let text: String = text.chars().map(shown).collect();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
