//! Inputs and results of a service's functions, as `tacit run` reads and writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use tacit::circuit::Digest;
use tacit::{Function, Value};
use tacit_serve::inputs::{Border, Pairs, Ports};
use tacit_serve::{Inputs, RunRequest};

use crate::inputs::{InputOfService, Reading};
use crate::typed::Runnable;

/// The functions that a service offers under one name: one function, or a program with each choice
/// of params.
pub(super) struct Offered(BTreeMap<Digest, Member>);

/// One function of an offer, in one form.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) runnable: Arc<Runnable>,
    pub(super) params: BTreeMap<String, u64>,
}

impl Member {
    /// Returns the function.
    pub(super) fn function(&self) -> Arc<Function> {
        Arc::new(self.runnable.function().clone())
    }
}

impl Offered {
    /// Makes an offer of these members.
    pub(super) fn new(members: Vec<Member>) -> Arc<Self> {
        let digest = |member: &Member| member.runnable.function().digest();
        let members = members.into_iter().map(|each| (digest(&each), each));
        Arc::new(Self(members.collect()))
    }

    /// Returns the requested function.
    fn asked(&self, asked: &RunRequest<'_>) -> Result<&Runnable, String> {
        let member = self.0.get(&asked.function.digest());
        let member = member.map(|member| &*member.runnable);
        member.ok_or_else(|| format!("{} is not what is offered", asked.function.name()))
    }

    /// Reads the inputs of the requested function.
    fn read<'g>(
        &self,
        asked: &RunRequest<'_>,
        find: &'g dyn Fn(&str) -> Option<InputOfService<'g>>,
    ) -> Result<BTreeMap<String, Value>, String> {
        let values = self
            .asked(asked)?
            .inputs(asked.role, &Reading::Named(find), None);
        values.map_err(|failure| failure.to_string())
    }
}

impl Border for Offered {
    fn values(
        &self,
        asked: &RunRequest<'_>,
        given: &Pairs,
    ) -> Result<BTreeMap<String, Value>, String> {
        match self.asked(asked)?.typed() {
            Some(_) => self.read(asked, &|name| given.find(name).map(InputOfService::Json)),
            None => Ports.values(asked, given),
        }
    }

    fn outputs(
        &self,
        asked: &RunRequest<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<Json, String> {
        let runnable = self.asked(asked)?;
        match runnable.typed() {
            Some(_) => runnable
                .outputs_json(outputs)
                .map_err(|failure| failure.to_string()),
            None => Ports.outputs(asked, outputs),
        }
    }

    fn params(&self, asked: &RunRequest<'_>) -> BTreeMap<String, u64> {
        let member = self.0.get(&asked.function.digest());
        member.map_or_else(BTreeMap::new, |member| member.params.clone())
    }
}

/// A file for each input, read for every run as `--input NAME=@FILE` does.
pub(super) struct FromFiles {
    pub(super) offered: Arc<Offered>,
    pub(super) files: BTreeMap<String, String>,
}

impl Inputs for FromFiles {
    fn values(&self, asked: &RunRequest<'_>) -> Result<BTreeMap<String, Value>, String> {
        let find = |name: &str| self.files.get(name).map(|path| InputOfService::File(path));
        self.offered.read(asked, &find)
    }

    fn check(&self, asked: &RunRequest<'_>) -> Result<(), String> {
        self.values(asked).map(drop)
    }
}
