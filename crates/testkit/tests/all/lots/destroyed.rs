//! The rest of a lot after a failed check: nothing, in every state of its files and with any
//! of its components published.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// A damaged or missing file of a lot does not prevent the rest of the lot from being destroyed.
#[test]
fn a_lot_is_destroyed_whatever_its_files_are() {
    for (liar, file_is_there) in [(Role::Garbler, true), (Role::Evaluator, false)] {
        let folders = Folders::empty();
        both(prepare(&folders, None, FromStock::Instances, 3));
        // This is the file of the component that the run does not take.
        let victim = liar.other();
        let file = find(folders.path(victim as usize), "lot-0001-0000000000.seg");
        if file_is_there {
            std::fs::write(file, b"damaged").expect("a file")
        } else {
            std::fs::remove_file(file).expect("a file")
        }
        let ended = run(&folders, Some((liar, Kind::LinkMasks, Fault::FlipFirst)));
        assert!(ended.iter().all(Result::is_err));
        assert_eq!(left(&folders, FromStock::Instances), [(0, false); 2]);
        assert_eq!(record(&folders, victim).cheats, 1);
    }
}

/// Returns the file of this name below a folder.
fn find(folder: &Path, name: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.ends_with(name) => return path,
                false => {}
            }
        }
    }
    panic!("no {name}")
}

/// An evaluator conceals that it has one component of a lot, which therefore waits at the garbler
/// while the other is used. It is caught in a run, and then says that it has that component:
/// another guess under the same offsets.
#[test]
fn what_of_a_lot_was_never_published_is_destroyed_with_it() {
    let folders = Folders::empty();
    let lie = Some((Role::Evaluator, Kind::LotStored, Fault::CloseBefore));
    let ended = prepare(&folders, lie, FromStock::Instances, 3);
    assert!(ended.iter().all(Result::is_err));
    let held_back = kinds_of_instances(&folders, Role::Garbler).into_iter();
    let mut held_back = held_back.filter(|kind| kind.name.starts_with("richer/add"));
    let held_back = held_back.next().expect("an adder").digest;
    let hold_back = move |payload: &[u8]| {
        let mut marks = tacit_stock::Marks::parse(payload).expect("a record");
        let kinds = &mut marks.kinds;
        for kind in kinds.iter_mut().filter(|kind| kind.kind == held_back) {
            (kind.published, kind.chain) = (0, [0; 32]);
            kind.pending.clear();
        }
        marks.to_bytes()
    };
    // It breaks off a preparation when the records have met once, and cheats in a run.
    for (what, is_run) in [("a meeting", false), ("a run", true)] {
        let met = AtomicBool::new(false);
        let met = Arc::new(met);
        let lies = |role, transport: Transport| {
            let met = Arc::clone(&met);
            let rewrite = move |_, kind, payload: &[u8]| {
                let kind = Kind::from_byte(kind).filter(|_| role == Role::Evaluator)?;
                match kind {
                    Kind::StockMarks if !is_run && met.swap(true, Ordering::Relaxed) => {
                        Some(vec![0xff])
                    }
                    Kind::StockMarks => Some(hold_back(payload)),
                    Kind::LinkMasks => Some(payload.iter().map(|byte| byte ^ 1).collect()),
                    _ => None,
                }
            };
            transport.map_sink(|inner| Box::new(TamperingSink::rewriting(inner, Box::new(rewrite))))
        };
        let function = richer(0);
        let is_err = if is_run {
            run_of(&folders, &lies, &function, &|_, _| ()).map(|end| end.is_err())
        } else {
            meet(&folders, &lies, |role, session, stocks| {
                LotPreparation::instances_for_runs(role, &richer(1), 9)?.run(session, stocks)
            })
            .map(|end| end.is_err())
        };
        assert_eq!(is_err, [true; 2], "{what}");
        let there = kinds_of_instances(&folders, Role::Garbler).into_iter();
        let mut there: Vec<_> = there.map(|kind| (kind.available, kind.pending)).collect();
        there.sort_unstable();
        let due: &[_] = if is_run { &[] } else { &[(0, 3), (3, 0)] };
        assert_eq!(there, due, "{what}");
    }
    assert_eq!(record(&folders, Role::Garbler).cheats, 1);
    both(prepare(&folders, None, FromStock::Triples, 1));
    for role in ROLES {
        let there = kinds_of_instances(&folders, role).into_iter();
        assert_eq!(there.map(|kind| kind.available).sum::<u64>(), 0, "{role:?}");
    }
}
