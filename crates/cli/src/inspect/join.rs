//! The output of `tacit inspect` about a join: sizes, roles, bytes and failures. All of it follows
//! from the params and the program.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};
use tacit::cost::gmw_bytes_from_stock;
use tacit::stock::CrossPreparation;
use tacit::{Error, Function, Role};
use tacit_language::{JoinPlan, TypedFunction};

use crate::output::counted;
use crate::report::shown_bytes;

/// The stage fails, or takes two different keys for equal, with probability below 2 to the minus
/// this number.
const FAILURE_BITS: u32 = 40;

/// Returns the bytes of a message of all shards.
fn of_shards(plan: &JoinPlan, bytes: u64) -> u64 {
    match plan.bin_count() {
        0 => 0,
        _ => plan.sizes.shards * bytes,
    }
}

/// The crosses that a run takes from the stock, and their bytes.
struct FromStock {
    crosses: u64,
    /// The bytes of the crosses on each party's disk, the garbler's first.
    disk_bytes: [u64; 2],
    /// The bytes that both parties send after the stage.
    sent_bytes: u64,
}

impl FromStock {
    fn of(function: &Function) -> Result<Self, Error> {
        let order = |role| CrossPreparation::for_runs(role, function, 1);
        let (garbler, evaluator) = (order(Role::Garbler)?, order(Role::Evaluator)?);
        Ok(Self {
            crosses: garbler.count(),
            disk_bytes: [garbler.disk_bytes(), evaluator.disk_bytes()],
            sent_bytes: gmw_bytes_from_stock(function)?,
        })
    }

    fn text(&self) -> String {
        let [garbler, evaluator] = self.disk_bytes.map(shown_bytes);
        format!(
            "  then {} crosses: from stock, {garbler} of the garbler's disk and {evaluator} of the \
             evaluator's, a run sends {} after the hint",
            self.crosses,
            shown_bytes(self.sent_bytes)
        )
    }
}

/// Returns the lines for a person.
pub(crate) fn text(typed: &TypedFunction, plan: &JoinPlan) -> String {
    let party = |owner| {
        let signature = typed.signature();
        signature.party_name(signature.party_of(owner))
    };
    let (placers, programmers) = (plan.placers(), plan.programmers());
    let sizes = &plan.sizes;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "join of {} and {}, by gmw alone, semi-honest",
        plan.left.input, plan.right.input
    );
    let _ = writeln!(
        text,
        "  {} places {} keys with rows of {} bits, and has the bins; {} programs {} keys with {} \
         bits each",
        party(placers.owner),
        placers.most_keys,
        sizes.placer_bits,
        party(programmers.owner),
        programmers.most_keys,
        sizes.payload_bits
    );
    let _ = writeln!(
        text,
        "  {} bins in {}, tags of {} bits",
        plan.bin_count(),
        counted(sizes.shards as usize, "shard"),
        sizes.tag_bits
    );
    let _ = writeln!(
        text,
        "  ask {} bytes, hint {} bytes, {} oblivious transfers for them",
        of_shards(plan, sizes.ask_bytes()),
        of_shards(plan, sizes.hint_bytes()),
        of_shards(plan, sizes.vole_ots())
    );
    if let Ok(from_stock) = FromStock::of(typed.function()) {
        let _ = writeln!(text, "{}", from_stock.text());
    }
    let _ = writeln!(
        text,
        "  fails, or pairs rows of two keys, with less than 2^-{FAILURE_BITS}"
    );
    if let Some(by_pair) = &plan.by_pair {
        let _ = writeln!(
            text,
            "  {} has a value for each of {} rows of {}",
            by_pair.output, by_pair.rows, placers.input
        );
    }
    text
}

/// Returns the JSON for a program.
pub(crate) fn json(typed: &TypedFunction, plan: &JoinPlan) -> Json {
    let from_stock = FromStock::of(typed.function()).ok().map(|from_stock| {
        let [garbler, evaluator] = from_stock.disk_bytes;
        json!({
            "crosses": from_stock.crosses,
            "garbler_disk_bytes": garbler,
            "evaluator_disk_bytes": evaluator,
            "sent_bytes": from_stock.sent_bytes,
        })
    });
    let (placers, programmers) = (plan.placers(), plan.programmers());
    let sizes = &plan.sizes;
    json!({
        "placer": {
            "input": placers.input,
            "role": placers.owner.name(),
            "keys": placers.most_keys,
        },
        "programmer": {
            "input": programmers.input,
            "role": programmers.owner.name(),
            "keys": programmers.most_keys,
        },
        "rows_of_key": plan.most_rows_of_key,
        "shards": sizes.shards,
        "bins": plan.bin_count(),
        "tag_bits": sizes.tag_bits,
        "row_bits": sizes.placer_bits,
        "payload_bits": sizes.payload_bits,
        "ask_bytes": of_shards(plan, sizes.ask_bytes()),
        "hint_bytes": of_shards(plan, sizes.hint_bytes()),
        "oblivious_transfers": of_shards(plan, sizes.vole_ots()),
        "from_stock": from_stock,
        "failure_bits": FAILURE_BITS,
        "threat_model": "semi-honest",
    })
}
