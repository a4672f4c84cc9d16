//! A program as people type it: errors, ports, results in the clear.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use tacit::{Function, Port, Recipient, Role, Value};
use tacit_language::lower::NoCircuitFiles;
use tacit_language::program::{EntryId, EntryKind};
use tacit_language::{Diagnostic, Loaded, NoFiles, ParamValues, SourceMap, Span};
use zeroize::Zeroizing;

/// What a program is called in messages.
const NAME: &str = "program.tacit";

/// What is wrong, in a sentence.
pub(crate) type Refused = String;

fn params(text: &str) -> Result<ParamValues, Refused> {
    let wrong = || "params are a JSON object of whole numbers".to_owned();
    let given: BTreeMap<String, Json> = serde_json::from_str(text).map_err(|_| wrong())?;
    let mut params = ParamValues::new();
    for (name, value) in given {
        let number = value.to_string().parse().map_err(|_| wrong())?;
        params.insert(name, number);
    }
    Ok(params)
}

fn loaded(text: &str) -> Loaded {
    Loaded::new(NAME, text, &NoFiles)
}

/// Where a span is, in the units of JavaScript's strings.
fn place(map: &SourceMap, span: Span) -> Json {
    let text = &map.file(span.file).text;
    let units = |byte: u32| {
        let before = text.get(..byte as usize).unwrap_or(text);
        before.encode_utf16().count()
    };
    let (line, column) = map.line_and_column(span);
    json!({
        "file": map.file(span.file).name,
        "from": units(span.start),
        "to": units(span.end),
        "line": line,
        "column": column,
    })
}

fn error_json(map: &SourceMap, error: &Diagnostic) -> Json {
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

/// What is wrong with a program.
pub(crate) fn check(text: &str, given: &str) -> Result<String, Refused> {
    let loaded = loaded(text);
    let errors = loaded.check(&params(given)?);
    let map = loaded.source_map();
    let errors: Vec<Json> = errors.iter().map(|error| error_json(map, error)).collect();
    Ok(Json::from(errors).to_string())
}

/// A program in the one format.
pub(crate) fn format(text: &str) -> Result<String, Refused> {
    tacit_language::format(NAME, text).map_err(|(map, errors)| {
        let texts = errors.iter().map(|error| error.render(&map, false));
        texts.collect::<Vec<_>>().join("\n\n")
    })
}

/// The function of a program's `main`.
pub(crate) fn function(text: &str, given: &str) -> Result<Function, Refused> {
    let loaded = loaded(text);
    let rendered = |errors: &[Diagnostic]| {
        let texts = errors
            .iter()
            .map(|error| error.render(loaded.source_map(), false));
        texts.collect::<Vec<_>>().join("\n\n")
    };
    let program = loaded
        .program(&params(given)?)
        .map_err(|errors| rendered(&errors))?;
    let mut entries = program.entries.iter();
    let main = entries
        .position(|entry| entry.kind == EntryKind::Main)
        .ok_or("the program has no `main`; write one to run it")?;
    let lowered = program
        .lower("main", EntryId(main as u32), &NoCircuitFiles)
        .map_err(|error| rendered(&[error]))?;
    match lowered.random.is_empty() {
        true => Ok(lowered.function),
        false => Err("`main` draws random bits; give them as inputs here".to_owned()),
    }
}

fn port_json(port: &Port, party: &str) -> Json {
    json!({ "name": port.name, "type": port.ty.to_string(), "party": party })
}

/// Ports, owners, gates and digest of a program's `main`.
pub(crate) fn describe(text: &str, given: &str) -> Result<String, Refused> {
    let function = function(text, given)?;
    let inputs = function.inputs().iter();
    let inputs: Vec<Json> = inputs
        .map(|input| port_json(&input.port, input.owner.name()))
        .collect();
    let outputs = function.outputs().iter();
    let outputs: Vec<Json> = outputs
        .map(|output| port_json(&output.port, output.recipient.name()))
        .collect();
    Ok(json!({
        "inputs": inputs,
        "outputs": outputs,
        "and_gates": function.and_gates(),
        "xor_gates": function.xor_gates(),
        "table_bytes": 32 * function.and_gates(),
        "digest": function.digest().to_string(),
    })
    .to_string())
}

/// The value of each of a function's inputs that belong to one of `roles`, from a JSON object, which
/// has no others.
pub(crate) fn values(
    function: &Function,
    roles: &[Role],
    given: &Json,
) -> Result<BTreeMap<String, Value>, Refused> {
    let given = given
        .as_object()
        .ok_or("inputs are a JSON object of names and values")?;
    let mut values = BTreeMap::new();
    let wanted = function.inputs().iter();
    for input in wanted.filter(|input| roles.contains(&input.owner)) {
        let port = &input.port;
        let value = match given.get(&port.name) {
            None => Err(format!("give the input {} ({})", port.name, port.ty)),
            Some(Json::String(text)) => port.parse_value(text).map_err(|error| error.to_string()),
            Some(json) => port
                .value_from_json(json)
                .map_err(|error| error.to_string()),
        };
        values.insert(port.name.clone(), value?);
    }
    match given.keys().find(|name| !values.contains_key(*name)) {
        Some(name) => Err(format!("there is no input {name} of this party")),
        None => Ok(values),
    }
}

/// Results as a JSON object of texts.
pub(crate) fn texts(outputs: &BTreeMap<String, Value>) -> Json {
    let texts = outputs.iter();
    texts
        .map(|(name, value)| (name.clone(), Json::from(value.to_text())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The results of a program's `main` in the clear.
pub(crate) fn evaluate(text: &str, given: &str, inputs: &str) -> Result<String, Refused> {
    let function = function(text, given)?;
    let inputs: Json = serde_json::from_str(inputs).map_err(|error| error.to_string())?;
    let values = values(&function, &[Role::Garbler, Role::Evaluator], &inputs)?;
    let mut bits = Zeroizing::new(Vec::new());
    for input in function.inputs() {
        bits.extend_from_slice(&values[&input.port.name].to_bits());
    }
    let results = Zeroizing::new(function.evaluate(&bits));
    let mut rest = results.as_slice();
    let mut outputs = serde_json::Map::new();
    for output in function.outputs() {
        let (value, after) = rest
            .split_at_checked(output.port.ty.width())
            .ok_or("the function gives fewer bits than its ports have")?;
        let value = Value::from_bits(&output.port.ty, value).map_err(|error| error.to_string())?;
        let to = match output.recipient {
            Recipient::Both => "both",
            other => other.name(),
        };
        let result = json!({ "value": value.to_text(), "to": to });
        outputs.insert(output.port.name.clone(), result);
        rest = after;
    }
    Ok(Json::from(outputs).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RICHER: &str = "parties alice, bob;\n\n\
        main(a: u8 of alice, b: u8 of bob) -> (richer: bool to both) {\n    a > b\n}\n";

    #[test]
    fn a_right_program_has_no_errors_and_is_evaluated() {
        assert_eq!(check(RICHER, "{}").unwrap(), "[]");
        let found = evaluate(RICHER, "{}", r#"{"a": "7", "b": 5}"#).unwrap();
        assert_eq!(found, r#"{"richer":{"to":"both","value":"1"}}"#);
        let described: Json = serde_json::from_str(&describe(RICHER, "{}").unwrap()).unwrap();
        assert_eq!(described["inputs"][1]["party"], "evaluator");
        assert_eq!(described["and_gates"], 8);
    }

    #[test]
    fn an_error_is_placed_in_units_of_javascript() {
        let text = RICHER.replace("a > b", "// 𝔸é\n    a > c");
        let errors: Json = serde_json::from_str(&check(&text, "{}").unwrap()).unwrap();
        let units: Vec<u16> = text.encode_utf16().collect();
        let at = |end: &str| errors[0]["at"][end].as_u64().unwrap() as usize;
        let marked = String::from_utf16(&units[at("from")..at("to")]).unwrap();
        assert_eq!(marked, "c");
    }

    #[test]
    fn inputs_that_are_missing_unknown_or_wrong_are_refused() {
        for (inputs, part) in [
            (r#"{"a": 7}"#, "give the input b"),
            (r#"{"a": 7, "b": 5, "c": 1}"#, "no input c"),
            (r#"{"a": 700, "b": 5}"#, "a"),
            ("[]", "JSON object"),
            ("{", "EOF"),
        ] {
            let error = evaluate(RICHER, "{}", inputs).unwrap_err();
            assert!(error.contains(part), "{inputs}: {error}");
        }
        assert!(check(RICHER, r#"{"n": 1.5}"#).is_err());
    }
}
