//! A file in the folder of a test program is compiled only if the program names it.

use std::fs;
use std::path::{Path, PathBuf};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn every_file_of_a_test_program_is_a_module_of_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = 0;
    for folder in entries(&crates)
        .iter()
        .flat_map(|one| entries(&one.join("tests")))
    {
        let Ok(program) = fs::read_to_string(folder.join("main.rs")) else {
            continue;
        };
        for file in entries(&folder) {
            let name = file.file_stem().expect("a name").to_string_lossy();
            let is_module = program.contains(&format!("mod {name};\n"));
            assert!(is_module || name == "main", "{file:?} is in no program");
            found += 1;
        }
    }
    assert!(found > 60, "only {found} files were found");
}
