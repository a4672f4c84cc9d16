//! Components: circuits that functions call, each compiled once.

use std::sync::{Arc, OnceLock};

use crate::{Circuit, Digest, Program};

/// A named circuit whose digest and program are computed once, at their first use. The circuit's
/// digest is its identity. Clones share all parts.
#[derive(Clone)]
pub struct Component {
    name: String,
    body: Arc<Body>,
}

/// The parts that components of different names can share.
struct Body {
    circuit: Circuit,
    digest: OnceLock<Digest>,
    program: OnceLock<Program>,
}

impl core::fmt::Debug for Component {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Component({}, {})", self.name, self.digest())
    }
}

impl Component {
    /// Creates a component `name` of `circuit`.
    pub fn new(name: impl Into<String>, circuit: Circuit) -> Self {
        let body = Body {
            circuit,
            digest: OnceLock::new(),
            program: OnceLock::new(),
        };
        Self {
            name: name.into(),
            body: Arc::new(body),
        }
    }

    /// Returns the same component under another name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Returns the name, which is for people only.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the circuit's digest.
    pub fn digest(&self) -> Digest {
        let body = &*self.body;
        *body.digest.get_or_init(|| body.circuit.digest())
    }

    /// Returns the circuit.
    pub fn circuit(&self) -> &Circuit {
        &self.body.circuit
    }

    /// Returns the circuit compiled for garbling. The first call compiles, with the time and memory
    /// of [`Program::compile`]. If several threads call at once, one compiles and the others wait.
    pub fn program(&self) -> &Program {
        let body = &*self.body;
        body.program
            .get_or_init(|| Program::compile_with(&body.circuit, || self.digest()))
    }

    /// Whether the program has been compiled already.
    pub fn is_compiled(&self) -> bool {
        self.body.program.get().is_some()
    }
}
