//! Parties as threads: their reports, and the handling of their failures.

use super::*;
use crate::Options;

/// Sends `count` messages of 100,000 bytes from the garbler, each of which is answered, after
/// `count` that are not. So messages wait in buffers while the parties meet.
fn talk(role: Role, wire: &mut Wire, count: usize) -> Result<Vec<Step>, Error> {
    let payload = vec![7; 100_000];
    let mut steps = Vec::new();
    for answered in [false, true, false] {
        let ((), step) = wire.step(|channel| {
            for _ in 0..count {
                match role {
                    Role::Garbler => channel.send(1, &payload)?,
                    Role::Evaluator => drop(channel.receive(payload.len())?),
                }
                match role {
                    Role::Garbler if answered => drop(channel.receive(1)?),
                    Role::Evaluator if answered => channel.send(1, &[1])?,
                    _ => (),
                }
            }
            Ok(())
        })?;
        steps.push(step);
    }
    Ok(steps)
}

fn wires() -> [Wire; 2] {
    let (a, b) = tacit_net::memory::pair();
    let (c, d) = tacit_net::memory::pair();
    [Wire::new(a, c), Wire::new(b, d)]
}

#[test]
fn steps_count_what_is_theirs() {
    let [mut garbler, mut evaluator] = wires();
    let (garbler, evaluator) = std::thread::scope(|scope| {
        let garbler = scope.spawn(|| talk(Role::Garbler, &mut garbler, 20).unwrap());
        let evaluator = talk(Role::Evaluator, &mut evaluator, 20).unwrap();
        (garbler.join().unwrap(), evaluator)
    });
    for step in [0, 2] {
        // The message before went in the other direction, or in the same: this is a round in either
        // case.
        assert_eq!(
            (garbler[step].sent_bytes, garbler[step].rounds),
            (20 * 100_005, 1)
        );
        assert_eq!((evaluator[step].sent_bytes, evaluator[step].rounds), (0, 1));
    }
    assert_eq!((garbler[1].rounds, evaluator[1].rounds), (40, 40));
    assert_eq!(evaluator[1].sent_bytes, 20 * 6);
}

#[test]
fn parties_meet_however_fast_one_of_them_is() {
    let [mut first, mut second] = wires();
    std::thread::scope(|scope| {
        scope.spawn(|| (0..10_000).for_each(|_| first.control.meet().unwrap()));
        (0..10_000).for_each(|_| second.control.meet().unwrap());
    });
}

#[test]
fn an_order_that_is_none_is_answered_with_a_failure() {
    let mut answers = Vec::new();
    party(&mut &b"{\"task\": 7}\n"[..], &mut answers).unwrap();
    let answer = String::from_utf8(answers).unwrap();
    assert!(
        answer.starts_with("{\"failed\":\"not a record or task"),
        "{answer}"
    );
}

#[test]
fn a_command_that_does_not_answer_is_named() {
    for (command, expected) in [
        ("/bin/true", "without a word"),
        ("/no/such", "cannot start"),
    ] {
        let options = Options {
            party_command: Some(vec![command.into()]),
            ..Options::default()
        };
        let task = crate::ot::Exchanged::least();
        let error = both(&task, PartyLink(None), &options)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
}
