//! Params, consts, and numbers where a const is needed.

use num_bigint::BigInt;

use super::term::Term;
use super::{Binding, Context, Done, Elaborator, Surroundings, most_like};
use crate::diagnostic::Diagnostic;
use crate::program::{Counted, ExpressionKind, GenericValue, ItemKey, OpenValue, Param, Value};
use crate::source::{FileId, Span};
use crate::syntax::{Expression, ExpressionKind as Syntax, Generic, Ident, ItemKind, ParamItem};

/// Returns the context of a generic item with these values.
pub(super) fn generic_context(
    module: FileId,
    declared: &[Generic],
    values: &[GenericValue],
) -> Context {
    let mut context = Context::new(module, Surroundings::Constant);
    context.scopes.extend(bindings(declared, values));
    context
}

/// Returns the meanings of the names of generics.
pub(super) fn bindings<'g>(
    declared: &'g [Generic],
    values: &'g [GenericValue],
) -> impl Iterator<Item = (crate::source::Symbol, Binding)> + 'g {
    declared.iter().zip(values).map(|(generic, value)| {
        let binding = match value {
            GenericValue::Type(ty) => Binding::Type(*ty),
            GenericValue::Number(number) => Binding::Term(Term::Integer(number.clone())),
        };
        (generic.name.name.clone(), binding)
    })
}

impl<'a> Elaborator<'a> {
    /// Elaborates a whole number that is known before the program runs.
    pub(super) fn const_integer(&mut self, from: &'a Expression, what: &str) -> Done<BigInt> {
        let term = self.expression(from, None)?;
        self.integer_of(term, from.span, what)
    }

    /// Returns the whole number of a term.
    pub(super) fn integer_of(&mut self, term: Term, span: Span, what: &str) -> Done<BigInt> {
        let error = match term {
            Term::Integer(number) => return Ok(number),
            Term::Value(value) => match value.kind {
                ExpressionKind::Constant(Value::Integer(number)) => return Ok(number),
                ExpressionKind::Constant(_) => {
                    let message = format!("{what} is a whole number");
                    Diagnostic::new(span, message)
                        .label(format!("this is a `{}`", self.type_name(value.ty)))
                }
                _ => {
                    let message = format!("{what} must be const, and this is a secret");
                    Diagnostic::new(span, message)
                        .label("depends on the inputs")
                        .help(
                            "both parties must know it before the run: use a `param`, a `const`, \
                             or a generic `const N`, and `if` for what depends on a secret",
                        )
                }
            },
            Term::Number(number) => {
                let text = number.display(&self.context.counters);
                let message = format!("{what} must be const, and `{text}` changes with its loop");
                Diagnostic::new(span, message)
                    .help("`for const` unrolls the loop, and its counter is const")
            }
            Term::Choice(_) | Term::Block(_) => {
                let message = format!("{what} must be const, and this is a secret");
                Diagnostic::new(span, message).label("depends on the inputs")
            }
            _ => Diagnostic::new(span, format!("{what} is a whole number")),
        };
        self.fail(error)
    }

    /// Returns the value of a `const` item.
    pub(super) fn const_item(&mut self, key: ItemKey, span: Span) -> Done<Term> {
        match self.constants.get(&key) {
            Some(Some(known)) => return known.clone(),
            Some(None) => {
                let error = Diagnostic::new(span, "this const depends on itself");
                return self.fail(error);
            }
            None => {}
        }
        let ItemKind::Const(_, ty, value) = &self.loaded.item(key).kind else {
            return self.fail(Diagnostic::new(span, "this is not a const"));
        };
        self.constants.insert(key, None);
        let context = Context::new(key.0, Surroundings::Constant);
        let (term, _) = self.within(context, |this| {
            let hint = ty.as_ref().map(|ty| this.ty(ty)).transpose()?;
            let term = this.expression(value, hint)?;
            match hint {
                Some(ty) => {
                    let value = this.meet(term, ty, value.span)?;
                    Ok(Term::Value(value))
                }
                None => Ok(term),
            }
        });
        self.constants.insert(key, Some(term.clone()));
        term
    }

    /// Gives all params their values.
    pub(super) fn params(&mut self) {
        let root = self.loaded.root();
        let items = self.loaded.items().iter().enumerate();
        for (number, item) in items {
            if let ItemKind::Param(param) = &item.kind {
                let value = self.param(param);
                let term = value.map(|param| {
                    let value = param.value.clone();
                    self.program.params.push(param);
                    Term::Integer(value)
                });
                self.constants.insert((root, number as u32), Some(term));
            }
        }
        for name in self.given.keys() {
            if self.errors.is_empty()
                && !self.program.params.iter().any(|p| p.name.as_str() == name)
            {
                let params = self.program.params.iter();
                let names: Vec<&str> = params.map(|param| param.name.as_str()).collect();
                let error = no_param(self.file_start(), name, &names);
                self.report(error);
            }
        }
    }

    /// Returns the position of the first character of the program.
    pub(super) fn file_start(&self) -> Span {
        Span {
            file: self.loaded.root(),
            start: 0,
            end: 0,
        }
    }

    fn param(&mut self, item: &'a ParamItem) -> Done<Param> {
        let minimum = self.const_integer(&item.from, "the least value of a param")?;
        let maximum = self.const_integer(&item.to, "the greatest value of a param")?;
        if minimum > maximum {
            let message = format!("`{}` has no value: {minimum} to {maximum}", item.name.name);
            return self.fail(Diagnostic::new(item.name.span, message));
        }
        let open = match &item.default {
            Some(default) => self.open_value(default)?,
            None => None,
        };
        let default = match &item.default {
            Some(default) if open.is_none() => {
                Some(self.const_integer(default, "the value of a param")?)
            }
            _ => None,
        };
        let given = self.given.get(item.name.as_str()).cloned();
        // A check that holds for the largest table holds for every table.
        let largest = open.is_some().then(|| maximum.clone());
        let value = given.or(default.clone()).or(largest);
        let value = value.unwrap_or(minimum.clone());
        if value < minimum || value > maximum {
            let name = &item.name.name;
            let message = format!("the value {value} of `{name}` is outside {minimum}..={maximum}");
            let help = format!("`{name}` can be {minimum} to {maximum}");
            return self.fail(Diagnostic::new(item.name.span, message).help(help));
        }
        Ok(Param {
            name: item.name.name.clone(),
            minimum,
            maximum,
            default,
            value,
            open,
        })
    }

    /// Elaborates `len(people)` or `keys(sales)` of a table that `main` joins.
    fn open_value(&mut self, of: &'a Expression) -> Done<Option<OpenValue>> {
        let Some((counted, table)) = counted_table(of) else {
            return Ok(None);
        };
        let entries = self
            .loaded
            .items()
            .iter()
            .filter_map(|item| match &item.kind {
                ItemKind::Entry(entry) => entry.join.as_ref(),
                _ => None,
            });
        let mut tables = entries.flat_map(|join| [&join.left.table, &join.right.table]);
        if !tables.any(|joined| joined.name == table.name) {
            let message = format!("`{}` is no table that `main` joins", table.name);
            let error = Diagnostic::new(table.span, message);
            return self.fail(error.help(
                "`len(people)` and `keys(people)` are of an input in `pairs: join people …`",
            ));
        }
        let input = table.name.clone();
        Ok(Some(OpenValue { input, counted }))
    }
}

/// Returns the table that a param counts, and what it counts: rows or keys.
pub(super) fn counted_table(of: &Expression) -> Option<(Counted, &Ident)> {
    let Syntax::Call(called, arguments) = &of.kind else {
        return None;
    };
    let Syntax::Path(called) = &called.kind else {
        return None;
    };
    let counted = match called.as_name()?.as_str() {
        "len" => Counted::Rows,
        "keys" => Counted::Keys,
        _ => return None,
    };
    let [only] = &arguments[..] else {
        return None;
    };
    match &only.value.kind {
        Syntax::Path(table) => Some((counted, table.as_name()?)),
        _ => None,
    }
}

/// Reports that a program has no param `name`, and lists its `params`.
pub(super) fn no_param(place: Span, name: &str, params: &[&str]) -> Diagnostic {
    let error = Diagnostic::new(place, format!("there is no param `{name}`"));
    error.help(match most_like(name, params.iter().copied()) {
        Some(param) => format!("did you mean `{param}`?"),
        None if params.is_empty() => "the program has no params".to_owned(),
        None => format!("the params are {}", params.join(", ")),
    })
}
