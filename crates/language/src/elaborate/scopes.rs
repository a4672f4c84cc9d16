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
}
