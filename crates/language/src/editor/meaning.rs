//! The names that an editor offers, and their meaning in the words of their declarations.

use crate::border::said_above;
use crate::lexer::WORDS;
use crate::load::{Definition, Loaded};
use crate::source::Span;
use crate::syntax::{Item, ItemKind};

/// An editor shows at most this many letters of a declaration.
const MAX_DECLARED: usize = 400;

/// The declaration and documentation of a name, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// The declaration, without the body of a function.
    pub declared: String,
    /// The text of the lines with `///` above the declaration.
    pub documentation: String,
}

impl Loaded {
    /// Returns the meaning of the item whose name is declared at `declared`. Returns `None` for the
    /// names of variables, inputs, fields and variants.
    pub fn meaning(&self, declared: Span) -> Option<Meaning> {
        let mut items = self.items_of(declared.file).iter();
        let is_it = |item: &&Item| item.kind.name().is_some_and(|name| name.span == declared);
        items.find(is_it).map(|item| self.meaning_of(item))
    }

    fn meaning_of(&self, item: &Item) -> Meaning {
        let text = self.source_map().text(item.span);
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(line));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        let whole = words.join(" ");
        let has_body = matches!(item.kind, ItemKind::Function(_) | ItemKind::Entry(_));
        let declared = match whole.split_once(" {") {
            Some((head, _)) if has_body => head,
            _ => &whole,
        };
        Meaning {
            declared: declared.chars().take(MAX_DECLARED).collect(),
            documentation: said_above(self, item.span),
        }
    }

    /// Returns the names that have a meaning everywhere in the program's own file, in order. Names
    /// that Tacit itself declares have an empty meaning.
    pub fn names_in_sight(&self) -> Vec<(String, Meaning)> {
        let root = self.root();
        let meaning = |name: &str| match self.lookup(root, name) {
            Some(Definition::Item(key)) => self.meaning_of(self.item(key)),
            _ => Meaning::default(),
        };
        let names = self.names(root).map(|name| name.as_str());
        let mut names: Vec<(String, Meaning)> =
            names.map(|name| (name.to_owned(), meaning(name))).collect();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        names.dedup_by(|a, b| a.0 == b.0);
        names
    }
}

/// Returns the words of the language, which no program declares.
pub fn words() -> &'static [&'static str] {
    WORDS
}
