//! Joins whose crosses were prepared before anybody had a table.

use tacit::cost::{FromStock, gmw_bytes_from_stock};
use tacit::protocols::Protocol;
use tacit::stock::{CrossPreparation, Stocks};

use super::*;
use crate::pair::{Both, Pair};

/// The most bytes of what the parties send before a run without crosses ends: they agree on the
/// run, and say what they have in stock.
const MOST_AGREED_BYTES: u64 = 500;

fn each<T>(ran: Both<T>) -> [T; 2] {
    ran.map(|ran| ran.unwrap_or_else(|error| panic!("{error}")))
}

/// Runs a join of these tables over each party's stock, or from it alone.
fn run_stocked(
    parties: &Pair,
    plan: &JoinPlan,
    tables: [&[Row]; 2],
    alone: bool,
) -> Both<(Result<Outcome, Error>, u64)> {
    let function = function(plan);
    parties.both(|party, session: &mut Session, stocks: &Stocks| {
        let table = table(plan, party, tables[party])?;
        let job = job(&function, plan, party, &table)
            .by(Protocol::Gmw, Some(stocks))
            .unwrap();
        let before = session.traffic();
        let job = if alone { job.from_stock_alone() } else { job };
        let ran = job.run(session);
        let sent = session.traffic() - before;
        Ok((ran, sent.sent.bytes + sent.received.bytes))
    })
}

/// One order serves a smaller join and then one of its own sizes. The bytes of a run from stock are
/// known before, and those of the order nearly so.
#[test]
fn joins_take_the_crosses_that_were_prepared_for_their_sizes() {
    let parties = Pair::in_memory();
    let most = plan([60, 50], 1, JoinSide::Right);
    let of_most = function(&most);
    let order = |party: usize| CrossPreparation::for_runs(ROLES[party], &of_most, 2);
    let estimate = order(0).expect("an order").sent_bytes(None, None);
    let prepared = parties.both(|party, session, stocks| order(party)?.run(session, stocks));
    for prepared in each(prepared) {
        let traffic = prepared.traffic;
        let sent = traffic.sent.bytes + traffic.received.bytes;
        assert!(
            sent.abs_diff(estimate) < estimate / 20,
            "{sent}, {estimate}"
        );
    }
    let mut smaller = plan([31, 8], 1, JoinSide::Right);
    // Spans change no call, and so no cross.
    smaller.spans = spans(&[64, 128, smaller.bin_count() - 192]);
    let mut draw = Draw(77);
    for plan in [&smaller, &most] {
        let keys = [plan.left.most_keys, plan.right.most_keys];
        let tables = [0, 1].map(|side| draw.table(keys[side] as usize - 1, 70, 1, ROW_BITS[side]));
        let tables = tables.each_ref().map(Vec::as_slice);
        let ran = each(run_stocked(&parties, plan, tables, true));
        let outcomes = ran.map(|(ran, _)| ran.expect("a run from stock"));
        check(plan, tables, &outcomes);
        let expected = gmw_bytes_from_stock(&function(plan)).expect("a function of gmw");
        for outcome in &outcomes {
            assert_eq!(outcome.cost.from_stock, Some(FromStock::Crosses));
            let run = outcome.cost.phases.last().expect("a phase");
            assert_eq!(run.phase, Phase::Run);
            assert_eq!(
                run.traffic.sent.bytes + run.traffic.received.bytes,
                expected
            );
        }
    }
}

/// A run that must not make crosses, and has none, ends before its stage: that is most of its
/// bytes, and tells of the tables' sizes and times. A run that may make them does.
#[test]
fn a_join_without_crosses_ends_before_its_stage() {
    let parties = Pair::in_memory();
    let plan = plan([40, 40], 1, JoinSide::Left);
    let mut draw = Draw(3);
    let tables = [0, 1].map(|side| draw.table(40, 60, 1, ROW_BITS[side]));
    let tables = tables.each_ref().map(Vec::as_slice);
    for (ran, sent) in each(run_stocked(&parties, &plan, tables, true)) {
        let error = ran.expect_err("nothing is in stock");
        assert_eq!(error.category(), Category::Stock, "{error}");
        assert!(sent < MOST_AGREED_BYTES, "{sent}");
    }
    let ran = each(run_stocked(&parties, &plan, tables, false));
    let outcomes = ran.map(|(ran, _)| ran.expect("a run that makes crosses"));
    check(&plan, tables, &outcomes);
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.cost.from_stock.is_none())
    );
}
