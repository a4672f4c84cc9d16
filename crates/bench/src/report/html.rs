//! A page as one file of HTML, with its style and pictures inside.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::page::{Block, Grid, Page, Section};

/// The page's look: the reader's own fonts, light or dark as the reader has it.
const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#d8dee4;--paper:#fff;--band:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9aa6b2;--line:#30363d;--paper:#0d1117;--band:#161b22}}
body{margin:0 auto;max-width:68rem;padding:2rem 1.25rem 4rem;font:16px/1.55 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
h1{font-size:2rem;margin:0 0 .25rem}h2{margin:3rem 0 .75rem;padding-top:.5rem;border-top:1px solid var(--line)}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}a{color:inherit}
p{max-width:46rem}code{font:.9em ui-monospace,monospace;background:var(--band);padding:.1em .3em;border-radius:3px}
.scroll{overflow-x:auto;margin:1rem 0 1.5rem}table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:0 0 .4rem;caption-side:top}
th,td{padding:.3rem .75rem .3rem 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600;white-space:nowrap}td.n,th.n{text-align:right}td:not(.t){white-space:nowrap}tbody tr:hover{background:var(--band)}
figure{margin:1.25rem 0}figure svg{max-width:100%;height:auto;background:#fff;border:1px solid var(--line);border-radius:6px}
figcaption{color:var(--soft);font-size:.875rem;max-width:46rem;margin-top:.4rem}";

/// Renders a page.
pub(super) fn render(page: &Page) -> String {
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (page.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (page.title) }
                nav { ul {
                    @for section in &page.sections {
                        li { a href=(format!("#{}", section.anchor)) { (section.title) } }
                    }
                } }
                main { @for section in &page.sections { (part(section)) } }
            }
        }
    };
    body.into_string()
}

fn part(section: &Section) -> Markup {
    html! {
        section id=(section.anchor) {
            h2 { (section.title) }
            @for block in &section.blocks {
                @match block {
                    Block::Text(text) => { p { (with_code(text)) } }
                    Block::Grid(grid) => { (table(grid)) }
                    Block::Picture(picture) => {
                        figure {
                            (PreEscaped(&picture.svg))
                            figcaption { (with_code(&picture.caption)) }
                        }
                    }
                }
            }
        }
    }
}

fn table(grid: &Grid) -> Markup {
    let number = |column: usize| column > 0 && grid.rows.iter().all(|row| numeric(&row[column]));
    let class = |column: usize| {
        let longest = grid.rows.iter().map(|row| row[column].chars().count());
        match longest.max() {
            _ if number(column) => "n",
            Some(length) if length > 60 => "t",
            _ => "w",
        }
    };
    html! {
        div class="scroll" { table {
            caption { (with_code(&grid.caption)) }
            thead { tr {
                @for (column, head) in grid.heads.iter().enumerate() {
                    th class=(class(column)) { (head) }
                }
            } }
            tbody { @for row in &grid.rows { tr {
                @for (column, cell) in row.iter().enumerate() {
                    td class=(class(column)) { (with_code(cell)) }
                }
            } } }
        } }
    }
}

/// Whether a cell is a number, with what may stand around it, or empty.
pub(super) fn numeric(cell: &str) -> bool {
    let start = |c: char| c.is_ascii_digit() || "–-−.".contains(c);
    cell.is_empty() || cell.chars().count() <= 16 && cell.starts_with(start)
}

/// Text whose parts between backticks are code.
fn with_code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_code_marked() {
        let text = with_code("a < b, `c & d`").into_string();
        assert_eq!(text, "a &lt; b, <code>c &amp; d</code>");
    }

    #[test]
    fn numbers_are_told_from_words() {
        for number in ["", "12.3", "–", "0.58 / 0.31", "-1"] {
            assert!(numeric(number), "{number}");
        }
        for word in ["half-gates", "33 ms one way, 50 Mbit/s"] {
            assert!(!numeric(word), "{word}");
        }
    }
}
