//! Paths, and their meanings.

use super::{Binding, Done, Elaborator, most_like};
use crate::diagnostic::{Diagnostic, Reported, SHOWN_VALUES};
use crate::load::{Definition, Loaded};
use crate::program::ItemKey;
use crate::source::{Span, Symbol};
use crate::syntax::{ItemKind, Path};

/// The meaning of a path.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    /// A name in the function.
    Binding(Binding),
    /// An item of a module.
    Definition(Definition),
    /// A variant of an enum, by its index.
    Variant(ItemKey, usize),
}

impl Elaborator<'_> {
    pub(super) fn meaning(&mut self, path: &Path) -> Done<Meaning> {
        let names = &path.segments;
        if let [name] = &names[..] {
            if let Some(binding) = self.binding(name.as_str()) {
                return match binding {
                    Binding::Broken(reported) => Err(*reported),
                    Binding::Table | Binding::Pairs(..) => Err(self.no_value(name)),
                    binding => Ok(Meaning::Binding(binding.clone())),
                };
            }
            return match self.loaded.lookup(self.context.module, name.as_str()) {
                Some(definition) => Ok(Meaning::Definition(definition)),
                None => Err(self.unknown(name.as_str(), name.span)),
            };
        }
        let (last, before) = names.split_last().expect("a path has a name");
        if let [of] = before
            && let Some(Definition::Item(key)) = self.enum_named(of.as_str())
            && let ItemKind::Enum(item) = &self.loaded.item(key).kind
        {
            let variants = item.variants.iter();
            let place = variants.clone().position(|v| v.name == last.name);
            return match place {
                Some(place) => Ok(Meaning::Variant(key, place)),
                None => {
                    let names: Vec<&str> = variants.map(|variant| variant.as_str()).collect();
                    let message = format!("`{}` has no variant `{}`", of.name, last.name);
                    let error = Diagnostic::new(last.span, message);
                    self.fail(error.help(format!("its variants are {}", names.join(", "))))
                }
            };
        }
        if let [of] = before
            && let Some(Definition::Item(key)) =
                self.declaration(of.as_str(), |kind| matches!(kind, ItemKind::Struct(_)))
        {
            return match self.loaded.method(key, last.as_str()) {
                Some(definition) => Ok(Meaning::Definition(definition)),
                None => {
                    let message = format!("`{}` has no method `{}`", of.name, last.name);
                    self.fail(Diagnostic::new(last.span, message))
                }
            };
        }
        let module: Vec<&str> = before.iter().map(|name| name.as_str()).collect();
        let module = module.join("::");
        let from = self.context.module;
        match self.loaded.lookup_in(from, &module, last.as_str()) {
            Some(definition) => Ok(Meaning::Definition(definition)),
            None => {
                let name = last.name.as_str();
                let (of, has) = Loaded::module_with(&module, name);
                if !has {
                    let message = format!("`{of}` has no `{name}`");
                    return self.fail(Diagnostic::new(path.span, message));
                }
                let message = format!("there is no `{module}::{name}` here");
                let error = Diagnostic::new(path.span, message);
                self.fail(error.help(format!("`use {of}::{name};` brings it in")))
            }
        }
    }

    /// Returns the enum that a name means, also through a type alias.
    fn enum_named(&self, name: &str) -> Option<Definition> {
        self.declaration(name, |kind| matches!(kind, ItemKind::Enum(_)))
    }

    /// Returns the item of one kind that a name means, also through a type alias.
    fn declaration(&self, name: &str, is_meant: fn(&ItemKind) -> bool) -> Option<Definition> {
        let mut definition = self.loaded.lookup(self.context.module, name)?;
        // A chain of aliases ends, or an error in its declarations is reported.
        for _ in 0..8 {
            let Definition::Item(key) = definition else {
                return None;
            };
            match &self.loaded.item(key).kind {
                kind if is_meant(kind) => return Some(definition),
                ItemKind::Type(_, _, ty) => {
                    let crate::syntax::TypeExpressionKind::Named(path) = &ty.kind else {
                        return None;
                    };
                    let [name] = &path.segments[..] else {
                        return None;
                    };
                    definition = self.loaded.lookup(key.0, name.as_str())?;
                }
                _ => return None,
            }
        }
        None
    }

    /// Returns an enum of this module that has a variant of this name.
    fn enum_with_variant(&self, name: &str) -> Option<Symbol> {
        let names = self.loaded.names(self.context.module);
        let enums = names.filter(|symbol| match self.enum_named(symbol.as_str()) {
            Some(Definition::Item(key)) => match &self.loaded.item(key).kind {
                ItemKind::Enum(item) => item.variants.iter().any(|v| v.as_str() == name),
                _ => false,
            },
            _ => false,
        });
        enums.min().cloned()
    }

    fn unknown(&mut self, name: &str, span: Span) -> Reported {
        if self.loaded.is_broken(self.context.module, name) {
            return Reported::by_parser();
        }
        let mut error = Diagnostic::new(span, format!("nothing here is called `{name}`"));
        if let Some(help) = habit(name) {
            return self.report(error.help(help));
        }
        if let Some(of) = self.enum_with_variant(name) {
            return self.report(error.help(format!("a variant is written `{of}::{name}`")));
        }
        if let Some(other) = self.like(name) {
            error = error.help(format!("did you mean `{other}`?"));
        }
        self.report(error)
    }

    /// Returns a name in scope that is similar to `name`.
    fn like(&self, name: &str) -> Option<String> {
        let locals = self.context.scopes.all().iter().map(|(name, _)| name);
        let known = locals.chain(self.loaded.names(self.context.module));
        most_like(name, known.map(|symbol| symbol.as_str()))
    }

    /// Whether a path is a name without a meaning here.
    pub(super) fn is_unknown(&self, path: &Path) -> bool {
        path.as_name().is_some_and(|name| {
            let name = name.as_str();
            let known = self.loaded.lookup(self.context.module, name);
            self.binding(name).is_none() && known.is_none()
        })
    }

    /// Whether a path is a name that has no meaning here and is similar to no other.
    pub(super) fn is_new(&self, path: &Path) -> bool {
        self.is_unknown(path) && self.like(path.last().as_str()).is_none()
    }
}

/// Returns the replacement for a name that people know from other languages.
pub(super) fn habit(name: &str) -> Option<&'static str> {
    Some(match name {
        "int" | "isize" | "long" | "sint" => "an integer with a sign is `i32`, or `i<N>`",
        "uint" | "usize" | "unsigned" => "an integer without a sign is `u32`, or `u<N>`",
        "float" | "double" | "f32" | "f64" | "sfix" => "a number with a point is `fixed<16, 16>`",
        "str" | "String" | "string" | "char" => "a text of at most n bytes is `text<n>`",
        "int8" | "int16" | "int32" | "int64" => "an integer with a sign is `i32`, or `i<N>`",
        "uint8" | "uint16" | "uint32" | "uint64" => "an integer without a sign is `u32`, or `u<N>`",
        "float32" | "float64" => "a number with a point is `fixed<16, 16>`",
        "boolean" | "bit" | "sbool" => "a truth value is `bool`",
        "True" | "False" => "truth values are `true` and `false`",
        "not" => "`not` is written `!`",
        "Vec" | "vec" | "List" => "an array of n is `[T; n]`, one of at most n `[T; ..n]`",
        "Option" | "Some" | "None" | "null" | "nil" | "NULL" => {
            "`Maybe { some: true, value: x }` is a value or none"
        }
        "mux" | "select" | "if_else" => "`if condition { a } else { b }` selects a secret",
        "random" => "`use std::random::random;` brings it in",
        "sort" => "`use std::order::sort;` brings it in",
        "median" => "`use std::order::median;` brings it in",
        "intersect" => "`use std::psi::intersect;` brings it in",
        "join" => "`use std::table::join;` brings it in",
        "sum" => "`let mut total: u64 = 0; for x in array { total += x as u64; }` adds up",
        "len" | "length" | "size" => "the length of an array or a table is its `.len`",
        "range" => "a loop over numbers is `for i in 0..n { … }`",
        "reveal" | "open" => "what a party learns is a result: `-> (x: u32 to alice)`",
        "print" | "println" | "printf" => SHOWN_VALUES,
        "push" | "append" | "extend" => {
            "an array has a length from the start: `[for i in 0..n { … }]` makes one"
        }
        "enumerate" | "zip" => "a loop with a number is `for i in 0..a.len { … a[i] … }`",
        _ => return None,
    })
}
