//! The values of a run's ports, and the run in the clear.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value as Json;
use tacit_circuit::{HostValue, UniqueJson};

use super::read::Reader;
use super::strict::{self, Rows};
use super::table::{Fills, TableFile};
use super::{BorderError, CsvTexts, PortValue, Signature, table, write};
use crate::interpret::{self, MAX_STEPS, Machine, Random};
use crate::lower::{CircuitFiles, NoCircuitFiles};
use crate::program::{InputPort, TypeId, TypeKind};
use crate::source::Span;

impl Signature {
    /// Reads the value of an input from JSON. The elements of a `sorted` input are put in order,
    /// and zeros replace missing ones.
    ///
    /// # Errors
    ///
    /// The value does not fit the type.
    pub fn read_json(&self, input: &InputPort, json: &Json) -> Result<PortValue, BorderError> {
        self.read_given(input, HostValue::Json(json))
    }

    /// Reads the value of an input from another language, like [`Signature::read_json`] otherwise.
    ///
    /// # Errors
    ///
    /// The value does not fit the type.
    pub fn read_given(
        &self,
        input: &InputPort,
        given: HostValue<'_>,
    ) -> Result<PortValue, BorderError> {
        if let Some(table) = self.joined_table(input) {
            return self.read(input, |reader| {
                self.read_joined(reader, input, table, given)
            });
        }
        self.read(input, |reader| {
            match (given.length(), self.may_be_filled(input)) {
                (Some(length), Some((element, n))) if length < n => {
                    reader.elements(element, given)?;
                    reader.zeros(element, n - length);
                    Ok(Rows::filled_up(n - length))
                }
                _ => reader.given(input.ty, given).map(|()| Rows::default()),
            }
        })
    }

    /// Reads the value of an input from text, as on a command line.
    ///
    /// # Errors
    ///
    /// The value does not fit the type.
    pub fn read_text(&self, input: &InputPort, text: &str) -> Result<PortValue, BorderError> {
        let is_list = self.may_be_filled(input).is_some() || self.joined_table(input).is_some();
        if is_list && let Ok(UniqueJson(json)) = serde_json::from_str(text) {
            let value = self.read_json(input, &json);
            tacit_circuit::wipe_json(json);
            return value;
        }
        self.read(input, |reader| {
            reader.text(input.ty, text).map(|()| Rows::default())
        })
    }

    /// Reads the value of an input from the CSV file that messages call `name`, row by row. Takes
    /// all columns of its rows, or only the column `column`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is not CSV, or does not fit the type.
    pub fn read_csv(
        &self,
        input: &InputPort,
        name: &str,
        mut from: impl Read,
        column: Option<&str>,
    ) -> Result<PortValue, BorderError> {
        let filled = self.may_be_filled(input).is_some();
        let types = &self.program.types;
        self.read(input, |reader| {
            let name = format!("{} in {name}", input.name);
            let fills = match self.joined_table(input) {
                Some(_) => Fills::NoRow,
                None if filled => Fills::Array,
                None => Fills::Table,
            };
            let file = TableFile {
                name: &name,
                from: &mut from,
                column,
                threads: self.threads,
            };
            table::read(reader, types, input.ty, file, fills)
        })
    }

    /// Returns the type and the number of the elements of a `sorted` array.
    fn may_be_filled(&self, input: &InputPort) -> Option<(TypeId, usize)> {
        match (self.program.types.kind(input.ty), &input.sorted) {
            (&TypeKind::Array(element, n), Some(_)) => Some((element, n as usize)),
            _ => None,
        }
    }

    fn read<'t, E>(
        &'t self,
        input: &InputPort,
        read: impl FnOnce(&mut Reader<'t>) -> Result<Rows, E>,
    ) -> Result<PortValue, BorderError>
    where
        BorderError: From<E>,
    {
        let joined = self.joined_table(input);
        let mut reader = match joined {
            Some((row, _)) => {
                let form = self.rows_form(input, row);
                Reader::of_rows(&self.program.types, row, form, input.name.as_str())
            }
            None => Reader::new(&self.program.types, input.ty, input.name.as_str()),
        };
        let rows = read(&mut reader)?;
        let (bits, table) = reader.finish();
        let mut value = PortValue {
            filled_up: rows.filled_up,
            rows: table,
            ..PortValue::of_bits(input.ty, bits)
        };
        if let Some((row, _)) = joined {
            self.choose_rows((input, row), &mut value, &rows)?;
            return Ok(value);
        }
        assert_eq!(
            value.bits.len() as u64,
            self.program.types.width(input.ty),
            "a reader gives each bit of the type once"
        );
        if input.is_strict {
            strict::check(&self.program.types, input, &value, &rows)?;
        }
        if let Some(field) = &input.sorted {
            self.sort(&mut value, field.as_ref().map(|name| name.as_str()));
        }
        Ok(value)
    }

    /// Sorts the elements in the order of the language. Equal elements keep their order.
    fn sort(&self, value: &mut PortValue, field: Option<&str>) {
        let types = &self.program.types;
        let parts = write::parts(types, value.ty, &value.bits);
        let Some((element, _)) = parts.first() else {
            return;
        };
        let width = types.width(*element) as usize;
        let place = match (types.kind(*element), field) {
            (TypeKind::Struct(number), Some(field)) => {
                let fields = &types.struct_type(*number).fields;
                fields.iter().position(|(name, _)| name.as_str() == field)
            }
            _ => None,
        };
        let key = |bits: &[bool]| {
            let value = types.value_of_bits(*element, bits);
            match place {
                Some(place) => value.as_list()[place].clone(),
                None => value,
            }
        };
        let mut keyed: Vec<_> = parts.iter().map(|(_, bits)| (key(bits), *bits)).collect();
        keyed.sort_by(|(a, _), (b, _)| interpret::operators::order(a, b));
        let sorted: Vec<bool> = keyed.iter().flat_map(|(_, bits)| *bits).copied().collect();
        let sorted = zeroize::Zeroizing::new(sorted);
        // The length of a table precedes its items.
        let items = match *types.kind(value.ty) {
            TypeKind::Table(_, n) => value.bits.len() - n as usize * width,
            _ => 0,
        };
        drop(keyed);
        value.bits[items..items + sorted.len()].copy_from_slice(&sorted);
    }

    /// Returns a value as JSON.
    #[must_use]
    pub fn json(&self, value: &PortValue) -> Json {
        self.json_of(value.ty, &value.bits)
    }

    /// Returns the bits of a value of this type, or of a part of one, as JSON.
    ///
    /// # Panics
    ///
    /// If the type has another number of bits.
    #[must_use]
    pub fn json_of(&self, ty: TypeId, bits: &[bool]) -> Json {
        let types = &self.program.types;
        assert_eq!(bits.len() as u64, types.width(ty), "bits of another type");
        write::json(types, ty, bits)
    }

    /// Returns a value as text.
    #[must_use]
    pub fn text(&self, value: &PortValue) -> String {
        write::text(&self.program.types, value.ty, &value.bits)
    }

    /// Returns an array or a table as CSV. A column without a name is called `port`. Returns `None`
    /// if the value is neither, or if its rows contain tables.
    #[must_use]
    pub fn csv(&self, value: &PortValue, port: &str, texts: CsvTexts) -> Option<Vec<u8>> {
        table::write(&self.program.types, value.ty, port, &value.bits, texts)
    }

    /// Returns an array or table of structs as the names of its columns and the cells of its rows.
    /// Returns `None` for other values.
    #[must_use]
    pub fn rows(&self, value: &PortValue) -> Option<(Vec<String>, Vec<Vec<String>>)> {
        let types = &self.program.types;
        let (row, ..) = table::rows_of(types, value.ty)?;
        match types.kind(row) {
            TypeKind::Struct(_) => table::rows_as_text(types, value.ty, "", &value.bits),
            _ => None,
        }
    }

    /// Evaluates the run in the clear on the values of all its inputs, and returns its results in
    /// order. Its random values come from `seed`, and states have their first values.
    ///
    /// # Errors
    ///
    /// An input has no value, or the run takes too many steps or calls a circuit from a file.
    pub fn evaluate(
        &self,
        values: &BTreeMap<String, PortValue>,
        seed: u64,
    ) -> Result<Vec<PortValue>, BorderError> {
        self.evaluate_with(values, seed, &NoCircuitFiles, &mut |_, _| {})
    }

    /// Evaluates like [`Signature::evaluate`], but the program may call circuits of these files.
    /// `debug` gets the values that the program's `debug` calls show, with their places in the
    /// source.
    ///
    /// # Errors
    ///
    /// Those of [`Signature::evaluate`], or a file differs from its declaration in the program.
    pub fn evaluate_with(
        &self,
        values: &BTreeMap<String, PortValue>,
        seed: u64,
        circuits: &dyn CircuitFiles,
        debug: &mut dyn FnMut(Span, &str),
    ) -> Result<Vec<PortValue>, BorderError> {
        let types = &self.program.types;
        let mut inputs = Vec::new();
        for input in self.inputs() {
            let value = values.get(input.name.as_str()).ok_or_else(|| {
                BorderError::Request(format!("no value is given for {}", self.input_text(input)))
            })?;
            inputs.push(match self.joined_table(input) {
                Some((row, _)) => self.table_value(row, value),
                None => types.value_of_bits(input.ty, &value.bits),
            });
        }
        let mut machine = Machine::new(&self.program, MAX_STEPS, Random::Seed(seed));
        machine.files = circuits;
        machine.debug = Some(debug);
        let result = machine.run(self.id, inputs).map_err(|failure| {
            let error = crate::Diagnostic::new(failure.span, failure.message);
            BorderError::Program(vec![error])
        })?;
        let entry = self.entry();
        let results = entry.outputs.iter().zip(entry.results(&result));
        let results = results.map(|(port, value)| {
            let bits = types.bits_of_value(port.ty, value);
            PortValue::of_bits(port.ty, bits.into())
        });
        Ok(results.collect())
    }
}
