//! Components that are kept: what was generated or compiled once serves again.
//!
//! A program depends on its circuit and the compiler's version alone, so that it is kept under the
//! circuit's digest; and a component of the library depends on its name and parameters alone, so
//! that not even its circuit is generated twice.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Component;
use crate::library::{self, LibraryError};
use crate::{Circuit, Digest};

/// Components that were made, for all functions that are made with this cache or a clone of
/// it. Each [`FunctionFamily`](super::FunctionFamily) has one of its own unless it is
/// [given one](super::FunctionFamily::with_cache).
///
/// It keeps circuits and programs of [`GATES`](Self::GATES) gates together, some 16 bytes each, or
/// of a single larger circuit; what came first goes first.
#[derive(Clone, Debug)]
pub struct ComponentCache {
    kept: Arc<Mutex<CachedComponents>>,
    most_gates: usize,
}

/// A component of the library: its name and parameters.
type Request = (String, BTreeMap<String, u64>);

#[derive(Debug, Default)]
struct CachedComponents {
    components: HashMap<Digest, Component>,
    requests: HashMap<Request, Digest>,
    /// The digests of `components`, the oldest first.
    order: VecDeque<Digest>,
    gates: usize,
}

impl Default for ComponentCache {
    fn default() -> Self {
        Self::with_limit(Self::GATES)
    }
}

impl ComponentCache {
    /// Gates that are kept unless told otherwise.
    pub const GATES: usize = 1 << 22;

    /// A cache that keeps circuits of this many gates together.
    #[must_use]
    pub fn with_limit(most_gates: usize) -> Self {
        let kept = Arc::default();
        Self { kept, most_gates }
    }

    /// `circuit` as the component `name`, which shares its program with all components of that
    /// circuit.
    #[must_use]
    pub fn component(&self, name: &str, circuit: Circuit) -> Component {
        let digest = circuit.digest();
        let known = self.kept().components.get(&digest).cloned();
        match known {
            Some(component) => component.named(name),
            None => self.keep(Component::with_digest(name, circuit, digest)),
        }
    }

    /// The library's component `library` as the component `name`.
    ///
    /// # Errors
    ///
    /// As [`library::find`].
    pub fn of_library(
        &self,
        name: &str,
        library: &str,
        parameters: &BTreeMap<String, u64>,
    ) -> Result<Component, LibraryError> {
        let request = (library.to_owned(), parameters.clone());
        if let Some(component) = self.kept().of_request(&request) {
            return Ok(component.named(name));
        }
        let component = self.component(name, library::find(library, parameters)?);
        self.kept().requests.insert(request, component.digest());
        Ok(component)
    }

    /// Gates of all circuits that are kept.
    #[must_use]
    pub fn gates(&self) -> usize {
        self.kept().gates
    }

    /// Nothing that is kept is half made, whichever thread panicked.
    fn kept(&self) -> MutexGuard<'_, CachedComponents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, component: Component) -> Component {
        let mut kept = self.kept();
        let digest = component.digest();
        let before = kept.components.insert(digest, component.clone());
        // Another thread may have made the same meanwhile.
        if before.is_none() {
            kept.gates += component.circuit().gate_count();
            kept.order.push_back(digest);
        }
        while kept.gates > self.most_gates && kept.order.len() > 1 {
            kept.forget_oldest();
        }
        component
    }
}

impl CachedComponents {
    fn of_request(&self, request: &Request) -> Option<Component> {
        let digest = self.requests.get(request)?;
        self.components.get(digest).cloned()
    }

    fn forget_oldest(&mut self) {
        let Some(digest) = self.order.pop_front() else {
            return;
        };
        self.requests.retain(|_, known| *known != digest);
        if let Some(component) = self.components.remove(&digest) {
            self.gates -= component.circuit().gate_count();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionFamily, shipped};

    fn bits(bits: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("bits".to_owned(), bits)])
    }

    fn share(a: &Component, b: &Component) -> bool {
        core::ptr::eq(a.program(), b.program()) && core::ptr::eq(a.circuit(), b.circuit())
    }

    #[test]
    fn what_was_made_serves_again_under_any_name() {
        let cache = ComponentCache::default();
        let first = cache.of_library("add", "adder", &bits(8)).unwrap();
        let second = cache.clone().of_library("plus", "adder", &bits(8)).unwrap();
        let given = cache.component("sum", first.circuit().clone());
        assert!(share(&first, &second) && share(&first, &given));
        assert_eq!(
            [first.name(), second.name(), given.name()],
            ["add", "plus", "sum"]
        );
        let wider = cache.of_library("add", "adder", &bits(9)).unwrap();
        assert!(!share(&first, &wider));
        assert_eq!(wider.circuit().input_bits(), 18);
        assert!(cache.of_library("add", "adder", &bits(0)).is_err());
    }

    #[test]
    fn the_oldest_goes_where_there_is_no_room() {
        let gates = |bits| 5 * bits as usize;
        let cache = ComponentCache::with_limit(2 * gates(8));
        let one = cache.of_library("add", "adder", &bits(8)).unwrap();
        assert!(one.circuit().gate_count() <= gates(8));
        let large = cache.of_library("add", "adder", &bits(64)).unwrap();
        assert_eq!(cache.gates(), large.circuit().gate_count());
        let again = cache.of_library("add", "adder", &bits(8)).unwrap();
        assert!(!share(&one, &again) && one.digest() == again.digest());
        assert_eq!(cache.gates(), one.circuit().gate_count());
        let kept = cache.kept();
        assert_eq!(
            (kept.components.len(), kept.requests.len(), kept.order.len()),
            (1, 1, 1)
        );
    }

    #[test]
    fn a_family_makes_each_component_once() {
        let family = shipped::find("sha-256-chain").unwrap().unwrap();
        let chain = |family: &FunctionFamily, n| {
            let function = family.instantiate(&BTreeMap::from([("n".to_owned(), n)]));
            function.unwrap().components()[0].clone()
        };
        let first = chain(&family, 2);
        assert!(share(&first, &chain(&family, 3)));
        let other = shipped::find("sha-256-chain").unwrap().unwrap();
        assert!(!share(&first, &chain(&other, 2)));
        let cache = ComponentCache::default();
        let [a, b] = [family, other].map(|family| chain(&family.with_cache(&cache), 2));
        assert!(share(&a, &b));
    }
}
