//! The layers of the workspace: a crate may only depend on the crates below it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Each crate with the crates of Tacit that it may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("kernels", &[]),
    ("circuit", &[]),
    ("components", &["circuit"]),
    ("function", &["circuit", "components"]),
    (
        "language",
        &["kernels", "circuit", "components", "function"],
    ),
    ("reference", &[]),
    ("net", &[]),
    ("stock", &["kernels", "circuit"]),
    ("garble", &["kernels", "circuit"]),
    ("ot", &["kernels"]),
    ("gpu", &["kernels", "ot"]),
    (
        "protocol",
        &["kernels", "circuit", "function", "garble", "ot"],
    ),
    (
        "tacit",
        &[
            "kernels",
            "circuit",
            "components",
            "function",
            "language",
            "garble",
            "ot",
            "protocol",
            "net",
            "stock",
        ],
    ),
    ("serve", &["tacit"]),
    (
        "bench",
        &[
            "kernels",
            "circuit",
            "components",
            "language",
            "garble",
            "ot",
            "net",
            "protocol",
            "tacit",
            "serve",
        ],
    ),
    ("cli", &["tacit", "serve", "language", "gpu"]),
    ("python", &["tacit", "language", "circuit", "gpu"]),
    (
        "web",
        &["kernels", "circuit", "garble", "tacit", "language"],
    ),
    (
        "testkit",
        &[
            "kernels",
            "circuit",
            "components",
            "function",
            "reference",
            "garble",
            "ot",
            "protocol",
            "net",
            "stock",
            "language",
            "tacit",
        ],
    ),
];

fn crates() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the crates of Tacit under `[dependencies]` (tests may use others, since they are not
/// shipped).
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if section == "dependencies" || section == "build-dependencies" {
            let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
            if let Some(layer) = name.strip_prefix("tacit-") {
                found.insert(layer.to_owned());
            } else if name == "tacit" {
                found.insert("tacit".to_owned());
            }
        }
    }
    found
}

#[test]
fn no_crate_depends_upwards() {
    let mut unlisted: BTreeSet<String> = fs::read_dir(crates())
        .expect("the folder of crates")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    for (layer, below) in LAYERS {
        let manifest = fs::read_to_string(crates().join(layer).join("Cargo.toml"))
            .unwrap_or_else(|error| panic!("the manifest of {layer}: {error}"));
        for dependency in dependencies(&manifest) {
            assert!(
                below.contains(&dependency.as_str()),
                "{layer} must not use {dependency}"
            );
        }
        unlisted.remove(*layer);
    }
    assert!(
        unlisted.is_empty(),
        "crates without a layer, add them here: {unlisted:?}"
    );
}

#[test]
fn only_kernels_and_gpu_have_unsafe_code() {
    let others = |layer: &&str| !["kernels", "gpu"].contains(layer);
    for layer in LAYERS.iter().map(|(layer, _)| *layer).filter(others) {
        let source = crates().join(layer).join("src");
        let root = ["lib.rs", "main.rs"].map(|root| source.join(root));
        let root = root
            .iter()
            .find(|root| root.exists())
            .expect("a root module");
        let text = fs::read_to_string(root).expect("the root module");
        assert!(
            text.contains("#![forbid(unsafe_code)]"),
            "{layer} must forbid unsafe code"
        );
    }
}

#[test]
fn an_upward_reference_is_seen() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\ntacit-ot.workspace = true\n\
                    tacit = { path = \"../tacit\" }\n[dev-dependencies]\ntacit-net.workspace = \
                    true";
    let expected = ["ot", "tacit"].map(str::to_owned);
    assert_eq!(dependencies(manifest), BTreeSet::from(expected));
}
