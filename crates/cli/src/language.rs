//! Programs of the language: `tacit check`, `tacit test`, `tacit eval` and `tacit fmt`.

use std::fmt::Write as _;
use std::fs;
use std::io::{IsTerminal, Write as _};
use std::path::Path;

use serde_json::{Value as Json, json};
use tacit::Function;
use tacit::circuit::Digest;
use tacit_language::lower::{CircuitFiles, LineCosts};
use tacit_language::program::EntryId;
use tacit_language::{
    BorderError, Diagnostic, Loaded, ParamValues, ProgramFolder, Signature, SourceMap, TestReport,
    read_source,
};

use crate::args::{EvalArgs, FmtArgs, ProgramArgs};
use crate::failure::Failure;
use crate::report::{JSON_VERSION, pretty};
use crate::{inputs, typed};

/// Whether a name is that of a program.
pub(crate) fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "tacit")
}

fn load(path: &Path) -> Result<Loaded, Failure> {
    Ok(Program::read(path)?.loaded)
}

/// A program and where its files are.
pub(crate) struct Program {
    loaded: Loaded,
    folder: ProgramFolder,
}

impl Program {
    /// Reads the program in a file.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_source(path).map_err(|error| {
            match error.kind() == std::io::ErrorKind::NotFound && !is_program(path) {
                true => Failure::Input(format!(
                    "there is no program {0}; give a file that ends in .tacit, and run what is of \
                     the library by `tacit run {0}`",
                    path.display()
                )),
                false => Failure::read(format!("program {}", path.display()), error),
            }
        })?;
        let folder = ProgramFolder::of(path);
        let loaded = Loaded::new(&shown(path), &text, &folder);
        Ok(Self { loaded, folder })
    }

    /// Where its circuit files are.
    pub(crate) fn folder(&self) -> &dyn CircuitFiles {
        &self.folder
    }

    /// The ports of the run of this name, or of `main`.
    ///
    /// # Errors
    ///
    /// The program is wrong, which is told with the places, or has no such run.
    pub(crate) fn signature(
        &self,
        given: &[(String, String)],
        entry: Option<&str>,
    ) -> Result<Signature, Failure> {
        let signature = Signature::new(&self.loaded, &params(given)?, entry);
        let signature = signature.map_err(|error| self.failure(error))?;
        warn(&self.loaded, signature.program());
        Ok(signature)
    }

    /// What binds a chain to the program.
    ///
    /// # Errors
    ///
    /// The program is wrong, which is told with the places, or keeps nothing.
    pub(crate) fn chain_digest(&self, given: &[(String, String)]) -> Result<Digest, Failure> {
        let program = self.loaded.program(&params(given)?);
        let digest = program
            .map_err(BorderError::Program)
            .and_then(|program| program.chain_digest(&self.folder));
        digest.map_err(|error| self.failure(error))?.ok_or_else(|| {
            Failure::Input("the program has no state, so that no chain can be its".to_owned())
        })
    }

    /// An error of the program, told with its places.
    pub(crate) fn failure(&self, error: BorderError) -> Failure {
        match error {
            BorderError::Program(errors) => {
                let map = self.loaded.source_map();
                tell(&rendered(&errors, map));
                found(errors.len(), [("errors", all_json(&errors, map))])
            }
            other => typed::plain_failure(other),
        }
    }
}

fn params(given: &[(String, String)]) -> Result<ParamValues, Failure> {
    let mut params = ParamValues::new();
    for (name, value) in given {
        let number = value.parse().map_err(|_| {
            Failure::Input(format!(
                "--param {name}: {value:?} is no whole number; write it in decimal, such as \
                 {name}=32"
            ))
        })?;
        if params.insert(name.clone(), number).is_some() {
            return Err(Failure::Usage(format!(
                "--param {name} is given twice; give it once"
            )));
        }
    }
    Ok(params)
}

/// Errors as text for standard error.
fn rendered(errors: &[Diagnostic], map: &SourceMap) -> String {
    let colour = std::io::stderr().is_terminal();
    let texts: Vec<String> = errors
        .iter()
        .map(|error| error.render(map, colour))
        .collect();
    texts.join("\n\n") + "\n\n"
}

fn all_json(found: &[Diagnostic], map: &SourceMap) -> Vec<Json> {
    found.iter().map(|one| one.to_json(map)).collect()
}

/// Tells what a program that is right may get wrong.
fn warn(loaded: &Loaded, program: &tacit_language::program::Program) {
    if !program.warnings.is_empty() {
        tell(&rendered(&program.warnings, loaded.source_map()));
    }
}

/// A file's name for a person, of which a terminal does nothing but show it.
fn shown(path: &Path) -> String {
    typed::escaped(&path.display().to_string())
}

/// Tells on standard error, whose reader may be gone.
fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

fn found<const N: usize>(errors: usize, fields: [(&str, Vec<Json>); N]) -> Failure {
    let were = if errors == 1 { "was" } else { "were" };
    wrong(format!("{} {were} found", count(errors, "error")), fields)
}

fn wrong<const N: usize>(what: String, fields: [(&str, Vec<Json>); N]) -> Failure {
    let fields = fields.into_iter();
    let fields = fields.map(|(name, all)| (name.to_owned(), Json::Array(all)));
    Failure::Program {
        what,
        fields: fields.collect(),
    }
}

/// Runs `tacit check`.
///
/// # Errors
///
/// A program cannot be read or is wrong.
pub(crate) fn check(args: &ProgramArgs) -> Result<(), Failure> {
    let params = params(&args.params)?;
    let mut wrong = 0;
    let (mut all, mut warnings) = (Vec::new(), Vec::new());
    for path in &args.files {
        let loaded = load(path)?;
        let (errors, map) = (loaded.check(&params), loaded.source_map());
        wrong += errors.len();
        if let Ok(program) = loaded.program(&params) {
            match args.json {
                true => warnings.extend(all_json(&program.warnings, map)),
                false => warn(&loaded, &program),
            }
        }
        match args.json {
            true => all.extend(all_json(&errors, map)),
            false if errors.is_empty() => {
                crate::print(format!("{}: right\n", shown(path)).as_bytes())?;
            }
            false => tell(&rendered(&errors, map)),
        }
    }
    if wrong > 0 {
        return Err(found(wrong, [("errors", all), ("warnings", warnings)]));
    }
    if args.json {
        let told = json!({ "version": JSON_VERSION, "errors": all, "warnings": warnings });
        crate::print(pretty(&told).as_bytes())?;
    }
    Ok(())
}

/// Runs `tacit test`.
///
/// # Errors
///
/// A program cannot be read, is wrong, or a test fails.
pub(crate) fn test(args: &ProgramArgs) -> Result<(), Failure> {
    let params = params(&args.params)?;
    let (mut failed, mut run) = (0, 0);
    let mut all = Vec::new();
    for path in &args.files {
        let loaded = load(path)?;
        let errors = loaded.check(&params);
        if !errors.is_empty() {
            let map = loaded.source_map();
            tell(&rendered(&errors, map));
            let errors_json = all_json(&errors, map);
            return Err(found(
                errors.len(),
                [("errors", errors_json), ("tests", all)],
            ));
        }
        let reports = loaded.run_tests(&params, &ProgramFolder::of(path));
        if reports.is_empty() && !args.json {
            crate::print(format!("{}: no tests\n", shown(path)).as_bytes())?;
        }
        for report in reports {
            run += 1;
            failed += usize::from(!report.errors.is_empty());
            match args.json {
                true => all.push(report_json(path, &report, loaded.source_map())),
                false => print_report(path, &report, loaded.source_map())?,
            }
        }
    }
    if failed > 0 {
        let what = format!("{failed} of {} failed", count(run, "test"));
        return Err(wrong(what, [("tests", all)]));
    }
    if args.json {
        let text = pretty(&json!({ "version": JSON_VERSION, "tests": all }));
        crate::print(text.as_bytes())?;
    }
    Ok(())
}

fn print_report(path: &Path, report: &TestReport, map: &SourceMap) -> Result<(), Failure> {
    let word = match report.errors.is_empty() {
        true => "passed",
        false => "FAILED",
    };
    let mut text = String::new();
    let _ = writeln!(text, "{}: {word}: {}", shown(path), report.name);
    crate::print(text.as_bytes())?;
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
    })
}

/// Runs `tacit eval`.
///
/// # Errors
///
/// The program cannot be read or is wrong, or an input is missing or not of its type.
pub(crate) fn eval(args: &EvalArgs) -> Result<(), Failure> {
    let program = Program::read(&args.file)?;
    let signature = program.signature(&args.params, args.entry.as_deref())?;
    let files = typed::OutputFiles::new(&args.outputs, Some(&signature), None)?;
    let wanted = typed::OfAll(&signature);
    let values = inputs::gather(&wanted, &args.inputs, args.input_file.as_deref())?;
    values
        .iter()
        .for_each(|(name, value)| typed::tell_filled(name, value));
    let results = signature.evaluate_with(&values, args.seed, program.folder());
    let results = results.map_err(|error| program.failure(error))?;
    let names = signature
        .results()
        .iter()
        .map(|result| result.name.as_str());
    let named: Vec<_> = names.zip(results).collect();
    files.write(&signature, &named)?;
    if !args.json {
        return crate::print(typed::results_text(&signature, &named).as_bytes());
    }
    let fields = named.iter();
    let fields = fields.map(|(name, value)| ((*name).to_owned(), signature.json(value)));
    let outputs = Json::Object(fields.collect());
    let json = json!({ "version": JSON_VERSION, "outputs": outputs });
    crate::print(pretty(&json).as_bytes())
}

/// Runs `tacit fmt`.
///
/// # Errors
///
/// A program cannot be read or written, or with `--check` is not in the format.
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
    match others.is_empty() || !args.check {
        true => Ok(()),
        false => Err(Failure::Input(format!(
            "{} not in the format; `tacit fmt` without --check writes it",
            others.join(", ") + if others.len() == 1 { " is" } else { " are" }
        ))),
    }
}

/// A run of a program, its function, and what its lines cost.
pub(crate) struct RunCosts {
    pub(crate) name: String,
    pub(crate) function: Function,
    pub(crate) costs: LineCosts,
}

/// What the lines of all runs of a program cost.
///
/// # Errors
///
/// The program cannot be read or is wrong, or a run is beyond a limit.
pub(crate) fn costs(
    path: &Path,
    given: &[(String, String)],
) -> Result<(SourceMap, Vec<RunCosts>), Failure> {
    let read = Program::read(path)?;
    let told = |errors| read.failure(BorderError::Program(errors));
    let program = read.loaded.program(&params(given)?).map_err(told)?;
    warn(&read.loaded, &program);
    let mut runs = Vec::with_capacity(program.entries.len());
    for (number, entry) in program.entries.iter().enumerate() {
        let name = entry.name.to_string();
        let (lowered, costs) = program
            .lower_with_costs(&name, EntryId(number as u32), read.folder())
            .map_err(|error| told(vec![error]))?;
        let function = lowered.function;
        runs.push(RunCosts {
            name,
            function,
            costs,
        });
    }
    Ok((read.loaded.source_map().clone(), runs))
}
