//! The names of a function and their meanings, in nested scopes. A name is found by its hash, so
//! that the time for a name does not grow with the number of names.

use std::collections::HashMap;

use super::Binding;
use crate::source::Symbol;

/// Nested scopes. The outermost is always open.
#[derive(Default)]
pub(super) struct Scopes {
    /// The names in the order in which they were bound.
    names: Vec<(Symbol, Binding)>,
    /// The number of names before each scope except the outermost.
    opened: Vec<usize>,
    /// The positions of each name in `names`, the innermost last.
    places: HashMap<Symbol, Vec<usize>>,
}

impl Scopes {
    pub(super) fn open(&mut self) {
        self.opened.push(self.names.len());
    }

    /// Closes the innermost scope and forgets its names.
    pub(super) fn close(&mut self) {
        let Some(before) = self.opened.pop() else {
            return;
        };
        for (name, _) in self.names.drain(before..) {
            if let Some(places) = self.places.get_mut(&name) {
                places.pop();
                if places.is_empty() {
                    self.places.remove(&name);
                }
            }
        }
    }

    /// Gives a name a meaning in the innermost scope.
    pub(super) fn bind(&mut self, name: Symbol, binding: Binding) {
        let places = self.places.entry(name.clone()).or_default();
        places.push(self.names.len());
        self.names.push((name, binding));
    }

    /// Returns the innermost meaning of a name.
    pub(super) fn find(&self, name: &str) -> Option<&Binding> {
        let place = *self.places.get(name)?.last()?;
        Some(&self.names[place].1)
    }

    /// Returns all names, including hidden ones, in the order in which they were bound.
    pub(super) fn all(&self) -> &[(Symbol, Binding)] {
        &self.names
    }

    /// Returns the names of the outermost scope.
    pub(super) fn outermost(&self) -> &[(Symbol, Binding)] {
        &self.names[..self.opened.first().copied().unwrap_or(self.names.len())]
    }
}

impl Extend<(Symbol, Binding)> for Scopes {
    fn extend<T: IntoIterator<Item = (Symbol, Binding)>>(&mut self, names: T) {
        for (name, binding) in names {
            self.bind(name, binding);
        }
    }
}

impl FromIterator<(Symbol, Binding)> for Scopes {
    fn from_iter<T: IntoIterator<Item = (Symbol, Binding)>>(names: T) -> Self {
        let mut scopes = Self::default();
        scopes.extend(names);
        scopes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::LocalId;
    use crate::source::TEXTS_READ;
    use crate::{Loaded, NoFiles, ParamValues};

    fn number(found: Option<&Binding>) -> Option<u32> {
        match found {
            Some(Binding::Local(LocalId(number), _)) => Some(*number),
            _ => None,
        }
    }

    #[test]
    fn an_inner_scope_hides_names_until_it_closes() {
        let mut scopes = Scopes::default();
        let bind = |scopes: &mut Scopes, name: &str, number| {
            scopes.bind(Symbol::new(name), Binding::Local(LocalId(number), false));
        };
        bind(&mut scopes, "x", 0);
        bind(&mut scopes, "x", 1);
        scopes.open();
        bind(&mut scopes, "x", 2);
        bind(&mut scopes, "y", 3);
        assert_eq!(number(scopes.find("x")), Some(2));
        assert_eq!(number(scopes.find("y")), Some(3));
        assert_eq!((scopes.outermost().len(), scopes.all().len()), (2, 4));
        scopes.close();
        assert_eq!(number(scopes.find("x")), Some(1));
        assert!(scopes.find("y").is_none());
        scopes.close();
        assert_eq!(scopes.outermost().len(), 2);
    }

    /// Twice the variables take twice the work, where a search among all of them takes four times.
    #[test]
    fn the_work_for_names_grows_with_their_number() {
        let work = |count: u32| {
            let more = (1..count).map(|n| format!("let x{n} = x{} ^ a;\n", n - 1));
            let text = format!(
                "parties alice, bob;\nmain(a: u8 of alice, b: u8 of bob) -> (r: u8 to both) {{\n\
                 let x0 = a ^ b;\n{}x{} ^ x1 }}",
                more.collect::<String>(),
                count - 1
            );
            let before = TEXTS_READ.get();
            let loaded = Loaded::new("snippet.tacit", &text, &NoFiles);
            loaded.program(&ParamValues::new()).expect("a program");
            TEXTS_READ.get() - before
        };
        let (few, many) = (work(1000), work(2000));
        assert!(few > 1000 && many < few * 5 / 2, "{few}, {many}");
    }
}
