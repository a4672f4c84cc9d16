//! Components as circuit files.

use std::fs::File;

use tacit_circuit::formats::{
    BitOrder, BristolFormat, Finding, Limits, check_directory, write_bristol,
};

use crate::by_name::component;

#[test]
fn aes_passes_under_the_default_order_alone() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["AES_128.bristol", "aes_128.txt"];
    let aes = component("aes-128", &[]);
    let write = |name: &str, format, order| {
        let file = File::create(directory.path().join(name)).unwrap();
        write_bristol(&aes, file, format, order).unwrap();
    };
    let findings = || -> Vec<(String, Finding)> {
        let reports = check_directory(directory.path(), &Limits::default()).unwrap();
        let name = |path: &std::path::Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let reports = reports.into_iter();
        reports
            .map(|report| (name(&report.path), report.finding))
            .collect()
    };
    for name in names {
        write(name, BristolFormat::Fashion, BitOrder::default());
    }
    let correct = Finding::Correct { cases: 2 };
    let expected = names.map(|name| (name.to_owned(), correct.clone()));
    assert_eq!(findings(), expected);
    for order in [
        BitOrder::AsGiven,
        BitOrder::ReversedBits,
        BitOrder::Reversed,
    ] {
        write(names[1], BristolFormat::Old, order);
        assert_eq!(findings()[1].1, Finding::Wrong { case: 0 }, "{order}");
    }
}
