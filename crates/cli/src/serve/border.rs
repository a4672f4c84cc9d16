//! Inputs and results of a service's functions, as `tacit run` reads and writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use tacit::circuit::Digest;
use tacit::{Function, Value};
use tacit_serve::inputs::{Border, Pairs, Ports};
use tacit_serve::{Asked, Inputs};

use crate::inputs::{Given, Reading};
use crate::typed::Runnable;

/// What a service offers under one name: a function, or a program with each choice of params.
pub(super) struct Offered(BTreeMap<Digest, Runnable>);

impl Offered {
    /// These.
    pub(super) fn new(runnables: Vec<Runnable>) -> Arc<Self> {
        let digest = |runnable: &Runnable| runnable.function().digest();
        let runnables = runnables.into_iter().map(|each| (digest(&each), each));
        Arc::new(Self(runnables.collect()))
    }

    /// The functions.
    pub(super) fn functions(&self) -> Vec<Arc<Function>> {
        let runnables = self.0.values();
        let functions = runnables.map(|runnable| Arc::new(runnable.function().clone()));
        functions.collect()
    }

    /// How values of these are read and written.
    pub(super) fn border(self: &Arc<Self>) -> Arc<dyn Border> {
        match self.0.values().any(|runnable| runnable.typed().is_some()) {
            true => Arc::clone(self) as Arc<dyn Border>,
            false => Arc::new(Ports),
        }
    }

    /// The one that is asked for.
    fn asked(&self, asked: &Asked<'_>) -> Result<&Runnable, String> {
        let runnable = self.0.get(&asked.function.digest());
        runnable.ok_or_else(|| format!("{} is not what is offered", asked.function.name()))
    }

    /// The inputs of the one that is asked for.
    fn read<'g>(
        &self,
        asked: &Asked<'_>,
        find: &'g dyn Fn(&str) -> Option<Given<'g>>,
    ) -> Result<BTreeMap<String, Value>, String> {
        let values = self.asked(asked)?.inputs(asked.role, &Reading::Named(find));
        values.map_err(|failure| failure.to_string())
    }
}

impl Border for Offered {
    fn values(&self, asked: &Asked<'_>, given: &Pairs) -> Result<BTreeMap<String, Value>, String> {
        self.read(asked, &|name| given.find(name).map(Given::Json))
    }

    fn outputs(
        &self,
        asked: &Asked<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<Json, String> {
        let json = self.asked(asked)?.outputs_json(outputs);
        json.map_err(|failure| failure.to_string())
    }
}

/// A file for each input, read for every run as `--input NAME=@FILE` is.
pub(super) struct FromFiles {
    pub(super) offered: Arc<Offered>,
    pub(super) files: BTreeMap<String, String>,
}

impl Inputs for FromFiles {
    fn values(&self, asked: &Asked<'_>) -> Result<BTreeMap<String, Value>, String> {
        let find = |name: &str| self.files.get(name).map(|path| Given::File(path));
        self.offered.read(asked, &find)
    }

    fn check(&self, asked: &Asked<'_>) -> Result<(), String> {
        self.values(asked).map(drop)
    }
}
