//! Answers an editor's questions about a position in a program: the declaration of a name, its
//! other uses, its type, its meaning in words, and a new name for it.

mod meaning;
mod rename;

use core::ops::Range;

use crate::diagnostic::Diagnostics;
use crate::lexer::{Token, TokenKind, lex};
use crate::load::{Definition, Loaded};
use crate::program::Program;
use crate::source::{FileId, Span};
use crate::syntax::{Ident, Item, ItemKind};

pub use meaning::{Meaning, words};
pub use rename::Places;

impl Loaded {
    /// Returns the declaration of the name at a byte of a file. For a module, this is the start of
    /// its file.
    pub fn definition(&self, file: FileId, offset: usize) -> Option<Span> {
        let names = Names::new(self, file);
        let is_there = |token: &Token| {
            let span = token.span.start as usize..=token.span.end as usize;
            token.kind == TokenKind::Name && span.contains(&offset)
        };
        let at = names.tokens.iter().position(is_there)?;
        names.declaration(at)
    }

    /// Returns all uses of the name declared at `declared`, in all files except the standard
    /// library.
    pub fn uses(&self, declared: Span) -> Vec<Span> {
        let map = self.source_map();
        let name = map.text(declared);
        let mut found = Vec::new();
        for file in map.ids().filter(|file| !self.is_std(*file)) {
            let names = Names::new(self, file);
            for (at, token) in names.tokens.iter().enumerate() {
                let is_name = token.kind == TokenKind::Name && map.text(token.span) == name;
                if is_name && names.declaration(at) == Some(declared) {
                    found.push(token.span);
                }
            }
        }
        found
    }
}

/// The names in a file.
struct Names<'l> {
    loaded: &'l Loaded,
    file: FileId,
    tokens: Vec<Token>,
}

impl<'l> Names<'l> {
    fn new(loaded: &'l Loaded, file: FileId) -> Self {
        let text = &loaded.source_map().file(file).text;
        let tokens = lex(file, text, &mut Diagnostics::default()).tokens;
        Self {
            loaded,
            file,
            tokens,
        }
    }

    fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    fn before(&self, at: usize) -> Option<TokenKind> {
        at.checked_sub(1).and_then(|before| self.kind(before))
    }

    fn text(&self, at: usize) -> &str {
        self.loaded.source_map().text(self.tokens[at].span)
    }

    /// Returns the declaration of the name at a token.
    fn declaration(&self, at: usize) -> Option<Span> {
        let span = self.tokens[at].span;
        let mut items = self.loaded.items_of(self.file).iter();
        let item = items.find(|i| i.span.start <= span.start && span.end <= i.span.end)?;
        if let ItemKind::Use(used) = &item.kind
            && used.module.iter().any(|part| part.span == span)
        {
            let file = self.loaded.module_of(used)?;
            let (start, end) = (0, 0);
            let start = Span { file, start, end };
            return (!self.loaded.is_std(file)).then_some(start);
        }
        if let ItemKind::Enum(item) = &item.kind
            && item.variants.iter().any(|variant| variant.span == span)
        {
            return Some(span);
        }
        let is_field = self.before(at) == Some(TokenKind::Dot)
            && !matches!(
                self.kind(at + 1),
                Some(TokenKind::OpenParen | TokenKind::ColonColon)
            );
        if is_field {
            return None;
        }
        if self.before(at) == Some(TokenKind::ColonColon)
            && let Some(whole) = at.checked_sub(2)
            && self.kind(whole) == Some(TokenKind::Name)
        {
            return self.part_of(whole, at);
        }
        let declares_item = item.kind.name().is_some_and(|name| name.span == span);
        self.local(item, at).or_else(|| {
            // Otherwise it is a field, or a named argument.
            if declares_item || self.kind(at + 1) != Some(TokenKind::Colon) {
                self.item(self.loaded.lookup(self.file, self.text(at))?)
            } else {
                None
            }
        })
    }

    fn item(&self, definition: Definition) -> Option<Span> {
        let Definition::Item(key) = definition else {
            return None;
        };
        self.loaded.item(key).kind.name().map(|name| name.span)
    }

    /// Returns the declaration of an enum's variant, or of an item that is named with its module.
    fn part_of(&self, whole: usize, at: usize) -> Option<Span> {
        let (whole, name) = (self.text(whole), self.text(at));
        if let Some(Definition::Item(key)) = self.loaded.lookup(self.file, whole)
            && let ItemKind::Enum(item) = &self.loaded.item(key).kind
        {
            let mut variants = item.variants.iter();
            return variants.find(|v| v.as_str() == name).map(|v| v.span);
        }
        if let Some(Definition::Item(key)) = self.loaded.lookup(self.file, whole)
            && let Some(method) = self.loaded.method(key, name)
        {
            return self.item(method);
        }
        let is_used = self.loaded.lookup_in(self.file, whole, name);
        self.item(is_used.or_else(|| self.loaded.lookup(self.file, name))?)
    }

    /// Returns the variable that a name refers to: the last one declared before it that is still in
    /// scope.
    fn local(&self, item: &Item, at: usize) -> Option<Span> {
        let name = self.text(at);
        let mut earlier = (0..=at).rev();
        let own = earlier.by_ref().take_while(|&place| {
            // Only tokens of the item count.
            self.tokens[place].span.start >= item.span.start
        });
        for place in own {
            if self.kind(place) != Some(TokenKind::Name) || self.text(place) != name {
                continue;
            }
            if let Some(begin) = self.binder(place)
                && (place == at || self.scope(begin).contains(&at))
            {
                return Some(self.tokens[place].span);
            }
        }
        let mut declared = header(item);
        declared
            .find(|ident| ident.as_str() == name)
            .map(|ident| ident.span)
    }

    /// Returns the `let`, `for`, `const` or `|` that makes the name at a token a variable.
    fn binder(&self, place: usize) -> Option<usize> {
        for at in (0..place).rev() {
            match self.kind(at)? {
                TokenKind::Name | TokenKind::Comma | TokenKind::OpenParen | TokenKind::Mut => {}
                TokenKind::For | TokenKind::Let => return Some(at),
                TokenKind::Const => {
                    let is_loop = self.before(at) == Some(TokenKind::For);
                    // An item's header declares its generics.
                    let is_generic =
                        matches!(self.before(at), Some(TokenKind::Less | TokenKind::Comma));
                    return (!is_generic).then_some(at - usize::from(is_loop));
                }
                TokenKind::Or => {
                    let before = self.before(at);
                    let opens = matches!(before, Some(TokenKind::OpenParen | TokenKind::Comma));
                    return opens.then_some(at);
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns the tokens in which a variable bound at `begin` is in scope: those after its `let`,
    /// in the block of its `for`, or in its function.
    fn scope(&self, begin: usize) -> Range<usize> {
        let is_loop = self.kind(begin) == Some(TokenKind::For);
        let is_lambda = self.kind(begin) == Some(TokenKind::Or);
        let mut start = is_lambda.then_some(begin);
        let mut depth = 0;
        for at in begin..self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::OpenBrace if is_loop && start.is_none() && depth == 0 => {
                    (start, depth) = (Some(at), 1);
                }
                TokenKind::OpenParen | TokenKind::OpenBracket | TokenKind::OpenBrace => depth += 1,
                TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace => {
                    depth -= 1;
                    if depth < 0 || (is_loop && start.is_some() && depth == 0) {
                        return start.unwrap_or(at)..at;
                    }
                }
                TokenKind::Semicolon if !is_loop && start.is_none() && depth == 0 => {
                    start = Some(at);
                }
                _ => {}
            }
        }
        start.unwrap_or(begin)..self.tokens.len()
    }
}

/// Returns the names that a function or a run declares in its header: generics, parameters and
/// inputs.
fn header(item: &Item) -> Box<dyn Iterator<Item = &Ident> + '_> {
    match &item.kind {
        ItemKind::Function(function) => {
            let generics = function.generics.iter().map(|generic| &generic.name);
            Box::new(generics.chain(function.parameters.iter().map(|p| &p.name)))
        }
        ItemKind::Entry(entry) => {
            let inputs = entry.inputs.iter().map(|input| &input.name);
            Box::new(inputs.chain(entry.join.iter().map(|join| &join.name)))
        }
        ItemKind::Struct(item) => Box::new(item.generics.iter().map(|generic| &generic.name)),
        ItemKind::Type(_, generics, _) => Box::new(generics.iter().map(|generic| &generic.name)),
        _ => Box::new(core::iter::empty()),
    }
}

impl Program {
    /// Returns the type of the smallest expression around a byte of a file, and the expression's
    /// place. In a generic function, the type is that of the first instance.
    pub fn type_at(&self, file: FileId, offset: usize) -> Option<(Span, String)> {
        let offset = offset as u32;
        let mut best: Option<(u32, Span, String)> = None;
        for function in &self.functions {
            function.expressions(&mut |expression| {
                let span = expression.span;
                let length = span.end - span.start;
                let is_there = span.file == file && span.start <= offset && offset <= span.end;
                if is_there && best.as_ref().is_none_or(|(least, ..)| length < *least) {
                    let name = self.types.name(expression.ty).to_string();
                    best = Some((length, span, name));
                }
            });
        }
        best.map(|(_, span, name)| (span, name))
    }
}
