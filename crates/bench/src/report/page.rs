//! What a report consists of, before it is HTML or Markdown.

/// A page.
#[derive(Debug)]
pub(super) struct Page {
    /// Its heading.
    pub(super) title: String,
    /// Its sections in order.
    pub(super) sections: Vec<Section>,
}

impl Page {
    /// Every picture in order.
    pub(super) fn pictures(&self) -> impl Iterator<Item = &Picture> {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.filter_map(|block| match block {
            Block::Picture(picture) => Some(picture),
            Block::Text(_) | Block::Grid(_) => None,
        })
    }
}

/// A part of a page under a heading.
#[derive(Debug)]
pub(super) struct Section {
    /// What links to it say: lower case, no spaces.
    pub(super) anchor: &'static str,
    /// Its heading.
    pub(super) title: &'static str,
    /// What it consists of.
    pub(super) blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug)]
pub(super) enum Block {
    /// A paragraph; what stands between backticks is code.
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

impl Picture {
    /// The name of its file.
    pub(super) fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }
}

impl Section {
    /// An empty section.
    pub(super) fn new(anchor: &'static str, title: &'static str) -> Self {
        Self {
            anchor,
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

/// Heads of columns from text.
pub(super) fn heads(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
