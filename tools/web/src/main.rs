//! Puts the browser's package together, and serves pages that use it on this machine.
//!
//! ```text
//! tacit-web-tool package COMPILED.wasm FOLDER   the two halves of the border, in FOLDER
//! tacit-web-tool serve FOLDER ADDRESS           FOLDER by HTTP, with the headers that pages need
//! ```
#![forbid(unsafe_code)]

mod order;
mod serve;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn package(compiled: &Path, folder: &Path) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(compiled).typescript(true);
    let bindgen = bindgen.web(true).map_err(|error| error.to_string())?;
    bindgen
        .generate(folder)
        .map_err(|error| format!("{error:#}"))?;
    let stem = bindgen.stem().map_err(|error| error.to_string())?;
    let written = folder.join(format!("{stem}_bg.wasm"));
    let module = fs::read(&written).map_err(|error| error.to_string())?;
    fs::write(&written, order::ordered(&module)?).map_err(|error| error.to_string())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["package", compiled, folder] => package(compiled.as_ref(), folder.as_ref()),
        ["serve", folder, address] => {
            serve::serve(folder.as_ref(), address).map_err(|error| error.to_string())
        }
        _ => Err("usage: tacit-web-tool package WASM FOLDER | serve FOLDER ADDRESS".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("tacit-web-tool: {what}");
            ExitCode::FAILURE
        }
    }
}
