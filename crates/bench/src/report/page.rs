//! What a report consists of, before it is Markdown.

use super::chart::{Line, Lines};
use crate::table::Row;

/// A part of a page under a heading.
#[derive(Debug)]
pub(super) struct Section {
    /// Its heading.
    pub(super) title: &'static str,
    /// What it consists of.
    pub(super) blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug)]
pub(super) enum Block {
    /// A paragraph.
    Text(String),
    /// A table.
    Grid(Grid),
    /// A picture.
    Picture(Picture),
}

/// A table; columns but the first hold numbers where their cells begin with one.
#[derive(Debug)]
pub(super) struct Grid {
    /// What it shows.
    pub(super) caption: String,
    /// The heads of its columns.
    pub(super) heads: Vec<String>,
    /// Its rows, as long as the heads.
    pub(super) rows: Vec<Vec<String>>,
}

/// A picture.
#[derive(Debug)]
pub(super) struct Picture {
    /// Its file's name without the ending.
    pub(super) name: &'static str,
    /// What it shows, for those who cannot see it too.
    pub(super) caption: String,
    /// The picture.
    pub(super) svg: String,
}

impl Grid {
    /// The table that is printed of these figures.
    pub(super) fn of<R: Row>(caption: &str, figures: &[&R]) -> Self {
        let heads = R::COLUMNS.iter().map(|column| column.head.to_owned());
        Self {
            caption: caption.to_owned(),
            heads: heads.collect(),
            rows: figures.iter().map(|row| row.cells()).collect(),
        }
    }
}

impl Picture {
    /// Lines over what the axes are: across, and up. Nothing where no line has two points.
    pub(super) fn of_lines(
        name: &'static str,
        caption: String,
        [across, up]: [&str; 2],
        lines: Vec<Line>,
    ) -> Option<Self> {
        let (across, up) = (across.to_owned(), up.to_owned());
        let svg = Lines { across, up, lines }.svg()?;
        Some(Self { name, caption, svg })
    }

    /// The name of its file.
    pub(super) fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }
}

impl Section {
    /// An empty section.
    pub(super) fn new(title: &'static str) -> Self {
        Self {
            title,
            blocks: Vec::new(),
        }
    }

    /// Adds a paragraph.
    pub(super) fn text(mut self, text: &str) -> Self {
        self.blocks.push(Block::Text(text.to_owned()));
        self
    }

    /// Adds a table, where it has rows.
    pub(super) fn grid(mut self, grid: Grid) -> Self {
        if !grid.rows.is_empty() {
            debug_assert!(grid.rows.iter().all(|row| row.len() == grid.heads.len()));
            self.blocks.push(Block::Grid(grid));
        }
        self
    }

    /// Adds a picture, where there is one.
    pub(super) fn picture(mut self, picture: Option<Picture>) -> Self {
        self.blocks.extend(picture.map(Block::Picture));
        self
    }

    /// The section, unless it has no table and no picture.
    pub(super) fn unless_empty(self) -> Option<Self> {
        let figure = |block: &Block| !matches!(block, Block::Text(_));
        self.blocks.iter().any(figure).then_some(self)
    }
}

/// Heads of columns, which stand between bars.
pub(super) fn heads(texts: &str) -> Vec<String> {
    texts.split(" | ").map(str::to_owned).collect()
}
