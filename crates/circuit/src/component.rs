//! Components: circuits that functions call, each compiled once.

use std::sync::{Arc, OnceLock};

use crate::{Circuit, Digest, Program};

/// A circuit with a name, digested and compiled once each, when that is first asked for; its
/// identity is its circuit's digest. Clones share all of it.
#[derive(Clone)]
pub struct Component {
    name: String,
    body: Arc<Body>,
}

/// What components of any name share.
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
    /// `circuit` as the component `name`.
    #[must_use]
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

    /// The same under another name.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its circuit's digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let body = &*self.body;
        *body.digest.get_or_init(|| body.circuit.digest())
    }

    /// The circuit.
    #[must_use]
    pub fn circuit(&self) -> &Circuit {
        &self.body.circuit
    }

    /// The circuit compiled for garbling: at the first call, which takes the time and memory of
    /// [`Program::compile`]. Of several threads that ask one compiles and the others wait.
    #[must_use]
    pub fn program(&self) -> &Program {
        let body = &*self.body;
        body.program
            .get_or_init(|| Program::compile_with(&body.circuit, || self.digest()))
    }

    /// Whether the program is there already.
    #[must_use]
    pub fn is_compiled(&self) -> bool {
        self.body.program.get().is_some()
    }
}
