//! Ports, components and times as `tacit inspect` shows them.

use std::fmt::Write as _;
use std::thread;

use serde_json::{Value as Json, json};
use tacit::circuit::{Component, Port, Statistics};

/// A port, and its owner or recipient if known.
pub(super) type NamedPort<'a> = (&'a Port, Option<&'static str>);

/// Returns seconds in a suitable unit, to three figures.
pub(super) fn shown_seconds(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let places = match number {
        n if n < 10.0 => 2,
        n if n < 100.0 => 1,
        _ => 0,
    };
    format!("{number:.places$} {unit}")
}

pub(super) fn ports_text(text: &mut String, title: &str, unsaid: &str, ports: &[NamedPort<'_>]) {
    let _ = writeln!(text, "{title}");
    for (port, party) in ports {
        let party = party.unwrap_or(unsaid);
        let promise = port.promise.map(|promise| format!("; {promise}"));
        let _ = writeln!(
            text,
            "  {:<16} {:<16} {party}{}",
            port.name,
            port.ty.to_string(),
            promise.unwrap_or_default()
        );
    }
}

pub(super) fn ports_json(key: &str, ports: &[NamedPort<'_>]) -> Json {
    let port = |(port, party): &NamedPort<'_>| {
        let mut json = json!({
            "name": port.name,
            "type": port.ty.to_string(),
            "bits": port.ty.width(),
        });
        json[key] = json!(party);
        if let Some(promise) = port.promise {
            json["promise"] = json!(promise.to_string());
        }
        json
    };
    ports.iter().map(port).collect()
}

/// Returns the statistics of a component's circuit. Its program, which is shown next to them, is
/// compiled at the same time.
fn statistics(component: &Component) -> Statistics {
    thread::scope(|scope| {
        scope.spawn(|| component.program());
        component.circuit().statistics()
    })
}

/// Writes a component and the number of its calls, unless it is the only component.
pub(super) fn component_text(text: &mut String, component: &Component, calls: Option<u32>) {
    let (statistics, program) = (statistics(component), component.program());
    let _ = match calls {
        None => writeln!(text, "gates"),
        Some(calls) => writeln!(
            text,
            "component {}, called {}\n  {}",
            component.name(),
            match calls {
                1 => "once".to_owned(),
                _ => format!("{calls} times"),
            },
            component.digest()
        ),
    };
    let _ = writeln!(
        text,
        "  {} AND, {} XOR, {} INV; depth {}, AND-depth {}",
        statistics.and, statistics.xor, statistics.inv, statistics.depth, statistics.and_depth
    );
    let _ = writeln!(
        text,
        "  as compiled: {} AND, {} XOR, {} labels at once",
        program.ands().len(),
        program.xors().len(),
        program.slots()
    );
}

pub(super) fn component_json(component: &Component, calls: u32) -> Json {
    let (statistics, program) = (statistics(component), component.program());
    json!({
        "name": component.name(),
        "calls": calls,
        "circuit_digest": component.digest().to_string(),
        "gates": { "and": statistics.and, "xor": statistics.xor, "inv": statistics.inv },
        "depth": statistics.depth,
        "and_depth": statistics.and_depth,
        "compiled": {
            "and": program.ands().len(),
            "xor": program.xors().len(),
            "slots": program.slots(),
        },
    })
}
