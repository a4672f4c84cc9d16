//! What the model shows, and the faults that it must find.

use super::explore::{Graph, explore};
use super::{Action, Broken, EVALUATOR, GARBLER, Life, NUMBERS, Party, Setup, State};

/// A fault of the protocol or of a stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The evaluator names a number before its mark is durable.
    LeasedBeforeDurable,
    /// Only the evaluator writes a mark.
    GarblerUnmarked,
    /// The index gets the mark before the keys do.
    LedgerFirst,
    /// The witness notes a change before it is durable.
    NoteFirst,
    /// A stock opens although the witness knows a later state.
    WitnessIgnored,
    /// A party keeps its lower mark when it meets the other.
    MarkNotRaised,
    /// Two sessions meet at the same time.
    NoRightToMeet,
    /// A party takes a meeting for confirmed once it has recorded it itself.
    ConfirmedEarly,
    /// A session that ends keeps its right to meet.
    RightOutlivesSession,
    /// What the garbler passed over can be taken twice.
    PassedKept,
}

/// The states of a model, and the first promise that it breaks, with the way there.
type Checked = (Graph<State, Action>, Option<(Broken, Vec<Action>)>);

/// Explores a model, and returns its states with the first broken promise and the way there.
fn check(setup: Setup) -> Checked {
    let graph = explore(
        Setup::start(),
        |state| setup.next(state),
        |state| state.broken.is_some(),
    );
    let broken = graph.states.iter().position(|state| state.broken.is_some());
    let broken = broken.map(|number| (graph.states[number].broken, number));
    let stuck = || {
        let must = |state: &State| setup.hostile.is_none() && must_get_on(&setup, state);
        let number = graph.stuck(must, |number| gets_on(&graph, number), is_ordinary)?;
        Some((Some(Broken::Stuck), number))
    };
    let found = broken.or_else(stuck);
    let found = found.and_then(|(broken, number)| Some((broken?, graph.way_to(number))));
    (graph, found)
}

/// Whether a step needs no further disturbance.
fn is_ordinary(action: &Action) -> bool {
    matches!(
        action,
        Action::Begin { .. } | Action::Step { .. } | Action::Close { .. } | Action::Open { .. }
    )
}

/// Whether both parties use a further number by the next step.
fn gets_on(graph: &Graph<State, Action>, number: usize) -> bool {
    let used = |number: usize| graph.states[number].parties[EVALUATOR].used;
    let mut next = graph.steps[number].iter();
    next.any(|(_, to)| used(*to) != used(number))
}

/// Whether the parties must be able to use a further number: numbers and a session are left, and no
/// operator has to act because a party was restored.
fn must_get_on(setup: &Setup, state: &State) -> bool {
    let [garbler, evaluator] = &state.parties;
    let is_short = |party: &Party, of: &Party| party.disk.meeting < of.disk.confirmed;
    let is_parted = is_short(garbler, evaluator) || is_short(evaluator, garbler);
    let is_refused = |party: &Party| party.life == Life::Refused || party.is_old;
    let needs_operator = is_parted || state.parties.iter().any(is_refused);
    let has_numbers = state
        .parties
        .iter()
        .all(|party| party.disk.mark() < NUMBERS);
    let is_restored = state.parties.iter().any(|party| party.is_restored);
    state.started < setup.sessions && has_numbers && !(is_restored && needs_operator)
}

/// Checks models, and returns the number of their states.
fn check_all(models: &[Setup]) -> usize {
    let states = models.iter().map(|setup| {
        let (graph, found) = check(*setup);
        assert_eq!(found, None, "{setup:?}");
        graph.states.len()
    });
    states.sum()
}

#[test]
fn no_number_is_used_twice_and_no_pair_is_stuck_in_any_order() {
    let states = check_all(&[
        Setup::honest(3, 1, 0),
        Setup::honest(2, 2, 0),
        Setup::honest(2, 0, 1),
        Setup::hostile(EVALUATOR, 2, 1, 1),
        Setup::hostile(GARBLER, 2, 1, 1),
    ]);
    assert!(states > 500_000, "{states} states");
}

#[test]
#[ignore = "long: larger models"]
fn no_number_is_used_twice_in_larger_models() {
    let states = check_all(&[
        Setup::honest(3, 2, 0),
        Setup::honest(2, 1, 1),
        Setup::honest(3, 0, 1),
        Setup::hostile(EVALUATOR, 3, 2, 1),
        Setup::hostile(GARBLER, 3, 2, 1),
    ]);
    println!("{{\"states\":{states},\"all_held\":true}}");
}

/// A model that finds no fault shows nothing.
#[test]
fn every_fault_breaks_a_promise() {
    let cut = Setup::honest(2, 1, 0);
    let together = Setup::honest(2, 0, 0);
    let restored = Setup::honest(2, 0, 1);
    let [against_garbler, against_evaluator] =
        [EVALUATOR, GARBLER].map(|peer| Setup::hostile(peer, 2, 1, 1));
    for (fault, setup, breaks) in [
        (Fault::LeasedBeforeDurable, cut, Broken::LeasedTwice),
        (
            Fault::LeasedBeforeDurable,
            against_evaluator,
            Broken::LeasedTwice,
        ),
        (Fault::GarblerUnmarked, restored, Broken::Reused),
        (Fault::GarblerUnmarked, against_garbler, Broken::Reused),
        (Fault::LedgerFirst, cut, Broken::FalseAlarm),
        (Fault::NoteFirst, cut, Broken::FalseAlarm),
        (Fault::WitnessIgnored, against_garbler, Broken::Reused),
        (Fault::WitnessIgnored, against_evaluator, Broken::Reused),
        (Fault::MarkNotRaised, restored, Broken::Reused),
        (Fault::NoRightToMeet, together, Broken::FalseAlarm),
        (Fault::ConfirmedEarly, together, Broken::FalseAlarm),
        (Fault::RightOutlivesSession, together, Broken::Stuck),
        (Fault::PassedKept, against_garbler, Broken::Reused),
    ] {
        let fault = Some(fault);
        let Some((broken, way)) = check(Setup { fault, ..setup }).1 else {
            panic!("{fault:?} breaks nothing");
        };
        assert_eq!(broken, breaks, "{fault:?}: {way:?}");
    }
}
