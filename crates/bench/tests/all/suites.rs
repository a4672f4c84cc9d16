//! Every suite measures something, and its records can be written as JSON and in a table.

use std::collections::BTreeSet;

use clap::ValueEnum as _;
use tacit_bench::table::Table;
use tacit_bench::{Figures, Options, Record, Suite, run};

/// Returns the records of the cases of a suite with these words in their names.
fn records(suite: Suite, only: &[&str]) -> Vec<Record> {
    let options = Options {
        quick: true,
        only: only.iter().map(|word| (*word).to_owned()).collect(),
        ..Options::default()
    };
    let mut records = Vec::new();
    run(suite, &options, &mut |record| {
        records.push(record);
        Ok(())
    })
    .expect("the suite runs");
    let mut table = Table::default();
    for record in &records {
        let json = serde_json::to_string(record).expect("JSON");
        assert!(!json.contains('\n'));
        let read: Record = serde_json::from_str(&json).expect("a record");
        assert_eq!(&read, record);
        assert!(table.add(record).ends_with('\n'));
    }
    records
}

#[test]
fn kernels_have_all_backends() {
    let records = records(Suite::Kernels, &["aes-one-key"]);
    let backends: BTreeSet<String> = records
        .iter()
        .map(|record| match &record.figures {
            Figures::Kernel(figures) => figures.backend.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(backends.len(), records[0].machine.backends.len());
}

#[test]
fn schemes_are_both_roles_and_below_the_ceiling() {
    let case = ["half-gates/two-call", "aes-128 "];
    let mut records = records(Suite::Schemes, &case);
    // The fastest backend, and a named one.
    assert_eq!(records.len(), 2);
    records.extend(self::records(
        Suite::Schemes,
        &[&case[..], &["portable"]].concat(),
    ));
    for record in &records {
        let Figures::Scheme(figures) = &record.figures else {
            panic!("{record:?}");
        };
        assert_eq!((figures.ands, figures.table_bytes), (6_400, 6_400 * 32));
        let calls = if figures.role == "garbler" { 8 } else { 4 };
        assert_eq!(figures.cipher_calls, figures.ands * calls);
        assert!(figures.ceiling_share > 0.0, "{figures:?}");
    }
    assert_eq!(records.len(), 4);
}

#[test]
fn correlated_ots_have_the_bytes_that_they_should() {
    let records = records(Suite::Ot, &["ot softspoken-2 semi-honest", "loopback"]);
    // Eight parts, and an offer for all; or 128 keys in eight parts, and an answer of two frames.
    let header = 5;
    let expected = [
        ("ristretto255", 8_192 + 8 * header, 32 + header),
        ("ml-kem-768", 159_744 + 8 * header, 278_528 + 2 * header),
    ];
    assert_eq!(records.len(), expected.len());
    for (record, (base, garbler, evaluator)) in records.iter().zip(expected) {
        let Figures::Ot(figures) = &record.figures else {
            panic!("{record:?}");
        };
        assert_eq!(figures.base, base);
        assert_eq!(figures.made, figures.count as u64);
        assert!(
            (64.0..64.1).contains(&figures.made_bits_per_ot),
            "{figures:?}"
        );
        assert_eq!(figures.setup_traffic.garbler_bytes, garbler);
        // Then corrections and a block of rows.
        let rows = 2_048 + 1_024 + header;
        assert_eq!(figures.setup_traffic.evaluator_bytes, evaluator + rows);
    }
}

/// The counts of `docs/protocols/batch.md`, each message with the 5 bytes before it.
#[test]
fn batches_have_the_bytes_that_they_should() {
    let records = records(Suite::Batch, &["batch aes-128 executions", "loopback"]);
    assert_eq!(records.len(), 1);
    for record in &records {
        let Figures::Batch(figures) = &record.figures else {
            panic!("{record:?}");
        };
        let (bucket, header) = (figures.bucket, 5);
        let labels = 16 + 32 + bucket * (16 * 257 + 32 * 128);
        let recovery = 16 + bucket * (16 * 128 + 32 * 128);
        let traffic = figures.online_traffic;
        assert_eq!(traffic.garbler_bytes, labels + recovery + 2 * header);
        assert_eq!(traffic.evaluator_bytes, 2 * (16 + header));
        assert!(figures.executions * bucket < figures.circuits);
    }
}

/// The cost of an AND gate of one lot, as `docs/protocols/authenticated.md` counts it.
#[test]
fn runs_from_nothing_have_the_bytes_that_they_should() {
    let records = records(Suite::Authenticated, &["aes-128 s-40", "loopback"]);
    assert_eq!(records.len(), 1);
    for record in &records {
        let Figures::Authenticated(figures) = &record.figures else {
            panic!("{record:?}");
        };
        assert_eq!(
            (figures.run.ands, figures.statistical_security_bits),
            (6_400, 40)
        );
        assert!(
            figures.run.run_ms.median > figures.direct_ms.median,
            "{figures:?}"
        );
        // Four layers of leaky ANDs: 13 OTs and 4 blocks each way, and two rows of a table.
        let ots = if figures.bytes_an_and() > 300.0 {
            8.0
        } else {
            4.0
        };
        let expected = 2.0 * (13.0 * ots + 4.0 * 16.0) + 32.0;
        let found = figures.bytes_an_and() / expected;
        assert!((1.0..1.1).contains(&found), "{figures:?}");
    }
}

/// 4 opened bits and 32 bits of OTs in each direction, beside the headers and a word as the result.
#[test]
fn ands_of_shared_bits_have_the_bits_that_they_should() {
    let records = records(Suite::Gmw, &["shared-ands", "gmw softspoken-8 loopback"]);
    assert_eq!(records.len(), 1);
    let Figures::Gmw(figures) = &records[0].figures else {
        panic!("{records:?}");
    };
    assert_eq!((figures.ands, figures.layers), (1 << 21, 1));
    assert!((36.0..36.1).contains(&figures.bits_per_and), "{figures:?}");
}

#[test]
fn plans_are_compared_with_runs_by_three_protocols() {
    let records = records(Suite::Plan, &["plan logistic", "loopback"]);
    let figures = records.iter().map(|record| match &record.figures {
        Figures::Plan(figures) => &**figures,
        other => panic!("{other:?}"),
    });
    let protocols = figures.clone().map(|of| of.protocol.as_str());
    let protocols: Vec<_> = protocols.collect();
    assert_eq!(protocols, ["direct", "gmw", "prepared"]);
    assert!(figures.clone().all(|of| of.bytes_exact), "{records:?}");
    assert_eq!(figures.clone().filter(|of| of.chosen).count(), 1);
    let fastest = figures.filter(|of| of.behind_percent == 0.0);
    assert_eq!(fastest.count(), 1);
}

/// Kept values cost only the servers something. The thin client's bytes are as
/// `docs/protocols/outsourced.md` counts them, and do not depend on the loaded values.
#[test]
fn outsourced_runs_keep_values_at_no_cost_of_the_client() {
    let records = records(
        Suite::Outsourced,
        &["outsourced bits-", "copies-16 loopback"],
    );
    assert_eq!(records.len(), 4);
    let figures = records.iter().map(|record| match &record.figures {
        Figures::Outsourced(figures) => &**figures,
        other => panic!("{other:?}"),
    });
    let (mut saved, mut loaded) = (Vec::new(), Vec::new());
    for of in figures {
        assert_eq!((of.copies, of.evaluated_copies, of.ands), (16, 6, 0));
        assert!(of.statistical_security_bits.is_some_and(|bits| bits > 4.7));
        assert!(of.whole_ms.median >= of.run_ms.median);
        match (of.saved_bits, of.loaded_bits) {
            (bits, 0) => saved.push((bits, of.traffic)),
            (0, bits) => loaded.push((bits, of.traffic)),
            both => panic!("{both:?}"),
        }
    }
    for runs in [&saved, &loaded] {
        assert_eq!((runs[0].0, runs[1].0), (128, 1024));
        assert_eq!(runs[0].1.client_bytes(), runs[1].1.client_bytes());
    }
    // 32 bytes per circuit and loaded bit, in messages of 256 KiB with 5 bytes before each.
    let more = loaded[1].1.generator_to_cloud_bytes - loaded[0].1.generator_to_cloud_bytes;
    let gates = 16 * 32 * (1024 - 128);
    assert!((gates..gates + 5 * 4).contains(&more), "{more}");
}

#[test]
fn functions_run_over_a_shaped_link() {
    let options = Options {
        quick: true,
        links: vec!["1ms,1gbit".parse().expect("a link")],
        only: vec!["millionaires".to_owned()],
        ..Options::default()
    };
    let mut seen = 0;
    run(Suite::Direct, &options, &mut |record| {
        let Figures::Direct(figures) = &record.figures else {
            panic!("{record:?}");
        };
        assert_eq!((figures.link.as_str(), figures.ands), ("1ms,1gbit", 64));
        // At least one trip in each direction, even on a busy machine.
        assert!(figures.run_ms.least >= 2.0, "{figures:?}");
        seen += 1;
        Ok(())
    })
    .expect("the suite runs");
    assert_eq!(seen, 1);
}

#[test]
fn lots_are_garbled_on_one_thread_and_on_all_cores() {
    let records = records(Suite::Prepared, &["lot "]);
    let threads = records.iter().map(|record| match &record.figures {
        Figures::Lot(figures) => figures.threads,
        other => panic!("{other:?}"),
    });
    let threads: Vec<u64> = threads.collect();
    let cores = std::thread::available_parallelism().expect("a number of cores");
    assert_eq!(threads[0], 1);
    assert_eq!(threads.last(), Some(&(cores.get() as u64)));
}

#[test]
fn words_that_no_case_has_measure_nothing() {
    for suite in Suite::value_variants() {
        assert!(records(*suite, &["no-such-case"]).is_empty());
    }
}
