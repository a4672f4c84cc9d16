//! A page as Markdown, with its pictures in files.

use super::page::{Block, Grid, Section};

/// Renders a page whose pictures lie in `folder`.
pub(super) fn render(sections: &[Section], folder: &str) -> String {
    let mut out = "# Tacit, measured\n".to_owned();
    for section in sections {
        out += &format!("\n## {}\n", section.title);
        for block in &section.blocks {
            out += "\n";
            out += &match block {
                Block::Text(text) => wrap(text),
                Block::Grid(grid) => table(grid),
                Block::Picture(picture) => {
                    let file = picture.file_name();
                    format!("![{}]({folder}/{file})\n", picture.caption)
                }
            };
        }
    }
    out
}

/// Lines of at most 100 characters.
fn wrap(text: &str) -> String {
    let (mut out, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if length > 0 && length + 1 + width > 100 {
            out += "\n";
            length = 0;
        } else if length > 0 {
            out += " ";
            length += 1;
        }
        out += word;
        length += width;
    }
    out + "\n"
}

fn table(grid: &Grid) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = (0..grid.heads.len()).map(|column| {
        let number = column > 0 && grid.rows.iter().all(|row| numeric(&row[column]));
        if number { "---:" } else { "---" }.to_owned()
    });
    let rows: String = grid.rows.iter().map(|row| line(row)).collect();
    let rule = line(&rule.collect::<Vec<_>>());
    format!(
        "{}:\n\n{}{rule}{rows}",
        wrap(&grid.caption).trim_end(),
        line(&grid.heads)
    )
}

/// Whether a cell is a number, with what may stand around it, or empty.
fn numeric(cell: &str) -> bool {
    let start = |c: char| c.is_ascii_digit() || "–-−.".contains(c);
    cell.is_empty() || cell.chars().count() <= 16 && cell.starts_with(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_words() {
        for number in ["", "12.3", "–", "0.58 / 0.31", "-1"] {
            assert!(numeric(number), "{number}");
        }
        for word in ["half-gates", "33 ms one way, 50 Mbit/s"] {
            assert!(!numeric(word), "{word}");
        }
    }

    #[test]
    fn tables_align_numbers_and_keep_bars() {
        let grid = Grid {
            caption: "A table".to_owned(),
            heads: vec!["what".to_owned(), "ms".to_owned()],
            rows: vec![vec!["a|b".to_owned(), "1.5".to_owned()]],
        };
        let expected = "A table:\n\n| what | ms |\n| --- | ---: |\n| a\\|b | 1.5 |\n";
        assert_eq!(table(&grid), expected);
    }

    #[test]
    fn lines_are_bounded() {
        let text = "word ".repeat(60);
        assert!(wrap(&text).lines().all(|line| line.len() <= 100));
        assert_eq!(wrap(&text).split_whitespace().count(), 60);
    }
}
