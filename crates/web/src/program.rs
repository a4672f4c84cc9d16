//! A typed program: errors, ports, costs, results in the clear. This uses the same front end of the
//! language as the command and the Python package.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tacit::Function;
use tacit::circuit::wipe_json;
use tacit::plan::RunTraffic;
use tacit::protocols::Protocol;
use tacit_language::lower::NoCircuitFiles;
use tacit_language::program::InputPort;
use tacit_language::{
    BorderError, Diagnostic, Loaded, NoFiles, ParamValues, PortValue, Signature, SourceMap, Span,
    TypedFunction,
};

use crate::Refused;
use crate::session::parsed;
use crate::shape::shape;

/// The program's name in messages.
const NAME: &str = "program.tacit";
/// The name of its function.
const STEM: &str = "program";

/// A program with values for its params and public inputs:
///
/// | member | content |
/// |---|---|
/// | `text` | the text |
/// | `params` | a JSON object of whole numbers; may be left out |
/// | `public` | a JSON object of the values that both parties agree on; may be left out |
/// | `run` | the name of the run; `main`, or the only one, if left out |
pub(crate) struct GivenProgram {
    pub(crate) loaded: Loaded,
    pub(crate) params: ParamValues,
    public: Json,
    run: Option<String>,
}

impl GivenProgram {
    /// Reads the program from `json`.
    pub(crate) fn new(json: &Json) -> Result<Self, Refused> {
        let text = json["text"].as_str();
        let text = text.ok_or("a program is a JSON object with its text")?;
        Ok(Self {
            loaded: Loaded::new(NAME, text, &NoFiles),
            params: params(&json["params"])?,
            public: json["public"].clone(),
            run: json["run"].as_str().map(str::to_owned),
        })
    }

    fn map(&self) -> &SourceMap {
        self.loaded.source_map()
    }

    fn signature(&self) -> Result<Signature, BorderError> {
        Signature::new(&self.loaded, &self.params, self.run.as_deref())
    }

    /// Reads the values that both parties agree on.
    fn public(&self, signature: &Signature) -> Result<BTreeMap<String, PortValue>, Refused> {
        let wanted = |input: &InputPort| input.owner.is_none();
        self.values(signature, &self.public, "public input", &wanted)
    }

    /// Returns the function that two parties run.
    pub(crate) fn function(&self) -> Result<TypedFunction, Refused> {
        let signature = self.signature().map_err(|error| self.told(error))?;
        if signature.entry().join.is_some() {
            let message = "the program joins tables, which a page does in the clear alone: run it \
                           by the command `tacit run` at both parties";
            return Err(message.into());
        }
        let public = self.public(&signature)?;
        TypedFunction::new(signature, STEM, &public, &NoCircuitFiles)
            .map_err(|error| self.told(error))
    }

    /// Returns the values in `given` for the inputs that are `wanted`. Messages call these inputs
    /// `what`.
    fn values(
        &self,
        signature: &Signature,
        given: &Json,
        what: &str,
        wanted: &dyn Fn(&InputPort) -> bool,
    ) -> Result<BTreeMap<String, PortValue>, Refused> {
        let empty = serde_json::Map::new();
        let given = match given {
            Json::Null => &empty,
            Json::Object(given) => given,
            _ => return Err(format!("give each {what} by its name, in a JSON object").into()),
        };
        for name in given.keys() {
            let input = signature.input(name).map_err(|error| self.told(error))?;
            if !wanted(input) {
                let input = signature.input_text(input);
                return Err(format!("leave out {input}, which is not a {what}").into());
            }
        }
        let mut values = BTreeMap::new();
        for input in signature.inputs().iter().filter(|input| wanted(input)) {
            let value = match given.get(input.name.as_str()) {
                None => {
                    let input = signature.input_text(input);
                    return Err(format!("give the {what} {input}").into());
                }
                Some(Json::String(text)) => signature.read_text(input, text),
                Some(json) => signature.read_json(input, json),
            };
            let value = value.map_err(|error| self.told(error))?;
            values.insert(input.name.to_string(), value);
        }
        Ok(values)
    }

    /// Returns the values of a party's inputs.
    pub(crate) fn inputs_of(
        &self,
        signature: &Signature,
        party: usize,
        given: &Json,
    ) -> Result<BTreeMap<String, PortValue>, Refused> {
        let what = format!("input of {}", signature.party_name(party));
        let wanted = |input: &InputPort| input.owner == Some(party);
        self.values(signature, given, &what, &wanted)
    }

    /// Returns an error with its places in the program.
    pub(crate) fn told(&self, error: BorderError) -> Refused {
        match error {
            BorderError::Program(errors) => errors_text(self.map(), &errors).into(),
            other => other.to_string().into(),
        }
    }
}

fn params(given: &Json) -> Result<ParamValues, Refused> {
    let wrong = || "params are a JSON object of whole numbers";
    let mut params = ParamValues::new();
    match given {
        Json::Null => {}
        Json::Object(given) => {
            for (name, value) in given {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                params.insert(name.clone(), text.trim().parse().map_err(|_| wrong())?);
            }
        }
        _ => return Err(wrong().into()),
    }
    Ok(params)
}

/// Converts a place in bytes to the units of JavaScript's strings.
pub(crate) fn units(text: &str, byte: u32) -> usize {
    let before = text.get(..byte as usize).unwrap_or(text);
    before.encode_utf16().count()
}

/// Returns the place of a span, in the units of JavaScript's strings.
pub(crate) fn place(map: &SourceMap, span: Span) -> Json {
    let text = &map.file(span.file).text;
    let (line, column) = map.line_and_column(span);
    json!({
        "file": map.file(span.file).name,
        "from": units(text, span.start),
        "to": units(text, span.end),
        "line": line,
        "column": column,
    })
}

pub(crate) fn error_json(map: &SourceMap, error: &Diagnostic) -> Json {
    let related = error.related.iter();
    let related: Vec<Json> = related
        .map(|(span, label)| json!({ "at": place(map, *span), "label": label }))
        .collect();
    json!({
        "at": place(map, error.span),
        "message": error.message,
        "label": error.label,
        "related": related,
        "help": error.help,
    })
}

/// Returns errors as text, a line each. The renderer for terminals is not part of the package.
fn errors_text(map: &SourceMap, errors: &[Diagnostic]) -> String {
    let lines = errors.iter().map(|error| {
        let (line, column) = map.line_and_column(error.span);
        let label = Some(&error.label).filter(|label| !label.is_empty());
        let more = label.into_iter().chain(&error.help);
        let more: String = more.map(|text| format!("; {text}")).collect();
        format!("line {line}, column {column}: {}{more}", error.message)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the errors of a program.
pub(crate) fn check(program: &str) -> Result<Json, Refused> {
    let given = GivenProgram::new(&parsed(program)?)?;
    let errors = given.loaded.check(&given.params, &NoCircuitFiles);
    let errors = errors.iter().map(|error| error_json(given.map(), error));
    Ok(errors.collect())
}

/// Returns a program in the standard format.
pub(crate) fn format(text: &str) -> Result<String, Refused> {
    tacit_language::format(NAME, text).map_err(|(map, errors)| errors_text(&map, &errors).into())
}

/// Returns the ports of a run and, once its public inputs have values, its cost.
pub(crate) fn describe(program: &str) -> Result<Json, Refused> {
    let given = GivenProgram::new(&parsed(program)?)?;
    let signature = given.signature().map_err(|error| given.told(error))?;
    let mut described = signature.to_json();
    for (place, input) in signature.inputs().iter().enumerate() {
        described["inputs"][place]["shape"] = shape(&signature.program().types, input.ty);
    }
    let warnings = signature.program().warnings.iter();
    described["warnings"] = warnings.map(|one| error_json(given.map(), one)).collect();
    let public = match given.public(&signature) {
        Ok(public) => public,
        Err(refused) => {
            described["wanted"] = refused.message.into();
            return Ok(described);
        }
    };
    let made = TypedFunction::with_costs(signature, STEM, &public, &NoCircuitFiles);
    let (typed, costs) = made.map_err(|error| given.told(error))?;
    let lines = costs.by_line(given.map()).into_iter().map(|(line, cost)| {
        json!({
            "file": given.map().file(line.file).name,
            "line": line.number,
            "and_gates": cost.and_gates,
            "own_and_gates": cost.own_and_gates,
        })
    });
    let function = typed.function();
    described["meaning"] = typed.meaning().to_string().into();
    described["digest"] = function.digest().to_string().into();
    described["and_gates"] = function.and_gates().into();
    described["xor_gates"] = function.xor_gates().into();
    described["lines"] = lines.collect();
    described["traffic"] = traffic(function);
    Ok(described)
}

/// Returns the messages of a run by each protocol that pages run.
fn traffic(function: &Function) -> Json {
    let protocols = [Protocol::Direct, Protocol::Authenticated];
    let rows = protocols.into_iter().filter_map(|protocol| {
        let traffic = RunTraffic::of(protocol, function).ok()??;
        let bytes = traffic.bytes;
        Some(json!({
            "protocol": protocol.name(),
            "garbler_bytes": bytes.garbler_early_bytes + bytes.garbler_late_bytes,
            "evaluator_bytes": bytes.evaluator_bytes,
            "trips": traffic.trips,
        }))
    });
    rows.collect()
}

/// Returns a result in the form for pages.
pub(crate) fn result_json(signature: &Signature, name: &str, value: &PortValue) -> Json {
    let rows = signature.rows(value);
    json!({
        "name": name,
        "text": signature.text(value),
        "value": signature.json(value),
        "table": rows.map(|(columns, rows)| json!({ "columns": columns, "rows": rows })),
    })
}

/// Returns the results of a run in the clear, for all inputs of both parties. `order` has a
/// `program`, `inputs`, and the `seed` of the run's random values.
pub(crate) fn evaluate(order: &str) -> Result<Json, Refused> {
    let mut order = parsed(order)?;
    let inputs = order["inputs"].take();
    let results = evaluated(&order, &inputs);
    wipe_json(inputs);
    results
}

fn evaluated(order: &Json, inputs: &Json) -> Result<Json, Refused> {
    let given = GivenProgram::new(&order["program"])?;
    let signature = given.signature().map_err(|error| given.told(error))?;
    let mut values = given.public(&signature)?;
    let secret = |input: &InputPort| input.owner.is_some();
    values.extend(given.values(&signature, inputs, "input", &secret)?);
    let seed = order["seed"].as_u64().unwrap_or(0);
    let results = signature.evaluate(&values, seed);
    let results = results.map_err(|error| given.told(error))?;
    let ports = signature.results().iter().zip(&results);
    let results = ports.map(|(port, value)| {
        let mut json = result_json(&signature, port.name.as_str(), value);
        json["to"] = port.to.map_or("both", |to| signature.party_name(to)).into();
        json
    });
    Ok(results.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RICHER: &str = "parties alice, bob;\n\n\
        main(a: u8 of alice, b: u8 of bob) -> (richer: bool to both) {\n    a > b\n}\n";

    const RICH: &str = "parties alice, bob;\n\n\
        enum Color { Red, Green }\n\n\
        struct Car {\n    color: Color,\n    price: u16,\n}\n\n\
        main(car: Car of alice, limit: u16 public) \
        -> (cheap: bool to bob, paint: Color to bob) {\n    \
        (car.price < limit, car.color)\n}\n";

    fn program(text: &str, public: Json) -> Json {
        json!({ "text": text, "public": public })
    }

    fn evaluated(program: Json, inputs: Json) -> Result<Json, Refused> {
        evaluate(&json!({ "program": program, "inputs": inputs }).to_string())
    }

    #[test]
    fn a_right_program_has_no_errors_and_is_evaluated() {
        let richer = program(RICHER, Json::Null);
        assert_eq!(check(&richer.to_string()).unwrap(), json!([]));
        let found = evaluated(richer.clone(), json!({ "a": "7", "b": 5 })).unwrap();
        assert_eq!(found[0]["text"], "true");
        assert_eq!(found[0]["to"], "both");
        let described = describe(&richer.to_string()).unwrap();
        assert_eq!(described["inputs"][1]["owner"], "bob");
        assert_eq!(described["and_gates"], 8);
        let line = json!({
            "file": NAME, "line": 4, "and_gates": 8, "own_and_gates": 8,
        });
        assert_eq!(described["lines"], json!([line]));
        let bytes = |place: usize| {
            let traffic = &described["traffic"][place];
            traffic["garbler_bytes"].as_u64().unwrap()
        };
        // Half-gates send 32 bytes an AND gate.
        assert!((8 * 32..8 * 32 + 1000).contains(&bytes(0)), "{described}");
        assert!(bytes(1) > bytes(0), "{described}");
    }

    #[test]
    fn a_join_is_evaluated_and_not_run() {
        let text = "parties a, b;\nstruct Row { id: u8 }\n\
            main(x: [Row; ..4] of a, y: [Row; ..4] of b, pairs: join x by id with y by id)\n    \
            -> (n: u8 to both) {\n    let mut n: u8 = 0;\n    \
            for p in pairs { n += p.matched as u8; }\n    n\n}\n";
        let inputs = json!({ "x": r#"[{"id": 1}, {"id": 2}]"#, "y": r#"[{"id": 2}]"# });
        let found = evaluated(program(text, Json::Null), inputs).unwrap();
        assert_eq!(found[0]["value"], 1);
        let given = GivenProgram::new(&program(text, Json::Null)).unwrap();
        let Err(refused) = given.function() else {
            panic!("a page runs no join");
        };
        assert!(
            refused.message.contains("`tacit run` at both"),
            "{}",
            refused.message
        );
    }

    #[test]
    fn structs_enums_and_public_values_are_those_of_the_language() {
        let unsaid = describe(&program(RICH, Json::Null).to_string()).unwrap();
        assert!(
            unsaid["wanted"]
                .as_str()
                .unwrap()
                .contains("limit: u16 public")
        );
        assert!(unsaid["lines"].is_null());
        let agreed = program(RICH, json!({ "limit": "900" }));
        let described = describe(&agreed.to_string()).unwrap();
        assert_eq!(described["types"].as_array().unwrap().len(), 2);
        let fields = &described["inputs"][0]["shape"]["fields"];
        assert_eq!(fields[0]["shape"]["variants"], json!(["Red", "Green"]));
        assert_eq!(fields[1]["shape"]["kind"], "value");
        assert!(described["and_gates"].as_u64().unwrap() > 0);
        let inputs = json!({ "car": r#"{"color": "Green", "price": 899}"# });
        let found = evaluated(agreed, inputs).unwrap();
        assert_eq!(found[0]["value"], true);
        assert_eq!(found[1]["text"], "Green");
    }

    #[test]
    fn an_error_is_placed_in_units_of_javascript() {
        let text = RICHER.replace("a > b", "// 𝔸é\n    a > c");
        let errors = check(&program(&text, Json::Null).to_string()).unwrap();
        let units: Vec<u16> = text.encode_utf16().collect();
        let at = |end: &str| errors[0]["at"][end].as_u64().unwrap() as usize;
        let marked = String::from_utf16(&units[at("from")..at("to")]).unwrap();
        assert_eq!(marked, "c");
    }

    #[test]
    fn the_errors_of_a_program_that_is_run_have_their_places() {
        let wrong = program(&RICHER.replace("a > b", "a > c"), Json::Null);
        let error = evaluated(wrong, json!({ "a": 7, "b": 5 })).unwrap_err();
        let message = error.message;
        assert!(message.starts_with("line 4, column 9: "), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }

    #[test]
    fn inputs_that_are_missing_unknown_or_wrong_are_refused() {
        for (inputs, part) in [
            (json!({ "a": 7 }), "give the input b: u8 of bob"),
            (json!({ "a": 7, "b": 5, "c": 1 }), "no input \"c\""),
            (json!({ "a": 700, "b": 5 }), "a"),
            (json!([]), "JSON object"),
        ] {
            let error = evaluated(program(RICHER, Json::Null), inputs.clone()).unwrap_err();
            assert!(error.message.contains(part), "{inputs}: {}", error.message);
        }
        let wrong = json!({ "text": RICHER, "params": { "n": 1.5 } });
        assert!(check(&wrong.to_string()).is_err());
    }
}
