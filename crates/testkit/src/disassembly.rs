//! Compiled kernels: whether a jump or an address depends on a secret.
//!
//! This is for backends that no checker of undefined memory can run: valgrind does not know VAES.
//! In a kernel secrets are blocks, and blocks are in vector registers and in arrays. So a value
//! that an instruction takes out of a vector or a mask register, or loads from an array of blocks,
//! counts as secret and is followed through registers and the stack (`flow`). A conditional jump on
//! such a value, or an address made from one, is a finding. The remaining jumps are on counters,
//! lengths and flags of the program, which both parties know.
//!
//! The code is that of the current program, from `objdump`.

mod flow;
mod instruction;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use flow::Flow;
use instruction::Instruction;

/// A kernel, compiled for a backend.
pub struct Kernel {
    /// The kernel's type.
    pub name: String,
    /// The backend's token.
    pub backend: String,
    instructions: Vec<Instruction>,
}

impl Kernel {
    /// Returns the number of its conditional jumps.
    pub fn conditional_jumps(&self) -> usize {
        let instructions = self.instructions.iter();
        instructions.filter(|one| one.is_conditional_jump()).count()
    }

    /// Returns the instructions that jump on or address memory by a possible secret. If
    /// `byte_addresses`, a byte of an array may be part of an address: this is for kernels whose
    /// only bytes are public.
    pub fn findings(&self, byte_addresses: bool) -> Vec<String> {
        let mut flow = Flow::new(byte_addresses);
        let mut findings = Vec::new();
        for instruction in &self.instructions {
            if let Some(what) = flow.step(instruction) {
                findings.push(format!("{what} at {instruction}"));
            }
        }
        findings
    }
}

/// The missing means to find kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The disassembler.
    Objdump,
    /// The debug information, which is the only place with the names of kernels' types.
    DebugInformation,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Objdump => "objdump is not installed",
            Self::DebugInformation => "this program was built without debug information",
        })
    }
}

/// Returns the kernels in `program` whose backend's token is one of `backends`, and the functions
/// that they call, or the missing means to find them.
///
/// # Errors
///
/// `objdump` cannot be run, or its output is not usable.
pub fn kernels(program: &Path, backends: &[&str]) -> io::Result<Result<Vec<Kernel>, Missing>> {
    if Command::new("objdump").arg("--version").output().is_err() {
        return Ok(Err(Missing::Objdump));
    }
    let Some(names) = names(program)? else {
        return Ok(Err(Missing::DebugInformation));
    };
    let of_kernels: Names = names
        .into_iter()
        .filter(|(_, (backend, _))| backends.contains(&backend.as_str()))
        .collect();
    let (mut kernels, called) = functions(program, &of_kernels)?;
    kernels.extend(functions(program, &called)?.0);
    Ok(Ok(kernels))
}

/// The backend and the name of a function, by its symbol.
type Names = HashMap<String, (String, String)>;

/// Returns the functions with these symbols, and the functions that they call.
fn functions(program: &Path, names: &Names) -> io::Result<(Vec<Kernel>, Names)> {
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut called = Names::new();
    let mut inside = false;
    lines(
        program,
        &["-d", "-M", "intel", "--no-show-raw-insn"],
        |line| {
            if let Some((_, symbol)) = line
                .strip_suffix(">:")
                .and_then(|line| line.split_once('<'))
            {
                let found = names.get(symbol);
                inside = found.is_some();
                kernels.extend(found.map(|(backend, name)| Kernel {
                    name: name.clone(),
                    backend: backend.clone(),
                    instructions: Vec::new(),
                }));
            } else if let Some(kernel) = kernels.last_mut().filter(|_| inside) {
                kernel.instructions.extend(Instruction::parse(line));
                if let Some(symbol) = callee(line).filter(|symbol| !names.contains_key(*symbol)) {
                    let name = format!("{symbol}, which {} calls", kernel.name);
                    called.insert(symbol.to_owned(), (kernel.backend.clone(), name));
                }
            }
        },
    )?;
    Ok((kernels, called))
}

/// Returns the symbol that a line calls, if it is a call other than to a panic.
fn callee(line: &str) -> Option<&str> {
    let (_, target) = line.split_once("\tcall ")?;
    let symbol = target.split_once('<')?.1.strip_suffix('>')?;
    let gives_up = ["panic", "fail", "DYNAMIC"];
    (!gives_up.iter().any(|word| symbol.contains(word))).then_some(symbol)
}

/// Returns the backend and the kernel's type by the symbol of the function in which a backend runs
/// a kernel. The type is only in the debug information; the result is `None` if there is none for
/// this workspace's code. (That of the standard library always exists.)
fn names(program: &Path) -> io::Result<Option<Names>> {
    let mut names = Names::new();
    let mut is_there = false;
    let mut symbol = None;
    lines(program, &["--dwarf=info"], |line| {
        let value = |line: &str| line.rsplit_once(": ").map(|(_, value)| value.to_owned());
        if line.contains("DW_AT_linkage_name") {
            is_there |= line.contains("tacit_kernels");
            symbol = value(line).filter(|symbol| symbol.contains("with_features"));
        } else if line.contains("DW_AT_name") {
            let Some(symbol) = symbol.take() else {
                return;
            };
            let name = line.split_once("with_features<");
            let name = name.and_then(|(_, name)| name.trim_end().strip_suffix('>'));
            if let (Some(backend), Some(name)) = (backend(&symbol), name) {
                names.insert(symbol, (backend, name.to_owned()));
            }
        }
    })?;
    Ok(is_there.then_some(names))
}

/// Returns the token in the symbol of `Token::run::with_features`.
fn backend(symbol: &str) -> Option<String> {
    let tokens = ["Vaes512", "Vaes256", "AesNi"];
    let token = tokens.into_iter().find(|token| symbol.contains(token))?;
    Some(token.to_owned())
}

/// Passes each line of the output of `objdump` to `take`.
fn lines(program: &Path, arguments: &[&str], mut take: impl FnMut(&str)) -> io::Result<()> {
    let mut child = Command::new("objdump")
        .args(arguments)
        .arg(program)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let output = child.stdout.take().expect("it is piped");
    for line in BufReader::new(output).lines() {
        take(&line?);
    }
    let status = child.wait()?;
    let failed = || io::Error::other(format!("objdump on {}: {status}", program.display()));
    status.success().then_some(()).ok_or_else(failed)
}
