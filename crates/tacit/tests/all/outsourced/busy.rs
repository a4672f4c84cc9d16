//! Simultaneous runs of three parties in one chain, without a service.

use std::thread;

use super::{Parties, function};

#[test]
fn runs_of_three_of_one_chain_take_turns() {
    let parties = &Parties::new(1);
    let cells = [("cells", 2), ("id_bits", 2)];
    let [start, set] =
        ["start", "set"].map(|operation| function(&format!("friend-map-{operation}"), &cells));
    parties.chained(&start, 0, &[], &[]).ends_well();
    let moves = || parties.chained(&set, 0, &[("id", 3)], &[("cell", 1)]);
    thread::scope(|scope| {
        let runs = [(); 3].map(|()| scope.spawn(|| moves().ends_well()));
        for run in runs {
            run.join().expect("it had its turn");
        }
    });
}
