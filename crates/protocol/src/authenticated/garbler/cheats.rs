//! A garbler that garbles another function and continues as if nothing were wrong.

use core::cell::Cell;

use tacit_function::{Recipient, Role};

use crate::authenticated::Caught;
use crate::authenticated::tests::{changed_run, component, count, epochs, terms};
use crate::error::cheated;
use crate::message::Kind;

thread_local! {
    /// Whether this thread's garblers skip the check of the evaluator's labels.
    pub(in crate::authenticated) static IGNORES_LABELS: Cell<bool> = const { Cell::new(false) };
}

/// The garbler changes its tables, skips the check of the evaluator's labels, and sends the proof
/// of an honest garbler.
#[test]
fn another_function_has_no_proof() {
    let function = component("adder", Recipient::Both);
    let inputs = vec![true; function.input_bits(Role::Garbler)];
    IGNORES_LABELS.set(true);
    for _ in 0..8 {
        let (ended, sent) = changed_run(
            terms(&function, 9),
            [&inputs; 2],
            epochs(),
            &mut |_, kind, payload| {
                if kind == Kind::AuthenticatedTables {
                    // Change all tables, so that some changed row is used.
                    payload.iter_mut().for_each(|byte| *byte ^= 0x10);
                }
            },
        );
        let found = ended.map(|_| ());
        assert_eq!(found, Err((Role::Evaluator, cheated(Caught::GateProof))));
        assert_eq!(count(&sent, Role::Garbler, Kind::GateProof), 1);
        assert_eq!(count(&sent, Role::Evaluator, Kind::ResultOpening), 0);
    }
    IGNORES_LABELS.set(false);
}
