//! `tacit inspect --graph`: a function's graph as text.

use std::fmt::Write as _;

use tacit::Function;

/// Returns the components with their calls, and the steps in their written form.
pub(super) fn text(function: &Function) -> String {
    let mut text = format!("{}\n", title(function));
    let _ = writeln!(text, "inputs");
    for input in function.inputs() {
        let (name, ty) = (&input.port.name, input.port.ty.to_string());
        let _ = writeln!(text, "  {name:<24} {ty:<16} of the {}", input.owner.name());
    }
    for port in function.loads() {
        let _ = writeln!(
            text,
            "  {:<24} {:<16} saved",
            port.name,
            port.ty.to_string()
        );
    }
    let _ = writeln!(text, "components");
    for line in components(function) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "steps");
    let mut depth = 1;
    for step in steps(function) {
        if step == "end" {
            depth -= 1;
            continue;
        }
        let _ = writeln!(text, "{:width$}{step}", "", width = 2 * depth);
        depth += usize::from(step.starts_with("for "));
    }
    let _ = writeln!(text, "results");
    for output in function.outputs() {
        let (name, ty) = (&output.port.name, output.port.ty.to_string());
        let _ = writeln!(text, "  {name:<24} {ty:<16} to {}", output.recipient.name());
    }
    for port in function.saves() {
        let _ = writeln!(
            text,
            "  {:<24} {:<16} saved",
            port.name,
            port.ty.to_string()
        );
    }
    text
}

/// Returns the function's name with its parameters.
fn title(function: &Function) -> String {
    let parameters = function.parameters().iter();
    let parameters: Vec<String> = parameters.map(|(n, v)| format!("{n} = {v}")).collect();
    if parameters.is_empty() {
        function.name().to_owned()
    } else {
        format!("{} with {}", function.name(), parameters.join(", "))
    }
}

/// Returns a line for each component: the number of its calls and their cost.
fn components(function: &Function) -> Vec<String> {
    let counts = function.component_calls();
    let lines = function.components().iter().zip(counts);
    let lines = lines.map(|(component, &calls)| {
        let ands = component.program().ands().len() as u64;
        let all = ands * u64::from(calls);
        match calls {
            1 => format!("{} once, {ands} AND", component.name()),
            _ => format!(
                "{} {calls} times, {ands} AND each, {all} in all",
                component.name()
            ),
        }
    });
    lines.collect()
}

/// Returns the steps in their written form, with `end` after each loop, and components by their
/// names.
fn steps(function: &Function) -> Vec<String> {
    let declarations = ["component ", "input ", "value ", "output "];
    let lines = function.canonical_text().lines();
    let steps = lines.filter(|line| !declarations.iter().any(|word| line.starts_with(word)));
    let named = steps.map(|step| {
        let Some((targets, call)) = step.split_once("=#") else {
            return step.replacen('=', " = ", 1).replace(',', ", ");
        };
        let digits = call.bytes().take_while(u8::is_ascii_digit).count();
        let component = call[..digits].parse().ok();
        let component = component.and_then(|number: usize| function.components().get(number));
        let name = component.map_or("", |component| component.name());
        format!("{targets} = {name}{}", &call[digits..]).replace(',', ", ")
    });
    named.collect()
}
