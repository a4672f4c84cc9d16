//! Joins by `gmw` against plain joins, on functions made by hand.

mod asks;
mod from_stock;
mod refused;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use tacit::circuit::builder::{Builder, Bus};
use tacit::cost::Phase;
use tacit::join::{
    Counted, JoinPlan, JoinSide, JoinSpan, JoinTable, JoinedTable, KeyEncoding, KeyKind, OpenParam,
    ResultByPair, RowField, TableRows, check_table, with_part,
};
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters};
use tacit::protocols::Protocol;
use tacit::session::Incompatibility;
use tacit::{
    Category, Error, Function, FunctionBuilder, Job, Outcome, Part, ProtocolError, Recipient, Role,
    Session,
};
use tacit_circuit::{Component, Digest};
use tacit_function::join::{Sizes, Widths};

use crate::pair::{ROLES, in_memory, millionaires};

/// The bits of a row of the left and of the right table.
const ROW_BITS: [u64; 2] = [9, 20];

/// A row: its key and its other bits.
type Row = (u128, u64);

/// Returns the plan of a join of tables with these numbers of keys. The left one is the garbler's.
fn plan(keys: [u64; 2], most_rows_of_key: u64, placer: JoinSide) -> JoinPlan {
    let table = |side: usize| JoinTable {
        input: ["left", "right"][side].to_owned(),
        owner: ROLES[side],
        most_rows: keys[side] * [1, most_rows_of_key][side],
        most_keys: keys[side],
        key: vec![tacit::join::KeyPart {
            field: "id".to_owned(),
            kind: KeyKind::Fixed { bits: 128 },
        }],
        row: vec![RowField {
            field: "value".to_owned(),
            bits: ROW_BITS[side],
        }],
    };
    let (mine, other) = match placer {
        JoinSide::Left => (0, 1),
        JoinSide::Right => (1, 0),
    };
    let widths = Widths {
        placer_bits: ROW_BITS[mine] as u32,
        programmer_bits: ROW_BITS[other] as u32,
    };
    let sizes = Sizes::of(keys[mine], keys[other], most_rows_of_key, widths).expect("sizes");
    JoinPlan {
        left: table(0),
        right: table(1),
        most_rows_of_key,
        placer,
        sizes,
        spans: spans(&[sizes.all_bins()]),
        by_pair: Some(ResultByPair {
            output: "rows".to_owned(),
            element_bits: sizes.pair_bits(),
            rows: keys[mine],
        }),
        part: None,
    }
}

/// Returns spans of these numbers of bins.
fn spans(bins: &[u64]) -> Vec<JoinSpan> {
    let spans = bins.iter().enumerate();
    let spans = spans.map(|(number, bins)| JoinSpan {
        bins: *bins,
        placer_input: format!("placed_{number}"),
        programmer_input: format!("programmed_{number}"),
    });
    spans.collect()
}

fn test_and_mask(sizes: &Sizes) -> Component {
    let (tag, row) = (sizes.tag_bits as usize, sizes.placer_bits as usize);
    let payload = sizes.payload_bits as usize;
    let builder = Builder::new();
    let mine = builder.bus("placer", tag + row + payload);
    let yours = builder.bus("programmer", tag + payload);
    let matched = mine.slice(0..tag).equals(&yours.slice(0..tag));
    let theirs = &mine.slice(tag + row..tag + row + payload) ^ &yours.slice(tag..tag + payload);
    let all = mine.slice(tag..tag + row).concat(&theirs);
    let masked = Bus::from_bits(&builder, all.bits().map(|bit| bit & matched));
    builder.output("pair", &Bus::from_bits(&builder, [matched]).concat(&masked));
    Component::new("test_and_mask", builder.finish().expect("a circuit"))
}

/// Returns a function that gives all pairs to the placer, and a bit of the left party to both.
fn function(plan: &JoinPlan) -> Function {
    builder(plan).finish().expect("a function")
}

fn builder(plan: &JoinPlan) -> FunctionBuilder {
    let (sizes, bins) = (&plan.sizes, plan.bin_count());
    let (placer, programmer) = (plan.placers().owner, plan.programmers().owner);
    let to = match placer {
        Role::Garbler => Recipient::Garbler,
        Role::Evaluator => Recipient::Evaluator,
    };
    let bits = |bits: u64, bins: u64| format!("bits[{bits}][{bins}]");
    let pairs = bits(sizes.pair_bits(), bins);
    let mut builder = FunctionBuilder::new("pairs");
    // One input before those of the stage, and one after them.
    builder.input("first", "u8", Role::Garbler);
    if bins > 0 {
        builder
            .component("test_and_mask", test_and_mask(sizes))
            .value("pairs", &pairs)
            .output("rows", &pairs, to, Part::of("pairs"));
        let mut before = 0;
        for span in &plan.spans {
            let inputs = [&span.placer_input, &span.programmer_input];
            let placers = bits(sizes.placer_element_bits(), span.bins);
            let programmers = bits(sizes.programmer_element_bits(), span.bins);
            builder
                .input(inputs[0], &placers, placer)
                .input(inputs[1], &programmers, programmer)
                .repeat("i", 0, span.bins, |each, i| {
                    let given = inputs.map(|name| Part::of(name).at(i));
                    let pair = Part::of("pairs").at(i.plus(before));
                    each.call([pair], "test_and_mask", given);
                });
            before += span.bins;
        }
    }
    builder
        .input("last", "u8", Role::Garbler)
        .output("first", "u8", Recipient::Both, Part::of("first"))
        .output("last", "u8", Recipient::Both, Part::of("last"));
    builder
}

fn read(rows: &[Row], width: u64) -> TableRows {
    let mut read = TableRows::new(width as usize);
    for (key, row) in rows {
        let kind = KeyKind::Fixed { bits: 128 };
        let key = with_part(KeyEncoding::default(), kind, &key.to_le_bytes()).expect("a key");
        let bits: Vec<bool> = (0..width).map(|i| row >> i & 1 == 1).collect();
        read.push(key, &bits);
    }
    read
}

fn table(plan: &JoinPlan, party: usize, rows: &[Row]) -> Result<JoinedTable, Error> {
    let most = [1, plan.most_rows_of_key][party];
    let rows = read(rows, ROW_BITS[party]);
    let table = JoinedTable::by_key(rows, most, NonZeroUsize::MIN)?;
    check_table(plan, ROLES[party], &table)?;
    Ok(table)
}

fn job<'f>(
    function: &'f Function,
    plan: &'f JoinPlan,
    party: usize,
    table: &'f JoinedTable,
) -> Job<'f> {
    let job = Job::new(function, ROLES[party]).gmw().join(plan, table);
    match party {
        0 => job.input("first", 0xa5_u8).input("last", 0x3c_u8),
        _ => job,
    }
}

/// Returns both parties' outcomes of a join of these tables.
fn run(plan: &JoinPlan, tables: [&[Row]; 2]) -> [Outcome; 2] {
    let function = function(plan);
    let ended = in_memory(|party, session| {
        let table = table(plan, party, tables[party])?;
        job(&function, plan, party, &table).run(session)
    });
    ended.map(|ended| ended.expect("a result"))
}

/// Returns the lowest `bits` bits of a number.
fn bits_of(value: u128, bits: u64) -> Vec<bool> {
    (0..bits).map(|i| value >> i & 1 == 1).collect()
}

/// Returns what a plain join gives the placer for each of its rows: whether it is matched, the row
/// itself, and the other party's rows with their number.
fn plain(plan: &JoinPlan, placers: &[Row], programmers: &[Row]) -> Vec<Vec<bool>> {
    let width = ROW_BITS[usize::from(plan.placer == JoinSide::Left)];
    let most = plan.most_rows_of_key;
    let of_row = |(key, row): &Row| {
        let theirs: Vec<u64> = programmers
            .iter()
            .filter(|(other, _)| other == key)
            .map(|(_, row)| *row)
            .collect();
        if theirs.is_empty() {
            return bits_of(0, plan.sizes.pair_bits());
        }
        let mut bits = vec![true];
        bits.extend(bits_of((*row).into(), plan.sizes.placer_bits));
        if most > 1 {
            let count_bits = plan.sizes.payload_bits - most * width;
            bits.extend(bits_of(theirs.len() as u128, count_bits));
        }
        for number in 0..most as usize {
            let row = theirs.get(number).copied().unwrap_or(0);
            bits.extend(bits_of(row.into(), width));
        }
        bits
    };
    let mut rows: Vec<_> = placers.iter().map(of_row).collect();
    let by_pair = plan.by_pair.as_ref().expect("a result by pair");
    rows.resize(by_pair.rows as usize, bits_of(0, by_pair.element_bits));
    rows
}

fn agrees(plan: &JoinPlan, tables: [&[Row]; 2]) -> [Outcome; 2] {
    let outcomes = run(plan, tables);
    check(plan, tables, &outcomes);
    outcomes
}

/// Checks that the outcomes are those of a plain join of these tables.
fn check(plan: &JoinPlan, tables: [&[Row]; 2], outcomes: &[Outcome; 2]) {
    let placer = usize::from(plan.placer == JoinSide::Right);
    let expected = plain(plan, tables[placer], tables[1 - placer]);
    let rows = outcomes[placer].outputs.get("rows");
    let rows = rows.map(tacit::Value::elements).unwrap_or_default();
    let rows: Vec<_> = rows.iter().map(|row| row.to_bits().to_vec()).collect();
    assert_eq!(rows, expected);
    assert!(!outcomes[1 - placer].outputs.contains_key("rows"));
    for outcome in outcomes {
        assert_eq!(outcome.outputs["first"].to_text(), "165");
        assert_eq!(outcome.outputs["last"].to_text(), "60");
        assert_eq!(outcome.threat_model.to_string(), "semi-honest");
    }
}

/// A generator of numbers that look random and are the same in each test.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    /// Draws a table of this many rows, with keys below `keys`, each at most `most` times.
    fn table(&mut self, rows: usize, keys: u64, most: usize, width: u64) -> Vec<Row> {
        let mut table: Vec<Row> = Vec::new();
        while table.len() < rows {
            let key = u128::from(self.below(keys)) << 100;
            if table.iter().filter(|(other, _)| *other == key).count() < most {
                table.push((key, self.below(1 << width)));
            }
        }
        table
    }
}

#[test]
fn pairs_are_those_of_a_plain_join() {
    use JoinSide::{Left, Right};
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    for (keys, rows, most, placer) in [
        ([1, 1], [1, 1], 1, Left),
        ([1, 1], [0, 1], 1, Right),
        ([40, 60], [40, 55], 1, Left),
        ([60, 12], [60, 12], 1, Right),
        ([30, 20], [25, 60], 4, Left),
        ([3, 1], [2, 2], 2, Left),
    ] {
        let plan = plan(keys, most, placer);
        let most = most as usize;
        let left = draw.table(rows[0], 2 * keys[0], 1, ROW_BITS[0]);
        let right = draw.table(rows[1], keys[1], most, ROW_BITS[1]);
        agrees(&plan, [&left, &right]);
    }
}

/// The bins of a large join are cut into spans, each with inputs of its own. The stage makes the
/// bits of all spans in one piece.
#[test]
fn spans_of_bins_are_one_join() {
    let mut draw = Draw(24);
    for placer in [JoinSide::Left, JoinSide::Right] {
        let mut plan = plan([50, 40], 1, placer);
        let tables = [0, 1].map(|side| draw.table(40, 70, 1, ROW_BITS[side]));
        let bins = plan.bin_count();
        for cut in [vec![64, 64, bins - 128], vec![1, bins - 1]] {
            plan.spans = spans(&cut);
            agrees(&plan, [&tables[0], &tables[1]]);
        }
    }
}

/// Keys that differ in one bit do not match, wherever the bit is. All keys may be common, or none.
#[test]
fn all_none_and_nearly_equal_keys() {
    let plan = plan([64, 64], 1, JoinSide::Left);
    let rows = |key: &dyn Fn(u32) -> u128| -> Vec<Row> {
        (0..64).map(|i| (key(i), u64::from(i) * 3)).collect()
    };
    let mine = rows(&|i| 1 << (2 * i));
    agrees(&plan, [&mine, &mine]);
    agrees(
        &plan,
        [&mine, &rows(&|i| 1 << (2 * i) | 1 << ((2 * i + 41) % 128))],
    );
}

/// If the agreed number of keys of a table is zero, there is no stage and no message of it.
#[test]
fn a_table_that_is_agreed_to_be_empty_has_no_stage() {
    for (keys, tables) in [([0, 3], [0, 3]), ([2, 0], [2, 0])] {
        let plan = plan(keys, 1, JoinSide::Left);
        let mut draw = Draw(7);
        let [left, right] = [0, 1].map(|side| draw.table(tables[side], 9, 1, ROW_BITS[side]));
        for outcome in agrees(&plan, [&left, &right]) {
            let mut phases = outcome.cost.phases.iter();
            assert!(phases.all(|one| one.phase != Phase::Match));
        }
    }
}

/// A join must not leak through its messages: their number and lengths depend on the agreed sizes,
/// and not on the tables.
#[test]
fn messages_show_the_agreed_sizes_alone() {
    let mut draw = Draw(99);
    let plan = plan([50, 40], 3, JoinSide::Left);
    let mut seen = Vec::new();
    let full = [
        draw.table(50, 60, 1, ROW_BITS[0]),
        draw.table(120, 40, 3, ROW_BITS[1]),
    ];
    let one = [vec![(1, 1)], vec![(1, 2)]];
    let none = [vec![], vec![]];
    let apart = [
        draw.table(50, 60, 1, ROW_BITS[0]),
        draw.table(40, 40, 1, ROW_BITS[1])
            .into_iter()
            .map(|(key, row)| (key + 1, row))
            .collect(),
    ];
    for tables in [full, one, none, apart] {
        let outcomes = agrees(&plan, [&tables[0], &tables[1]]);
        let traffic = outcomes.map(|outcome| {
            let phases = outcome.cost.phases.iter();
            let of_phase = phases.map(|one| {
                let (sent, received) = (one.traffic.sent, one.traffic.received);
                (
                    one.phase,
                    sent.bytes,
                    sent.frames,
                    received.bytes,
                    received.frames,
                )
            });
            of_phase.collect::<Vec<_>>()
        });
        assert!(
            traffic[0]
                .iter()
                .any(|one| one.0 == Phase::Match && one.1 > 0)
        );
        seen.push(traffic);
    }
    assert!(seen.windows(2).all(|two| two[0] == two[1]), "{seen:?}");
}

/// A session runs several joins, each with its own stage and tag.
#[test]
fn runs_of_a_session_have_stages_of_their_own() {
    let plan = plan([20, 20], 1, JoinSide::Left);
    let function = function(&plan);
    let mut draw = Draw(5);
    let tables = [0, 1].map(|side| draw.table(20, 40, 1, ROW_BITS[side]));
    let ended = in_memory(|party, session| {
        let mut results = Vec::new();
        for _ in 0..3 {
            let table = table(&plan, party, &tables[party])?;
            results.push(job(&function, &plan, party, &table).run(session)?.outputs);
        }
        Ok(results)
    });
    for results in ended.map(|ended| ended.expect("results")) {
        assert!(results.windows(2).all(|two| two[0] == two[1]));
    }
}

/// The progress goes from the first OT of the stage to the last gate of the function, at both
/// parties.
#[test]
fn progress_covers_the_stage_and_the_function() {
    let plan = plan([1500, 900], 1, JoinSide::Left);
    let function = function(&plan);
    let mut draw = Draw(11);
    let tables = [0, 1].map(|side| draw.table(200, 400, 1, ROW_BITS[side]));
    let ended = in_memory(|party, session| {
        let table = table(&plan, party, &tables[party])?;
        let mut seen = Vec::new();
        job(&function, &plan, party, &table)
            .watch(|at| seen.push(at))
            .run(session)?;
        Ok(seen)
    });
    let stage = plan.sizes.shards * plan.sizes.vole_ots();
    for seen in ended.map(|ended| ended.expect("a run")) {
        let (first, last) = (seen[0], seen[seen.len() - 1]);
        assert!(first.done_ands > 0 && first.done_ands < stage, "{first:?}");
        assert!(
            last.done_ands > stage && last.done_ands < last.total_ands,
            "{last:?}"
        );
        assert!(seen.is_sorted_by_key(|at| at.done_ands));
        assert!(seen.iter().all(|at| at.total_ands == first.total_ands));
        assert!(seen.iter().any(|at| at.done_ands == stage));
    }
}
