//! `tacit inspect --list`: the contents of the library.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use tacit::library;

use crate::failure::Failure;
use crate::output;

/// A function of the library, as the list shows it.
struct Listed {
    name: &'static str,
    description: String,
    parameters: Vec<Json>,
}

fn listed() -> Vec<Listed> {
    let parameter = |name: &str, description: &str, range: [Json; 2], default: Json| {
        let [minimum, maximum] = range;
        json!({
            "name": name,
            "description": description,
            "minimum": minimum,
            "maximum": maximum,
            "default": default,
        })
    };
    let components = library::list().iter().map(|entry| {
        let parameters = entry.parameters.iter().map(|p| {
            let range = [p.minimum.into(), p.maximum.into()];
            parameter(p.name, p.description, range, p.default.into())
        });
        Listed {
            name: entry.name,
            description: entry.description.to_owned(),
            parameters: parameters.collect(),
        }
    });
    let functions = library::shipped::names().filter_map(library::shipped::find);
    let functions = functions.map(|function| {
        let (description, params) = function.description();
        let parameters = params.iter().map(|p| {
            let range = [p.minimum.into(), p.maximum.into()];
            parameter(&p.name, &p.description, range, p.default.into())
        });
        Listed {
            name: function.name(),
            description,
            parameters: parameters.collect(),
        }
    });
    components.chain(functions).collect()
}

/// Runs `tacit inspect --list`.
pub(super) fn list(json: bool) -> Result<(), Failure> {
    let listed = listed();
    if json {
        let function = |one: &Listed| {
            json!({
                "name": one.name,
                "description": one.description,
                "parameters": one.parameters,
            })
        };
        let functions: Vec<Json> = listed.iter().map(function).collect();
        return output::print_json(json!({ "functions": functions }));
    }
    let width = listed.iter().map(|one| one.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Listed {
        name,
        description,
        parameters,
    } in &listed
    {
        let _ = writeln!(text, "{name:<width$}  {description}");
        for p in parameters {
            let default = match p["default"].as_u64() {
                Some(default) => format!("{default} unless given"),
                None => "to be given".to_owned(),
            };
            let _ = writeln!(
                text,
                "{:<width$}    --param {}=…  {}, {} to {}, {default}",
                "",
                p["name"].as_str().unwrap_or_default(),
                p["description"].as_str().unwrap_or_default(),
                p["minimum"],
                p["maximum"]
            );
        }
    }
    output::print(text)
}
