//! The files of a program, read and linked: maps each name to its item.

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::elaborate::most_like;
use crate::parser;
use crate::program::{EntryKind, ItemKey};
use crate::source::{FileId, SourceMap, Sources, Span, Symbol};
use crate::syntax::{Block, Entry, Ident, Item, ItemKind, UseItem, method_name};

/// The standard library: modules and their texts.
const STD: &[(&str, &str)] = &[
    ("prelude", include_str!("../std/prelude.tacit")),
    ("cipher", include_str!("../std/cipher.tacit")),
    ("edit", include_str!("../std/edit.tacit")),
    ("hash", include_str!("../std/hash.tacit")),
    ("matrix", include_str!("../std/matrix.tacit")),
    ("noise", include_str!("../std/noise.tacit")),
    ("number", include_str!("../std/number.tacit")),
    ("order", include_str!("../std/order.tacit")),
    ("psi", include_str!("../std/psi.tacit")),
    ("random", include_str!("../std/random.tacit")),
    ("score", include_str!("../std/score.tacit")),
    ("table", include_str!("../std/table.tacit")),
    ("tree", include_str!("../std/tree.tacit")),
];

/// The name of the `start` that a program has implicitly.
const IMPLIED_START: &str = "start";

/// The greatest number of files of a program.
const MAX_FILES: usize = 256;

/// The functions that are implemented in Rust, each with its module.
const BUILTINS: &[(&str, &str)] = &[
    ("prelude", "bits"),
    ("prelude", "min"),
    ("prelude", "max"),
    ("prelude", "abs"),
    ("prelude", "wide_mul"),
    ("prelude", "wide_dot"),
    ("prelude", "add_sat"),
    ("prelude", "one_hot"),
    ("prelude", "get_or"),
    ("prelude", "leading_ones"),
    ("prelude", "count_ones"),
    ("prelude", "zero"),
    ("prelude", "debug"),
    ("random", "random"),
];

/// The meaning of a name in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Definition {
    /// An item.
    Item(ItemKey),
    /// A function that is implemented in Rust.
    Builtin(&'static str),
}

/// A file and the names in it.
#[derive(Debug)]
pub(crate) struct Module {
    /// `std::order`, or the file's name without its extension.
    pub(crate) path: String,
    pub(crate) items: Vec<Item>,
    names: HashMap<Symbol, Definition>,
    /// The paths of the modules that it uses as wholes, by the names that it gives them.
    modules: HashMap<Symbol, String>,
}

/// The source of a program: all its files.
#[derive(Debug)]
pub struct Loaded {
    map: SourceMap,
    modules: Vec<Module>,
    errors: Diagnostics,
}

impl Loaded {
    /// Reads the program `text` and the files that it uses. Messages call the program `name`.
    pub fn new(name: &str, text: &str, sources: &dyn Sources) -> Self {
        let mut loaded = Self {
            map: SourceMap::default(),
            modules: Vec::new(),
            errors: Diagnostics::default(),
        };
        loaded.add(name, String::new(), text.into());
        loaded.std_module("prelude");
        let mut next = 0;
        while next < loaded.modules.len() {
            loaded.read_used(next, sources);
            next += 1;
        }
        loaded.imply_start();
        (0..loaded.modules.len()).for_each(|module| loaded.link(module));
        loaded
    }

    /// Adds `start start() {}` to a program if its states all have a first value and it has runs,
    /// no `start`, and nothing else of this name. The parties can then start a chain of it.
    fn imply_start(&mut self) {
        let items = &mut self.modules[0].items;
        let mut first_state = None;
        let mut has_run = false;
        for item in items.iter() {
            let is_start = |name: &Ident| name.as_str() == IMPLIED_START;
            match &item.kind {
                kind if kind.name().is_some_and(is_start) => return,
                ItemKind::Use(used) if used.names.iter().any(is_start) => return,
                ItemKind::State(state) if state.value.is_none() => return,
                ItemKind::State(state) => first_state = first_state.or(Some(state.name.span)),
                ItemKind::Entry(entry) if entry.kind == EntryKind::Start => return,
                ItemKind::Entry(entry) => has_run |= entry.kind == EntryKind::Run,
                _ => {}
            }
        }
        let Some(span) = first_state.filter(|_| has_run) else {
            return;
        };
        let body = Block {
            statements: Vec::new(),
            value: None,
            is_broken: false,
            span,
        };
        let entry = Entry {
            kind: EntryKind::Start,
            name: Ident {
                name: Symbol::new(IMPLIED_START),
                span,
            },
            inputs: Vec::new(),
            join: None,
            outputs: Vec::new(),
            body,
        };
        let kind = ItemKind::Entry(entry);
        items.push(Item { kind, span });
    }

    /// Returns the files, for messages.
    pub fn source_map(&self) -> &SourceMap {
        &self.map
    }

    /// Returns the items of the program's own file.
    pub(crate) fn items(&self) -> &[Item] {
        &self.modules[0].items
    }

    /// Returns the items of a file.
    pub(crate) fn items_of(&self, file: FileId) -> &[Item] {
        &self.modules[file.0 as usize].items
    }

    /// Returns the file of the module that a `use` names.
    pub(crate) fn module_of(&self, used: &UseItem) -> Option<FileId> {
        let path = path_text(used);
        let number = self.modules.iter().position(|module| module.path == path)?;
        Some(FileId(number as u32))
    }

    /// Returns the errors of the files.
    pub(crate) fn errors(&self) -> &Diagnostics {
        &self.errors
    }

    /// Returns the program's own file.
    pub fn root(&self) -> FileId {
        FileId(0)
    }

    /// Whether a file belongs to the standard library.
    pub(crate) fn is_std(&self, file: FileId) -> bool {
        self.modules[file.0 as usize].path.starts_with("std::")
    }

    pub(crate) fn item(&self, (file, number): ItemKey) -> &Item {
        &self.modules[file.0 as usize].items[number as usize]
    }

    /// Whether a module has a broken declaration of `name`, whose error the parser has reported.
    pub(crate) fn is_broken(&self, module: FileId, name: &str) -> bool {
        let broken = |item: &Item| matches!(&item.kind, ItemKind::Broken(b) if b.as_str() == name);
        self.items_of(module).iter().any(broken)
    }

    /// Returns the method `name` of a struct.
    pub(crate) fn method(&self, of: ItemKey, name: &str) -> Option<Definition> {
        let declared = self.item(of).kind.name()?;
        let names = &self.modules[of.0.0 as usize].names;
        names
            .get(method_name(declared.as_str(), name).as_str())
            .copied()
    }

    /// Whether any struct has a method of this name.
    pub(crate) fn has_method(&self, name: &str) -> bool {
        let items = self.modules.iter().flat_map(|module| &module.items);
        let mut methods = items.filter_map(method_of);
        methods.any(|(of, method)| method.as_str()[of.len() + 2..] == *name)
    }

    /// Returns the meaning of `name` in a module. It considers the module's items, the names that
    /// it uses, and the prelude.
    pub(crate) fn lookup(&self, module: FileId, name: &str) -> Option<Definition> {
        let own = &self.modules[module.0 as usize].names;
        let prelude = &self.modules[1].names;
        own.get(name).or_else(|| prelude.get(name)).copied()
    }

    /// Returns the meaning of `name` in the module of this path, or in the module to which `from`
    /// gives this name.
    pub(crate) fn lookup_in(&self, from: FileId, path: &str, name: &str) -> Option<Definition> {
        let used = &self.modules[from.0 as usize].modules;
        let path = used.get(path).map_or(path, String::as_str);
        let module = self.modules.iter().find(|module| module.path == path)?;
        module.names.get(name).copied()
    }

    /// Returns the path of a module that a program calls `module`, which may be in the standard
    /// library, and whether the module may have an item `name`.
    pub(crate) fn module_with(module: &str, name: &str) -> (String, bool) {
        let of_std = module.strip_prefix("std::").unwrap_or(module);
        let Some((_, text)) = STD.iter().find(|(known, _)| *known == of_std) else {
            return (module.to_owned(), true);
        };
        let is_builtin = BUILTINS.contains(&(of_std, name));
        let declares = |word: &str| {
            let mut lines = text
                .lines()
                .map(|line| line.trim_start_matches("component "));
            let declared = |line: &str| {
                let rest = line.strip_prefix(word)?.strip_prefix(name)?;
                rest.starts_with(['<', '(', ' ']).then_some(())
            };
            lines.any(|line| declared(line).is_some())
        };
        let has = is_builtin || declares("fn ") || declares("struct ");
        (format!("std::{of_std}"), has)
    }

    /// Returns all names that have a meaning in a module.
    pub(crate) fn names(&self, module: FileId) -> impl Iterator<Item = &Symbol> {
        let own = self.modules[module.0 as usize].names.keys();
        own.chain(self.modules[1].names.keys())
    }

    fn add(&mut self, name: &str, path: String, text: Arc<str>) {
        let file = self.map.add(name.to_owned(), Arc::clone(&text));
        let items = parser::parse(file, &text, &mut self.errors);
        self.modules.push(Module {
            path,
            items,
            names: HashMap::new(),
            modules: HashMap::new(),
        });
    }

    fn std_module(&mut self, name: &str) -> bool {
        let Some((name, text)) = STD.iter().find(|(known, _)| *known == name) else {
            return false;
        };
        let path = format!("std::{name}");
        self.add(&format!("std/{name}.tacit"), path, (*text).into());
        true
    }

    fn read_used(&mut self, module: usize, sources: &dyn Sources) {
        let items = &self.modules[module].items;
        let uses: Vec<UseItem> = items
            .iter()
            .filter_map(|item| match &item.kind {
                ItemKind::Use(used) => Some(used.modules()),
                _ => None,
            })
            .flatten()
            .collect();
        for used in uses {
            let path = path_text(&used);
            let span = used.module[0]
                .span
                .to(used.module[used.module.len() - 1].span);
            if self.modules.iter().any(|module| module.path == path) {
                continue;
            }
            if self.modules.len() >= MAX_FILES {
                let message = format!("a program has at most {MAX_FILES} files");
                self.errors.report(Diagnostic::new(span, message));
                return;
            }
            self.read_module(&used, path, span, sources);
        }
    }

    fn read_module(&mut self, used: &UseItem, path: String, span: Span, sources: &dyn Sources) {
        if used.module[0].as_str() == "std" {
            let known = match used.module.get(1) {
                Some(name) if used.module.len() == 2 => self.std_module(name.as_str()),
                _ => false,
            };
            if !known {
                let names: Vec<&str> = STD.iter().skip(1).map(|(name, _)| *name).collect();
                let error = Diagnostic::new(span, format!("there is no module `{path}`"));
                let help = format!("the modules of `std` are {}", names.join(", "));
                self.errors.report(error.help(help));
            }
            return;
        }
        let file = match &used.module[..] {
            [name] => format!("{}.tacit", name.name),
            _ => {
                let error = Diagnostic::new(span, format!("there is no module `{path}`"));
                let help =
                    "a file in the program's folder is used by its name: `use ledger::total;`";
                self.errors.report(error.help(help));
                return;
            }
        };
        match sources.read(&file) {
            Ok(text) => self.add(&file, path, text.into()),
            Err(reason) => {
                let message = format!("`{file}` cannot be used: {reason}");
                self.errors.report(Diagnostic::new(span, message));
            }
        }
    }

    /// Links each name of a module to its meaning.
    fn link(&mut self, number: usize) {
        let file = FileId(number as u32);
        let mut names: HashMap<Symbol, Definition> = HashMap::new();
        let mut declared: HashMap<Symbol, Span> = HashMap::new();
        let std_name = self.modules[number].path.strip_prefix("std::");
        for (module, name) in BUILTINS {
            if std_name == Some(module) {
                names.insert(Symbol::new(name), Definition::Builtin(name));
            }
        }
        let mut declare = |name: &Ident, definition, errors: &mut Diagnostics| {
            if let Some(first) = declared.insert(name.name.clone(), name.span) {
                let message = format!("`{}` is declared twice", name.name);
                errors.report(Diagnostic::new(name.span, message).related(first, "first here"));
            }
            names.insert(name.name.clone(), definition);
        };
        for (place, item) in self.modules[number].items.iter().enumerate() {
            let Some(name) = item.kind.name() else {
                continue;
            };
            declare(
                name,
                Definition::Item((file, place as u32)),
                &mut self.errors,
            );
        }
        let mut modules = HashMap::new();
        for item in &self.modules[number].items {
            let ItemKind::Use(used) = &item.kind else {
                continue;
            };
            if used.is_of_modules() {
                let named = used.names.iter();
                modules.extend(
                    named.map(|name| (name.name.clone(), format!("std::{name}", name = name.name))),
                );
                continue;
            }
            let path = path_text(used);
            let Some(module) = self.modules.iter().position(|module| module.path == path) else {
                continue;
            };
            for name in &used.names {
                let is_meant = |export: &(&str, Definition)| export.0 == name.as_str();
                let found = self.exports(module).find(is_meant);
                let Some(definition) = found.map(|(_, definition)| definition) else {
                    let message = format!("`{path}` has no `{}`", name.name);
                    let mut error = Diagnostic::new(name.span, message);
                    let known = self.exports(module).map(|(export, _)| export);
                    if let Some(other) = most_like(name.as_str(), known) {
                        error = error.help(format!("did you mean `{other}`?"));
                    }
                    self.errors.report(error);
                    continue;
                };
                declare(name, definition, &mut self.errors);
            }
        }
        self.modules[number].names = names;
        self.modules[number].modules = modules;
        self.check_methods(number);
    }

    /// Reports methods whose struct is not in their file.
    fn check_methods(&mut self, number: usize) {
        for (of, method) in self.modules[number].items.iter().filter_map(method_of) {
            let is_struct = |item: &Item| match &item.kind {
                ItemKind::Struct(item) => item.name.as_str() == of,
                _ => false,
            };
            let mut items = self.modules[number].items.iter();
            if !items.any(is_struct) {
                let message = format!("this file declares no struct `{of}`");
                let error = Diagnostic::new(method.span, message);
                let help = "a method stands in the file of its struct; elsewhere write a `fn`";
                self.errors.report(error.help(help));
            }
        }
    }

    /// Returns the items that other modules may use. Params, states and runs are private.
    fn exports(&self, module: usize) -> impl Iterator<Item = (&str, Definition)> {
        let (file, from) = (FileId(module as u32), &self.modules[module]);
        let items = (0..).zip(&from.items).filter_map(move |(place, item)| {
            let is_private = matches!(
                item.kind,
                ItemKind::Param(_) | ItemKind::State(_) | ItemKind::Entry(_)
            );
            let name = item.kind.name().filter(|_| !is_private)?;
            Some((name.as_str(), Definition::Item((file, place))))
        });
        let builtins = BUILTINS
            .iter()
            .filter(|(module, _)| from.path.strip_prefix("std::") == Some(module))
            .map(|(_, name)| (*name, Definition::Builtin(name)));
        items.chain(builtins)
    }
}

/// Returns the struct whose method an item is, and the method's full name.
fn method_of(item: &Item) -> Option<(&str, &Ident)> {
    let name = item.kind.name()?;
    let (of, _) = name.as_str().split_once("::")?;
    Some((of, name))
}

fn path_text(used: &UseItem) -> String {
    let names: Vec<&str> = used.module.iter().map(|name| name.as_str()).collect();
    names.join("::")
}
