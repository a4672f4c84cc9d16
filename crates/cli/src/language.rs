//! Programs of the language: `tacit check`, `tacit test`, `tacit fmt`, and `main` as a function.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{IsTerminal, Read, Write as _};
use std::path::{Component, Path, PathBuf};

use serde_json::{Value as Json, json};
use tacit::formats::{self, Import, read_bristol_file};
use tacit::{Circuit, Function};
use tacit_language::lower::CircuitFiles;
use tacit_language::program::{BitOrder, EntryId, EntryKind, Program, TypeId, TypeKind};
use tacit_language::{Diagnostic, Loaded, ParamValues, SourceMap, Sources, TestReport};

use crate::args::{FmtArgs, ProgramArgs};
use crate::failure::Failure;
use crate::report::{JSON_VERSION, pretty};

/// The folder of a program, where the files that it names are.
struct Folder(PathBuf);

impl Folder {
    fn of(program: &Path) -> Self {
        Self(program.parent().map(Path::to_owned).unwrap_or_default())
    }
}

impl Sources for Folder {
    fn read(&self, name: &str) -> Result<String, String> {
        text_of(&self.0.join(name)).map_err(|error| error.to_string())
    }
}

impl CircuitFiles for Folder {
    fn circuit(&self, path: &str, order: BitOrder) -> Result<Circuit, String> {
        let path = Path::new(path);
        let is_below = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_below {
            return Err("a circuit file is in the program's folder or below".to_owned());
        }
        let order = match order {
            BitOrder::LsbFirst => formats::BitOrder::AsGiven,
            BitOrder::MsbFirst => formats::BitOrder::Reversed,
        };
        let import = Import {
            order,
            ..Import::default()
        };
        read_bristol_file(&self.0.join(path), &import).map_err(|error| error.to_string())
    }
}

/// The text of a file, of which no more is read than a program may have.
fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    let most = SourceMap::MAX_BYTES as u64 + 1;
    File::open(path)?.take(most).read_to_string(&mut text)?;
    Ok(text)
}

/// Whether a name is that of a program.
pub(crate) fn is_program(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "tacit")
}

fn load(path: &Path) -> Result<Loaded, Failure> {
    let text = text_of(path)
        .map_err(|error| Failure::read(format!("program {}", path.display()), error))?;
    Ok(Loaded::new(
        &path.display().to_string(),
        &text,
        &Folder::of(path),
    ))
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

fn errors_json(errors: &[Diagnostic], map: &SourceMap) -> Vec<Json> {
    let error = |error: &Diagnostic| {
        let (line, column) = map.line_and_column(error.span);
        json!({
            "file": map.file(error.span.file).name,
            "line": line,
            "column": column,
            "message": error.message,
            "label": error.label,
            "help": error.help,
        })
    };
    errors.iter().map(error).collect()
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

fn found(errors: usize) -> Failure {
    let were = if errors == 1 { "was" } else { "were" };
    Failure::Program(format!("{} {were} found", count(errors, "error")))
}

/// Runs `tacit check`.
///
/// # Errors
///
/// A program cannot be read or is wrong.
pub(crate) fn check(args: &ProgramArgs) -> Result<(), Failure> {
    let params = params(&args.params)?;
    let mut wrong = 0;
    let mut all = Vec::new();
    for path in &args.files {
        let loaded = load(path)?;
        let errors = loaded.check(&params);
        wrong += errors.len();
        match args.json {
            true => all.extend(errors_json(&errors, loaded.source_map())),
            false if errors.is_empty() => {
                crate::print(format!("{}: right\n", path.display()).as_bytes())?
            }
            false => tell(&rendered(&errors, loaded.source_map())),
        }
    }
    if args.json {
        let text = pretty(&json!({ "version": JSON_VERSION, "errors": all }));
        crate::print(text.as_bytes())?;
    }
    match wrong {
        0 => Ok(()),
        wrong => Err(found(wrong)),
    }
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
            tell(&rendered(&errors, loaded.source_map()));
            return Err(found(errors.len()));
        }
        for report in loaded.run_tests(&params, &Folder::of(path)) {
            run += 1;
            failed += usize::from(!report.errors.is_empty());
            match args.json {
                true => all.push(report_json(path, &report, loaded.source_map())),
                false => print_report(path, &report, loaded.source_map())?,
            }
        }
    }
    if args.json {
        let text = pretty(&json!({ "version": JSON_VERSION, "tests": all }));
        crate::print(text.as_bytes())?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(Failure::Program(format!(
            "{failed} of {} failed",
            count(run, "test")
        ))),
    }
}

fn print_report(path: &Path, report: &TestReport, map: &SourceMap) -> Result<(), Failure> {
    let word = match report.errors.is_empty() {
        true => "passed",
        false => "FAILED",
    };
    let mut text = String::new();
    let _ = writeln!(text, "{}: {word}: {}", path.display(), report.name);
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
        "errors": errors_json(&report.errors, map),
    })
}

/// Runs `tacit fmt`.
///
/// # Errors
///
/// A program cannot be read or written, or with `--check` is not in the format.
pub(crate) fn fmt(args: &FmtArgs) -> Result<(), Failure> {
    let mut others = Vec::new();
    for path in &args.files {
        let text = text_of(path)
            .map_err(|error| Failure::read(format!("program {}", path.display()), error))?;
        let name = path.display().to_string();
        let formatted = match tacit_language::format(&name, &text) {
            Ok(formatted) => formatted,
            Err((map, errors)) => {
                tell(&rendered(&errors, &map));
                return Err(found(errors.len()));
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

/// The function of a program's `main`.
///
/// # Errors
///
/// The program cannot be read or is wrong, has no `main`, or its `main` needs what the command line
/// has no way to give yet.
pub(crate) fn function(path: &Path, given: &[(String, String)]) -> Result<Function, Failure> {
    let loaded = load(path)?;
    let told = |errors: &[Diagnostic]| {
        tell(&rendered(errors, loaded.source_map()));
        found(errors.len())
    };
    let program = loaded
        .program(&params(given)?)
        .map_err(|errors| told(&errors))?;
    let main = program
        .entries
        .iter()
        .position(|entry| entry.kind == EntryKind::Main);
    let Some(number) = main else {
        return Err(Failure::Input(format!(
            "{} has no `main`; runs over states are tested by `tacit test`, and cannot be run \
             between parties yet",
            path.display()
        )));
    };
    check_ports(&program, number, path)?;
    let name = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let lowered = program
        .lower(&name, EntryId(number as u32), &Folder::of(path))
        .map_err(|error| told(&[error]))?;
    if !lowered.random.is_empty() {
        return Err(Failure::Input(format!(
            "the `main` of {} draws random bits, which cannot be run between parties yet; give \
             them as inputs",
            path.display()
        )));
    }
    Ok(lowered.function)
}

/// Refuses ports whose values the command line does not read and write yet.
fn check_ports(program: &Program, entry: usize, path: &Path) -> Result<(), Failure> {
    let entry = &program.entries[entry];
    let inputs = entry.inputs.iter().map(|port| (&port.name, port.ty));
    let outputs = entry.outputs.iter().map(|port| (&port.name, port.ty));
    for (name, ty) in inputs.chain(outputs) {
        if !is_plain(program, ty) {
            return Err(Failure::Input(format!(
                "the port {name} of {} is of type {}, which the command line cannot read and \
                 write yet; it has bools, integers, fixed-point numbers, byte strings and arrays \
                 of them",
                path.display(),
                program.types.name(ty)
            )));
        }
    }
    Ok(())
}

fn is_plain(program: &Program, ty: TypeId) -> bool {
    match *program.types.kind(ty) {
        TypeKind::Bool
        | TypeKind::Unsigned(_)
        | TypeKind::Signed(_)
        | TypeKind::Fixed(..)
        | TypeKind::Bytes(_) => true,
        TypeKind::Array(element, _) => is_plain(program, element),
        _ => false,
    }
}
