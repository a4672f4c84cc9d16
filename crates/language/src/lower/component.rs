//! The circuits of `component fn`s.

use tacit_circuit::builder::{Builder, Bus};
use tacit_circuit::{Circuit, Gate};
use tacit_components::library;

use super::lines::{LineCosts, Recorder, SiteCosts, SiteId};
use super::operators::Bits;
use super::trace::{Components, MAX_GATES, Tracer};
use super::{CircuitFiles, Diagnostic, Lower};
use crate::program::{BitOrder, Body, Function, FunctionId, Program};
use crate::source::Span;

/// Returns the circuit of a component, with a port for each parameter that has bits, and one for
/// the result. If `recorded` is set, also returns the costs of its lines.
pub(super) fn circuit(
    program: &Program,
    id: FunctionId,
    files: &dyn CircuitFiles,
    recorded: bool,
) -> Lower<(Circuit, Option<LineCosts>)> {
    let function = &program.functions[id.0 as usize];
    if !matches!(function.body, Body::Block(_)) {
        let circuit = external(program, function, files)?;
        let recorder = Recorder::new(id, function.span);
        let sites = vec![recorder.site(); circuit.gate_count()];
        let lines = recorded.then(|| costs(&recorder, &circuit, &sites));
        return Ok((circuit, lines));
    }
    let builder = Builder::bounded(MAX_GATES + 1).in_form(program.form);
    let mut tracer = Tracer::new(&builder, program, files, Components::Inline);
    let mut arguments: Vec<Bits<'_>> = Vec::new();
    for local in &function.parameters {
        let local = &function.locals[local.0 as usize];
        let width = program.types.width(local.ty) as usize;
        arguments.push(match width {
            0 => Vec::new(),
            _ => builder.bus(local.name.as_str(), width).bits().collect(),
        });
    }
    tracer.recorder = recorded.then(|| Recorder::new(id, function.span));
    let result = tracer.call(id, arguments)?;
    tracer.check_gates(0, function.span)?;
    let recorder = tracer.recorder.take();
    builder.output("result", &Bus::from_bits(&builder, result));
    finish(builder, recorder, function.span)
}

/// Returns the circuit of a builder, and the costs of its lines if they were recorded.
pub(super) fn finish(
    builder: Builder,
    recorder: Option<Recorder>,
    span: Span,
) -> Lower<(Circuit, Option<LineCosts>)> {
    let Some(recorder) = recorder else {
        return Ok((builder.finish().map_err(Diagnostic::at(span))?, None));
    };
    let (circuit, numbers) = builder.finish_numbered().map_err(Diagnostic::at(span))?;
    let sites = recorder.sites_of(&numbers);
    let lines = costs(&recorder, &circuit, &sites);
    Ok((circuit, Some(lines)))
}

/// Returns the costs of a circuit, given the sites of its gates.
fn costs(recorder: &Recorder, circuit: &Circuit, sites: &[SiteId]) -> LineCosts {
    let mut costs = SiteCosts::default();
    for (gate, &site) in circuit.gates().zip(sites) {
        if matches!(gate, Gate::And(..)) {
            costs.add(site, 1, 0);
        }
    }
    LineCosts::new(recorder, &costs, std::iter::empty())
}

/// Returns the circuit of the library or a file for which a function stands, if it has the same
/// ports.
pub(crate) fn external(
    program: &Program,
    function: &Function,
    files: &dyn CircuitFiles,
) -> Lower<Circuit> {
    let at = |message: String| Diagnostic::new(function.span, message);
    let circuit = match &function.body {
        Body::Library(name, parameters) => {
            let circuit = library::find_in_form(name.as_str(), parameters, program.form);
            circuit.map_err(Diagnostic::at(function.span))?
        }
        Body::File(path, order) => {
            check_order(program, function, *order)?;
            let circuit = files.circuit(path.as_str(), *order);
            circuit.map_err(|reason| at(format!("`{path}` cannot be used: {reason}")))?
        }
        Body::Block(_) => return Err(at("this function has a body".to_owned())),
    };
    let types = &program.types;
    let widths: Vec<usize> = function
        .parameters
        .iter()
        .map(|local| types.width(function.locals[local.0 as usize].ty) as usize)
        .collect();
    let ports: Vec<usize> = circuit
        .inputs()
        .iter()
        .map(|port| port.ty.width())
        .collect();
    if widths != ports {
        let message = format!(
            "the circuit of `{}` has inputs of {ports:?} bits, and the function of {widths:?}",
            function.name
        );
        return Err(at(message));
    }
    let width = types.width(function.result) as usize;
    if circuit.output_bits() != width {
        let message = format!(
            "the circuit of `{}` gives {} bits, and the function {width}",
            function.name,
            circuit.output_bits()
        );
        return Err(at(message));
    }
    Ok(circuit)
}

/// Refuses bytes in the bit order of numbers. That order determines neither the first byte of the
/// file nor the first bit of a byte, so the circuit would compute on other values.
fn check_order(program: &Program, function: &Function, order: BitOrder) -> Lower<()> {
    let types = &program.types;
    let parameters = function.parameters.iter();
    let parameters = parameters.map(|local| function.locals[local.0 as usize].ty);
    let mut all = parameters.chain([function.result]);
    if order.is_of_numbers() && all.any(|ty| types.has_bytes(ty)) {
        let message = format!(
            "`{}` takes or gives bytes, and `lsb_first` and `msb_first` are orders of numbers: \
             write `reversed_bytes` if the file is in Bristol Fashion, `reversed_bits` if it is in \
             the old Bristol format, and test it with a known answer",
            function.name
        );
        return Err(Diagnostic::new(function.span, message));
    }
    Ok(())
}
