//! The programs that run: the paper's, and two that only save and load bits.

use std::num::NonZeroUsize;

use tacit::{Function, FunctionBuilder, Operand, Part, Recipient};

use super::exchange::Exchanged;
use crate::workload::Workload;
use crate::{Error, Options};

/// A function that saves this many bits and computes nothing.
pub(crate) const SAVE: &str = "bits-save";
/// A function that loads this many bits and returns one of them.
pub(crate) const LOAD: &str = "bits-load";

/// The paper's largest number of circuits, about 2^-82.
pub(super) const PAPERS_COPIES: u32 = 256;

/// Returns the function of a program.
pub(super) fn function(program: &Workload) -> Result<Function, Error> {
    let bits = program.parameter("bits").unwrap_or(1);
    let ty = format!("bits[{bits}]");
    let function = match program.function.as_str() {
        SAVE => FunctionBuilder::new(SAVE)
            .value("blank", &ty)
            .assign("blank", Operand::number(0))
            .save("kept", &ty, "blank")
            .finish(),
        LOAD => FunctionBuilder::new(LOAD)
            .load("kept", &ty)
            .value("first", "bit")
            .assign("first", Part::of("kept").at(0))
            .output("first", "bit", Recipient::Evaluator, "first")
            .finish(),
        _ => return program.of_library(),
    };
    Ok(function.map_err(tacit::Error::from)?)
}

/// Programs that run one after the other, and the number of runs.
struct Scene {
    programs: Vec<Workload>,
    copies: u32,
    /// Whether a run takes so long that there is only time for one.
    long: bool,
}

fn one(program: Workload, copies: u32) -> Scene {
    Scene {
        programs: vec![program],
        copies,
        long: false,
    }
}

fn long(program: Workload, copies: u32) -> Scene {
    Scene {
        long: true,
        ..one(program, copies)
    }
}

fn database(entries: u64) -> Workload {
    Workload::new("database-lookup", &[("entries", entries)])
}

fn millionaires() -> Workload {
    Workload::new("millionaires", &[("bits", 8192)])
}

fn edit_distance() -> Workload {
    Workload::new("edit-distance", &[("x_symbols", 128), ("y_symbols", 128)])
}

fn matrix() -> Workload {
    Workload::new("matrix-product", &[("n", 8), ("bits", 32)])
}

/// Returns a scene in which a text is kept and a symbol added.
fn incremental(length: u64, copies: u32) -> Scene {
    let parameters = [("length", length)];
    let programs = ["substring-start", "substring-next"];
    Scene {
        programs: programs.map(|name| Workload::new(name, &parameters)).into(),
        copies,
        long: false,
    }
}

/// Returns the same computation from the start: `CMTB-Full`.
fn full(length: u64) -> Workload {
    let parameters = [
        ("x_symbols", length),
        ("y_symbols", length),
        ("symbol_bits", 1),
    ];
    Workload::new("longest-common-substring", &parameters)
}

fn friends(cells: u64, copies: u32) -> Scene {
    let parameters = [("cells", cells)];
    let programs = ["friend-map-start", "friend-map-set", "friend-map-get"];
    Scene {
        programs: programs.map(|name| Workload::new(name, &parameters)).into(),
        copies,
        long: false,
    }
}

fn kept(bits: u64, copies: u32) -> Scene {
    let programs = [SAVE, LOAD];
    Scene {
        programs: programs
            .map(|name| Workload::new(name, &[("bits", bits)]))
            .into(),
        copies,
        long: false,
    }
}

/// Returns the scenes of a first look.
fn quick() -> Vec<Scene> {
    let mut scenes = vec![one(database(64), 1), one(database(64), 16)];
    scenes.extend([128, 1024].map(|bits| kept(bits, 16)));
    scenes.push(friends(64, 16));
    scenes.extend([16, 32].map(|length| incremental(length, 16)));
    scenes.extend([16, 32].map(|length| one(full(length), 16)));
    scenes
}

/// Returns all scenes of the paper, and with one circuit those for parties that follow the
/// protocol.
fn thorough() -> Vec<Scene> {
    let mut scenes = Vec::new();
    for copies in [1, 16, 64, PAPERS_COPIES] {
        scenes.extend([64, 128, 256].map(|entries| one(database(entries), copies)));
        scenes.push(one(millionaires(), copies));
        let scene = match copies {
            PAPERS_COPIES => long,
            _ => one,
        };
        scenes.extend([edit_distance(), matrix()].map(|program| scene(program, copies)));
    }
    let (lengths, copies) = ([128, 256, 512], PAPERS_COPIES);
    scenes.extend(lengths.map(|length| incremental(length, copies)));
    // A full run of 512 symbols takes minutes, and the paper has none.
    scenes.extend([128, 256].map(|length| long(full(length), copies)));
    scenes.extend([64, 256, 2048].map(|cells| friends(cells, copies)));
    scenes.extend([512, 4096, 16384].map(|bits| kept(bits, copies)));
    scenes
}

/// The number of runs of long scenes, of the others, and of a first look. If there are several, the
/// first is a warm-up.
const LONG_RUNS: usize = 1;
const RUNS: usize = 4;
const QUICK_RUNS: usize = 2;

/// Returns the requested exchanges, in order.
pub(super) fn exchanges(options: &Options) -> Vec<Exchanged> {
    let scenes = if options.quick { quick() } else { thorough() };
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // Both servers share this machine.
    let threads = match options.pin {
        Some(_) => 1,
        None => (cores / 2).max(1),
    };
    let exchange = |scene: Scene| Exchanged {
        repetitions: match (options.quick, scene.long) {
            (true, _) => QUICK_RUNS,
            (false, true) => LONG_RUNS,
            (false, false) => RUNS,
        },
        programs: scene.programs,
        copies: scene.copies,
        threads: NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN),
        link: None,
    };
    scenes.into_iter().map(exchange).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_program_is_there_and_chains_load_what_was_saved() {
        for scene in quick().into_iter().chain(thorough()) {
            let mut kept: BTreeMap<String, usize> = BTreeMap::new();
            for program in &scene.programs {
                let function = function(program).expect("a function");
                for port in function.loads() {
                    assert_eq!(kept.get(&port.name), Some(&port.ty.width()), "{program:?}");
                }
                let saves = function.saves().iter();
                kept.extend(saves.map(|port| (port.name.clone(), port.ty.width())));
            }
        }
    }
}
