//! Programs of the language: `tacit check`, `tacit test`, `tacit eval` and `tacit fmt`.

use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;

use serde_json::{Value as Json, json};
use tacit::Function;
use tacit::circuit::builder::CircuitForm;
use tacit::protocols::Protocol;
use tacit_language::lower::LineCosts;
use tacit_language::{
    BorderError, Loaded, ParamValues, ProgramFolder, Signature, SourceMap, TestReport,
    TypedFunction, read_source,
};

use crate::args::{EvalArgs, FmtArgs, FunctionArgs, ProgramArgs};
use crate::failure::{Failure, input};
use crate::output::{self, counted, tell};
use crate::program::{Program, all_json, found, params, rendered, warn, wrong};
use crate::terminal::shown;
use crate::{inputs, typed};

fn load(path: &Path) -> Result<Arc<Loaded>, Failure> {
    Ok(Program::read(path)?.loaded)
}

/// Runs `tacit check`.
pub(crate) fn check(args: &ProgramArgs) -> Result<(), Failure> {
    let params = params(&args.params)?;
    let mut wrong = 0;
    let (mut all, mut warnings) = (Vec::new(), Vec::new());
    for path in &args.files {
        let loaded = load(path)?;
        let (errors, map) = (
            loaded.check(&params, &ProgramFolder::of(path)),
            loaded.source_map(),
        );
        wrong += errors.len();
        warnings.extend(warned(&loaded, &params, args.json));
        if args.json {
            all.extend(all_json(&errors, map));
        } else if errors.is_empty() {
            output::print(format!("{}: right\n", shown(path)))?;
        } else {
            tell(&rendered(&errors, map));
        }
    }
    if wrong > 0 {
        return Err(found(wrong, [("errors", all), ("warnings", warnings)]));
    }
    if args.json {
        output::print_json(json!({ "errors": all, "warnings": warnings }))?;
    }
    Ok(())
}

/// Runs `tacit test`.
pub(crate) fn test(args: &ProgramArgs) -> Result<(), Failure> {
    let params = params(&args.params)?;
    let (mut failed, mut run) = (0, 0);
    let (mut all, mut warnings) = (Vec::new(), Vec::new());
    for path in &args.files {
        let loaded = load(path)?;
        let files = ProgramFolder::of(path);
        let errors = loaded.check(&params, &files);
        if !errors.is_empty() {
            let map = loaded.source_map();
            tell(&rendered(&errors, map));
            let errors_json = all_json(&errors, map);
            return Err(found(
                errors.len(),
                [("errors", errors_json), ("tests", all)],
            ));
        }
        warnings.extend(warned(&loaded, &params, args.json));
        let reports = loaded.run_tests(&params, &files);
        if reports.is_empty() && !args.json {
            output::print(format!("{}: no tests\n", shown(path)))?;
        }
        for report in reports {
            run += 1;
            failed += usize::from(!report.errors.is_empty());
            if args.json {
                all.push(report_json(path, &report, loaded.source_map()))
            } else {
                print_report(path, &report, loaded.source_map())?
            }
        }
    }
    if failed > 0 {
        let what = format!("{failed} of {} failed", counted(run, "test"));
        let remedy = "correct the program or the test, as the messages say";
        return Err(wrong(
            what,
            remedy,
            [("tests", all), ("warnings", warnings)],
        ));
    }
    if args.json {
        output::print_json(json!({ "tests": all, "warnings": warnings }))?;
    }
    Ok(())
}

/// Prints the warnings about a program, or returns them if they are wanted as JSON.
fn warned(loaded: &Loaded, params: &ParamValues, json: bool) -> Vec<Json> {
    let Ok(program) = loaded.program(params) else {
        return Vec::new();
    };
    if json {
        return all_json(&program.warnings, loaded.source_map());
    }
    warn(loaded, &program);
    Vec::new()
}

fn print_report(path: &Path, report: &TestReport, map: &SourceMap) -> Result<(), Failure> {
    let word = if report.errors.is_empty() {
        "passed"
    } else {
        "FAILED"
    };
    let mut text = String::new();
    let _ = writeln!(text, "{}: {word}: {}", shown(path), report.name);
    report
        .debugged
        .iter()
        .for_each(|line| tell(&format!("{line}\n")));
    output::print(text)?;
    if !report.errors.is_empty() {
        tell(&rendered(&report.errors, map));
    }
    Ok(())
}

fn report_json(path: &Path, report: &TestReport, map: &SourceMap) -> Json {
    json!({
        "file": path.display().to_string(),
        "name": report.name.as_str(),
        "passed": report.errors.is_empty(),
        "errors": all_json(&report.errors, map),
        "debug": report.debugged,
    })
}

/// Runs `tacit eval`.
pub(crate) fn eval(args: &EvalArgs) -> Result<(), Failure> {
    let program = Program::read(&args.file)?;
    let signature = program.debugged(&args.params, args.entry.as_deref())?;
    let signature = signature.with_row_rules(args.rows.rules());
    let signature = signature.on_threads(available_parallelism().unwrap_or(NonZeroUsize::MIN));
    if signature.entry().join.is_none() {
        args.rows.refuse()?;
    }
    let files = typed::OutputFiles::new(&args.outputs, Some(&signature), None)?;
    let wanted = typed::WantedInputs(&signature, typed::InputsOf::All);
    let values = inputs::gather(&wanted, &args.inputs, args.input_file.as_deref())?;
    values
        .iter()
        .for_each(|(name, value)| typed::tell_changed(name, value));
    let signature = program.of_tables(signature, &values, &args.params, args.entry.as_deref())?;
    let results =
        signature.evaluate_with(&values, args.seed, program.folder(), &mut |span, value| {
            tell(&(program.loaded.debug_line(span, value) + "\n"));
        });
    let results = results.map_err(|error| program.failure(error))?;
    let names = signature
        .results()
        .iter()
        .map(|result| result.name.as_str());
    let named: Vec<_> = names.zip(results).collect();
    files.write(&signature, &named, |_| ())?;
    if !args.json {
        return output::print(typed::results_text(&signature, &named));
    }
    let fields = named.iter();
    let fields = fields.map(|(name, value)| ((*name).to_owned(), signature.json(value)));
    let outputs = Json::Object(fields.collect());
    output::print_json(json!({ "outputs": outputs }))
}

/// Runs `tacit fmt`.
pub(crate) fn fmt(args: &FmtArgs) -> Result<(), Failure> {
    let mut others = Vec::new();
    for path in &args.files {
        let text = read_source(path)
            .map_err(|error| Failure::read(format!("program {}", path.display()), error))?;
        let name = shown(path);
        let formatted = match tacit_language::format(&name, &text) {
            Ok(formatted) => formatted,
            Err((map, errors)) => {
                tell(&rendered(&errors, &map));
                return Err(found(errors.len(), []));
            }
        };
        if formatted == text {
            continue;
        }
        others.push(name);
        if !args.check {
            fs::write(path, formatted).map_err(|error| Failure::write(path, &error))?;
        }
    }
    if others.is_empty() || !args.check {
        Ok(())
    } else {
        Err(input!(
            "{} not in the format",
            others.join(", ") + if others.len() == 1 { " is" } else { " are" };
            "`tacit fmt` without --check writes it"
        ))
    }
}

/// A run of a program, its function, and the costs of its lines.
pub(crate) struct RunCosts {
    pub(crate) name: String,
    pub(crate) function: Function,
    pub(crate) costs: LineCosts,
}

/// Returns the costs of the lines of the run that `choice` names, or of all runs of a program.
pub(crate) fn costs(
    path: &Path,
    choice: &FunctionArgs,
    form: CircuitForm,
) -> Result<(SourceMap, Vec<RunCosts>), Failure> {
    let read = Program::read(path)?;
    let told = |error| read.failure(error);
    let given = params(&choice.params)?;
    let program = read.loaded.program(&given);
    let program = program.map_err(|errors| told(BorderError::Program(errors)))?;
    warn(&read.loaded, &program);
    let names: Vec<String> = match &choice.entry {
        Some(name) => vec![name.clone()],
        None => program
            .entries
            .iter()
            .map(|run| run.name.to_string())
            .collect(),
    };
    let mut runs = Vec::with_capacity(names.len());
    for name in &names {
        let signature = Signature::new(&read.loaded, &given, Some(name)).map_err(told)?;
        // Another run may have public inputs of its own.
        let is_of_run = |given: &&String| {
            let name = given.split_once('=').map_or("", |(name, _)| name);
            names.len() == 1
                || signature
                    .inputs()
                    .iter()
                    .any(|input| input.name.as_str() == name)
        };
        let public: Vec<String> = choice.public.iter().filter(is_of_run).cloned().collect();
        let wanted = typed::WantedInputs(&signature, typed::InputsOf::Public);
        let public = inputs::gather(&wanted, &public, None)?;
        // A join runs only over shares.
        let form = match signature.entry().join {
            Some(_) => Protocol::Gmw.circuit_form(),
            None => form,
        };
        let signature = signature.in_form(form);
        let compiled = TypedFunction::with_costs(signature, name, &public, read.folder());
        let (compiled, costs) = compiled.map_err(told)?;
        runs.push(RunCosts {
            name: name.clone(),
            function: compiled.function().clone(),
            costs,
        });
    }
    Ok((read.loaded.source_map().clone(), runs))
}
