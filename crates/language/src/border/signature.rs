//! The ports of a run in the form that people use.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use serde_json::{Value as Json, json};
use tacit_circuit::Digest;
use tacit_circuit::builder::CircuitForm;
use tacit_function::Role;
use tacit_function::join::Part;

use super::{BorderError, PortValue, RowRules, meaning, table};
use crate::elaborate::{ParamValues, most_like};
use crate::load::Loaded;
use crate::lower::CircuitFiles;
use crate::program::{
    Entry, EntryId, EntryKind, InputPort, OutputPort, Param, Program, TypeId, TypeKind,
};
use crate::source::Span;

/// A run of a program whose params have values, with the ports in the form that people use.
#[derive(Clone, Debug)]
pub struct Signature {
    pub(super) program: Program,
    pub(super) id: EntryId,
    documentation: String,
    /// The params that were given, and the name of the run, if one was given.
    pub(super) given: ParamValues,
    pub(super) run: Option<String>,
    /// The treatment of rows of a joined table that do not fit.
    pub(super) rules: RowRules,
    /// The part of joined tables that is read, if it is not all of them.
    pub(super) part: Option<Part>,
    /// The number of threads on which tables are read.
    pub(super) threads: NonZeroUsize,
}

impl Signature {
    /// Finds the run `run`. Without a name, finds `main` or a program's only run.
    ///
    /// # Errors
    ///
    /// The program has errors, or no such run.
    pub fn new(
        loaded: &Loaded,
        params: &ParamValues,
        run: Option<&str>,
    ) -> Result<Self, BorderError> {
        let program = loaded.program(params).map_err(BorderError::Program)?;
        Self::of(loaded, program, params, run)
    }

    /// Finds the run of a program that keeps its `debug` calls. Such a program can be evaluated,
    /// but not run.
    ///
    /// # Errors
    ///
    /// Those of [`Signature::new`].
    pub fn debugged(
        loaded: &Loaded,
        params: &ParamValues,
        run: Option<&str>,
    ) -> Result<Self, BorderError> {
        let program = loaded.debugged(params).map_err(BorderError::Program)?;
        Self::of(loaded, program, params, run)
    }

    fn of(
        loaded: &Loaded,
        program: Program,
        given: &ParamValues,
        run: Option<&str>,
    ) -> Result<Self, BorderError> {
        let id = find(&program, run).map_err(BorderError::Request)?;
        let entry = &program.entries[id.0 as usize];
        let documentation = documentation(loaded, entry.span);
        Ok(Self {
            program,
            id,
            documentation,
            given: given.clone(),
            run: run.map(str::to_owned),
            rules: RowRules::default(),
            part: None,
            threads: NonZeroUsize::MIN,
        })
    }

    /// Returns the same run, compiled with operations in `form`. Its meaning does not change.
    #[must_use]
    pub fn in_form(mut self, form: CircuitForm) -> Self {
        self.program.form = form;
        self
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the number of the run in the program.
    #[must_use]
    pub fn id(&self) -> EntryId {
        self.id
    }

    /// Returns the run.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.program.entries[self.id.0 as usize]
    }

    /// Returns the text of the lines with `///` above the run, or else above the program's first
    /// item. It is empty if there are none.
    #[must_use]
    pub fn documentation(&self) -> &str {
        &self.documentation
    }

    /// Refuses a run that is too large by the sizes that can be counted at once.
    ///
    /// # Errors
    ///
    /// The run exceeds a limit.
    pub fn check_size(&self) -> Result<(), BorderError> {
        let checked = self.program.check_size(self.id);
        checked.map_err(|error| BorderError::Program(vec![error]))
    }

    /// Checks that each input of a party has a value.
    ///
    /// # Errors
    ///
    /// An input has no value.
    pub fn check_given(
        &self,
        party: usize,
        values: &BTreeMap<String, PortValue>,
    ) -> Result<(), BorderError> {
        let mut own = self.inputs().iter();
        let is_missing = |input: &&InputPort| {
            input.owner == Some(party) && !values.contains_key(input.name.as_str())
        };
        match own.find(is_missing) {
            Some(InputPort { name, .. }) => Err(BorderError::Request(format!(
                "no value is given for {name}"
            ))),
            None => Ok(()),
        }
    }

    /// Returns the params and their values.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.program.params
    }

    /// Returns the parties' names. A port's owner or recipient is an index into this list.
    pub fn parties(&self) -> impl Iterator<Item = &str> {
        self.program.parties.iter().map(|party| party.as_str())
    }

    /// Returns the name of a party.
    #[must_use]
    pub fn party_name(&self, party: usize) -> &str {
        self.program.parties[party].as_str()
    }

    /// Returns the index of the party `name`.
    ///
    /// # Errors
    ///
    /// There is no such party. The text names the parties.
    pub fn party(&self, name: &str) -> Result<usize, BorderError> {
        self.parties()
            .position(|party| party == name)
            .ok_or_else(|| {
                let names: Vec<&str> = self.parties().collect();
                BorderError::Request(format!(
                    "the program has no party {name:?}; its parties are {}",
                    names.join(" and ")
                ))
            })
    }

    /// Returns the role of a party.
    #[must_use]
    pub fn role(&self, party: usize) -> Role {
        self.program.role(party)
    }

    /// Returns the party with a role.
    #[must_use]
    pub fn party_of(&self, role: Role) -> usize {
        let parties = 0..self.program.parties.len();
        parties
            .into_iter()
            .find(|party| self.role(*party) == role)
            .unwrap_or(0)
    }

    /// Returns the inputs, in order.
    #[must_use]
    pub fn inputs(&self) -> &[InputPort] {
        &self.entry().inputs
    }

    /// Returns the results, in order.
    #[must_use]
    pub fn results(&self) -> &[OutputPort] {
        &self.entry().outputs
    }

    /// Returns the input `name`.
    ///
    /// # Errors
    ///
    /// There is no such input. The text names a similar one, or all.
    pub fn input(&self, name: &str) -> Result<&InputPort, BorderError> {
        let found = self
            .inputs()
            .iter()
            .find(|input| input.name.as_str() == name);
        found.ok_or_else(|| {
            let names = || self.inputs().iter().map(|input| input.name.as_str());
            let help = match (most_like(name, names()), self.inputs()) {
                (Some(other), _) => format!("there is {other:?}"),
                (None, []) => "it has none".to_owned(),
                (None, _) => format!("it has {}", names().collect::<Vec<_>>().join(", ")),
            };
            let run = &self.entry().name;
            BorderError::Request(format!("{run} has no input {name:?}; {help}"))
        })
    }

    /// Whether the columns of a CSV file for this type are read by position, because its rows have
    /// several columns and no names for them.
    #[must_use]
    pub fn takes_columns_in_order(&self, ty: TypeId) -> bool {
        table::takes_columns_in_order(&self.program.types, ty)
    }

    /// Whether a CSV file for this type contains only texts, so that any first line may be the
    /// names of its columns.
    #[must_use]
    pub fn has_rows_of_texts(&self, ty: TypeId) -> bool {
        table::has_rows_of_texts(&self.program.types, ty)
    }

    /// Returns an input as a program declares it: `bids: [u32; 8] of alice sorted`.
    #[must_use]
    pub fn input_text(&self, input: &InputPort) -> String {
        let owner = match input.owner {
            None => "public".to_owned(),
            Some(party) => format!("of {}", self.party_name(party)),
        };
        let sorted = match &input.sorted {
            None => String::new(),
            Some(None) => " sorted".to_owned(),
            Some(Some(field)) => format!(" sorted by {field}"),
        };
        let strictly = if input.is_strict { " strictly" } else { "" };
        format!(
            "{}: {} {owner}{strictly}{sorted}",
            input.name,
            self.type_name(input.ty)
        )
    }

    /// Returns a result as a program declares it: `price: u32 to both`.
    #[must_use]
    pub fn result_text(&self, result: &OutputPort) -> String {
        let to = result.to.map_or("both", |party| self.party_name(party));
        format!("{}: {} to {to}", result.name, self.type_name(result.ty))
    }

    /// Returns a type as a program writes it.
    #[must_use]
    pub fn type_name(&self, ty: TypeId) -> String {
        self.program.types.name(ty)
    }

    /// Whether values of a type can be written as CSV.
    #[must_use]
    pub fn is_table(&self, ty: TypeId) -> bool {
        table::is_table(&self.program.types, ty)
    }

    /// Whether a type is `text`.
    #[must_use]
    pub fn is_text(&self, ty: TypeId) -> bool {
        matches!(self.program.types.kind(ty), TypeKind::Text(_))
    }

    /// Returns the declarations of the types that are named in a port's type, as a program writes
    /// them.
    #[must_use]
    pub fn declarations(&self) -> Vec<String> {
        let inputs = self.inputs().iter().map(|port| port.ty);
        let results = self.results().iter().map(|port| port.ty);
        let mut seen = Vec::new();
        inputs
            .chain(results)
            .for_each(|ty| self.declare(ty, &mut seen));
        seen.into_iter().map(|(_, text)| text).collect()
    }

    fn declare(&self, ty: TypeId, seen: &mut Vec<(TypeId, String)>) {
        let types = &self.program.types;
        if seen.iter().any(|(other, _)| *other == ty) {
            return;
        }
        match types.kind(ty) {
            TypeKind::Struct(number) => {
                let fields = types.struct_type(*number).fields.iter();
                let text: Vec<String> = fields
                    .map(|(name, ty)| format!("{name}: {}", types.name(*ty)))
                    .collect();
                let text = format!("struct {} {{ {} }}", types.name(ty), text.join(", "));
                seen.push((ty, text));
            }
            TypeKind::Enum(number) => {
                let variants = types.enum_type(*number).variants.iter();
                let names: Vec<&str> = variants.map(|name| name.as_str()).collect();
                let text = format!("enum {} {{ {} }}", types.name(ty), names.join(", "));
                seen.push((ty, text));
            }
            TypeKind::Array(element, _) | TypeKind::Table(element, _) => {
                return self.declare(*element, seen);
            }
            _ => {}
        }
        types
            .fields(ty)
            .into_iter()
            .for_each(|field| self.declare(field, seen));
    }

    /// Returns the run's ports, params and doc comment as JSON, for programs.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let inputs = self.inputs().iter().map(|input| {
            let sorted_by = input.sorted.as_ref().and_then(Option::as_ref);
            json!({
                "name": input.name.as_str(),
                "type": self.type_name(input.ty),
                "owner": input.owner.map_or("public", |party| self.party_name(party)),
                "sorted": input.sorted.is_some(),
                "strictly": input.is_strict,
                "sorted_by": sorted_by.map(|name| name.as_str()),
            })
        });
        let results = self.results().iter().map(|result| {
            json!({
                "name": result.name.as_str(),
                "type": self.type_name(result.ty),
                "to": result.to.map_or("both", |party| self.party_name(party)),
            })
        });
        let params = self.params().iter().map(|param| {
            json!({
                "name": param.name.as_str(),
                "least": param.minimum.to_string(),
                "greatest": param.maximum.to_string(),
                "value": param.value.to_string(),
            })
        });
        let parties = (0..self.program.parties.len()).map(
            |party| json!({ "name": self.party_name(party), "role": self.role(party).name() }),
        );
        json!({
            "run": self.entry().name.as_str(),
            "documentation": self.documentation(),
            "parties": parties.collect::<Vec<_>>(),
            "params": params.collect::<Vec<_>>(),
            "types": self.declarations(),
            "inputs": inputs.collect::<Vec<_>>(),
            "results": results.collect::<Vec<_>>(),
        })
    }

    /// Returns the digest of the program's meaning, which people pin. It covers its types, ports
    /// and params with their names, the owners, the recipients and `sorted`, and the computation.
    /// It does not cover comments, names of variables and functions, or the division into
    /// components.
    ///
    /// # Errors
    ///
    /// A circuit file that the run uses does not exist.
    pub fn meaning(&self, files: &dyn CircuitFiles) -> Result<Digest, BorderError> {
        meaning::digest(&self.program, self.id, files).map_err(BorderError::Request)
    }
}

fn find(program: &Program, run: Option<&str>) -> Result<EntryId, String> {
    let entries = &program.entries;
    let names = || {
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        names.join(", ")
    };
    let found = match (run, &entries[..]) {
        (Some(name), _) => entries.iter().position(|entry| entry.name.as_str() == name),
        (None, [_]) => Some(0),
        (None, _) => entries
            .iter()
            .position(|entry| entry.kind == EntryKind::Main),
    };
    match (found, run, entries.is_empty()) {
        (Some(number), ..) => Ok(EntryId(number as u32)),
        (None, _, true) => Err("the program has neither `main` nor a run".to_owned()),
        (None, Some(name), _) => Err(format!(
            "the program has no run {name:?}; it has {}",
            names()
        )),
        (None, None, _) => Err(format!(
            "the program has several runs, {0}; name one as the entry, such as --entry {1}, or \
             entry = \"{1}\" at a service",
            names(),
            entries[0].name
        )),
    }
}

/// Returns the lines with `///` above a place of the program's file, or else above its first item.
fn documentation(loaded: &Loaded, span: Span) -> String {
    let own = said_above(loaded, span);
    if !own.is_empty() {
        return own;
    }
    let text = &loaded.source_map().file(span.file).text;
    let is_said = |line: &&str| line.trim().starts_with("///") || line.trim().is_empty();
    above(text, text.lines().take_while(is_said).count())
}

/// Returns the text of the lines with `///` above an item.
pub(crate) fn said_above(loaded: &Loaded, span: Span) -> String {
    let (line, _) = loaded.source_map().line_and_column(span);
    above(&loaded.source_map().file(span.file).text, line - 1)
}

/// Returns the lines with `///` that end with line `count`.
fn above(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().take(count).collect();
    let said = lines.iter().rev();
    let said = said.map_while(|line| line.trim().strip_prefix("///"));
    let mut said: Vec<&str> = said.map(str::trim).collect();
    said.reverse();
    said.join("\n")
}
