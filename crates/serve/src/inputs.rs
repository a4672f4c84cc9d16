//! The sources of this party's inputs, run by run: a file, a command, or the program itself.
//!
//! Texts that may hold secrets are wiped when they are dropped and appear in no message.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use tacit::circuit::{UniqueJson, wipe_json};
use tacit::session::{ProtocolId, RunId};
use tacit::{Fingerprint, Function, Role, Value};
use zeroize::Zeroizing;

use crate::reading::read_wiped;
use crate::results::command;

/// The longest text that is read for inputs, in bytes.
const MAX_BYTES: u64 = 256 << 20;

/// A run that a peer asked for and this party allows.
#[derive(Clone, Copy, Debug)]
pub struct RunRequest<'a> {
    /// The offer's name.
    pub offer: &'a str,
    /// The function.
    pub function: &'a Function,
    /// This party's role.
    pub role: Role,
    /// The peer that asks.
    pub peer: Fingerprint,
    /// This party's name for the peer.
    pub peer_name: &'a str,
    /// The protocol.
    pub protocol: ProtocolId,
    /// The run's name in the logs of both parties.
    pub run: Option<RunId>,
}

impl RunRequest<'_> {
    /// Returns the names and types of this party's inputs.
    fn own_names(&self) -> Vec<String> {
        let own = self.function.inputs().iter();
        let own = own.filter(|input| input.owner == self.role);
        own.map(|input| format!("{} ({})", input.port.name, input.port.ty))
            .collect()
    }
}

/// A source of this party's inputs.
pub trait Inputs: Send + Sync {
    /// Returns the inputs, by name. The service asks for them before it tells the peer that it may
    /// run.
    ///
    /// # Errors
    ///
    /// The reason for which there are no inputs. It must contain no secret, because it is logged.
    fn values(&self, asked: &RunRequest<'_>) -> Result<BTreeMap<String, Value>, String>;

    /// Checks that a run would have its inputs, as far as possible without running anything.
    ///
    /// # Errors
    ///
    /// The problem, without a secret.
    fn check(&self, _asked: &RunRequest<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// The meaning of values of functions: how inputs are read from JSON, and how results are written.
pub trait Border: Send + Sync {
    /// Returns this party's inputs from these names and values. Ignores names that the function
    /// does not have, so that one file can serve several functions.
    ///
    /// # Errors
    ///
    /// A value is missing or not of its type. The text must contain no secret, because it is
    /// logged.
    fn values(
        &self,
        asked: &RunRequest<'_>,
        given: &Pairs,
    ) -> Result<BTreeMap<String, Value>, String>;

    /// Returns results as JSON, by name.
    ///
    /// # Errors
    ///
    /// The results belong to another function.
    fn outputs(
        &self,
        asked: &RunRequest<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<serde_json::Value, String>;

    /// Returns the params that select this function among those of its offer, by name.
    fn params(&self, _asked: &RunRequest<'_>) -> BTreeMap<String, u64> {
        BTreeMap::new()
    }
}

/// Reads and writes values by the function's own ports and their types.
#[derive(Clone, Copy, Debug)]
pub struct Ports;

impl Border for Ports {
    fn values(
        &self,
        asked: &RunRequest<'_>,
        given: &Pairs,
    ) -> Result<BTreeMap<String, Value>, String> {
        let own = asked.function.inputs().iter();
        let own = own.filter(|input| input.owner == asked.role);
        own.map(|input| {
            let name = &input.port.name;
            let json = given.find(name).ok_or_else(|| {
                let wanted = asked.own_names().join(", ");
                format!("{name} is missing; this party gives {wanted}")
            })?;
            let value = input.port.value_from_json(json);
            Ok((name.clone(), value.map_err(|error| error.to_string())?))
        })
        .collect()
    }

    fn outputs(
        &self,
        _asked: &RunRequest<'_>,
        outputs: &BTreeMap<String, Value>,
    ) -> Result<serde_json::Value, String> {
        let fields = outputs.iter();
        let fields = fields.map(|(name, value)| (name.clone(), value.to_json()));
        Ok(serde_json::Value::Object(fields.collect()))
    }
}

/// The source of a party without inputs.
#[derive(Clone, Copy, Debug)]
pub struct NoInputs;

impl Inputs for NoInputs {
    fn values(&self, _asked: &RunRequest<'_>) -> Result<BTreeMap<String, Value>, String> {
        Ok(BTreeMap::new())
    }
}

/// A function of the program as a source.
pub struct FromProgram<F>(pub F);

impl<F> Inputs for FromProgram<F>
where
    F: Fn(&RunRequest<'_>) -> Result<BTreeMap<String, Value>, String> + Send + Sync,
{
    fn values(&self, asked: &RunRequest<'_>) -> Result<BTreeMap<String, Value>, String> {
        self.0(asked)
    }
}

/// A JSON object in a file, which is read for every run. To change it, replace the whole file by
/// renaming.
#[derive(Clone)]
pub struct FromFile {
    /// The file.
    pub path: PathBuf,
    /// The meaning of its values.
    pub border: Arc<dyn Border>,
}

impl Inputs for FromFile {
    fn values(&self, asked: &RunRequest<'_>) -> Result<BTreeMap<String, Value>, String> {
        let path = self.path.display();
        let file =
            File::open(&self.path).map_err(|error| format!("cannot open {path}: {error}"))?;
        let text = read(file).map_err(|error| format!("cannot read {path}: {error}"))?;
        let values = pairs(&text).and_then(|given| self.border.values(asked, &given));
        values.map_err(|error| format!("the inputs in {path}: {error}"))
    }

    fn check(&self, asked: &RunRequest<'_>) -> Result<(), String> {
        self.values(asked).map(drop)
    }
}

/// A command that prints a JSON object. It gets the run as `TACIT_OFFER`, `TACIT_FUNCTION`,
/// `TACIT_DIGEST`, `TACIT_ROLE`, `TACIT_PEER`, `TACIT_PEER_FINGERPRINT` and `TACIT_RUN` in its
/// environment, and is killed after `patience`.
#[derive(Clone)]
pub struct FromCommand {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// The longest time of the command.
    pub patience: Duration,
    /// The meaning of the values that it prints.
    pub border: Arc<dyn Border>,
}

impl Inputs for FromCommand {
    fn values(&self, asked: &RunRequest<'_>) -> Result<BTreeMap<String, Value>, String> {
        let text = command(&self.command, asked, &[], self.patience, MAX_BYTES)?;
        let values = pairs(&text).and_then(|given| self.border.values(asked, &given));
        values.map_err(|error| format!("the inputs of {}: {error}", self.command[0]))
    }
}

fn read(file: File) -> std::io::Result<Zeroizing<Vec<u8>>> {
    let length = file.metadata()?.len();
    let text = read_wiped(file, length, MAX_BYTES)?;
    if text.len() as u64 > MAX_BYTES {
        let longer = format!("it is longer than {MAX_BYTES} bytes");
        return Err(std::io::Error::other(longer));
    }
    Ok(text)
}

/// Reads the names and values of a JSON object, which may follow a byte order mark.
fn pairs(text: &[u8]) -> Result<Pairs, String> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        format!(
            "no JSON object of names and values (line {line}, column {column}: {})",
            kind_of(&error)
        )
    })
}

/// The members of a JSON object, in order. A repeated name, at any depth, is an error. Wiped on
/// drop.
pub struct Pairs(pub Vec<(String, serde_json::Value)>);

impl Pairs {
    /// Returns the value of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&serde_json::Value> {
        let pair = self.0.iter().find(|(found, _)| found == name);
        pair.map(|(_, value)| value)
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        self.0.drain(..).for_each(|(_, value)| wipe_json(value));
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pairs({} of them)", self.0.len())
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of input names and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Pairs(Vec::new());
        while let Some((name, UniqueJson(value))) = map.next_entry::<String, _>()? {
            if pairs.find(&name).is_some() {
                return Err(A::Error::custom("a name comes twice"));
            }
            pairs.0.push((name, value));
        }
        Ok(pairs)
    }
}

/// Describes the problem of a JSON text without quoting it, because it may be secret.
#[must_use]
pub fn kind_of(error: &serde_json::Error) -> &'static str {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => "it ends too early",
        Category::Syntax => "a syntax error",
        Category::Data => "not an object, or a name comes twice",
        Category::Io => "it cannot be read",
    }
}
