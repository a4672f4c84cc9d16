//! A man in the middle who cuts or changes a TLS connection at a chosen byte.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use tacit_net::{Channel, Identity, NetError, Settings, tls};

/// The direction of the bytes that are tampered with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    ToServer,
    ToClient,
}

/// The damage to the byte at a place.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Flip,
    Cut,
}

type Plan = (Way, usize, Harm);

/// The message that a side received, or its error.
type Outcome = Result<Vec<u8>, NetError>;

/// Copies `from` to `to` until the end, and does `harm` at its place. Returns the number of bytes
/// copied.
fn carry(mut from: TcpStream, mut to: TcpStream, harm: Option<(usize, Harm)>) -> usize {
    let (mut done, mut buffer) = (0, [0; 4096]);
    loop {
        let Ok(count @ 1..) = from.read(&mut buffer) else {
            let _ = to.shutdown(Shutdown::Write);
            return done;
        };
        let mut end = count;
        if let Some((place, harm)) = harm
            && (done..done + count).contains(&place)
        {
            match harm {
                Harm::Flip => buffer[place - done] ^= 1,
                Harm::Cut => end = place - done,
            }
        }
        let _ = to.write_all(&buffer[..end]);
        done += end;
        if end < count {
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
            return done;
        }
    }
}

/// Carries one connection to `server` and back. Returns the bytes in each direction.
fn stand_between(listener: &TcpListener, server: SocketAddr, plan: Option<Plan>) -> [usize; 2] {
    let (near, _) = listener.accept().unwrap();
    let far = TcpStream::connect(server).unwrap();
    let (near2, far2) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    let harm = |way| plan.and_then(|(on, place, harm)| (on == way).then_some((place, harm)));
    let (forth, back) = (harm(Way::ToServer), harm(Way::ToClient));
    thread::scope(|scope| {
        let forth = scope.spawn(move || carry(near, far, forth));
        let back = carry(far2, near2, back);
        [forth.join().unwrap(), back]
    })
}

const QUESTION: &[u8] = &[1; 300];
const ANSWER: &[u8] = &[2; 40_000];

fn ask(channel: Result<Channel, NetError>) -> Outcome {
    let mut channel = channel?;
    channel.send(1, QUESTION)?;
    let answer = channel.receive(ANSWER.len())?.payload.to_vec();
    channel.close()?;
    Ok(answer)
}

fn answer(channel: Result<Channel, NetError>) -> Outcome {
    let mut channel = channel?;
    let question = channel.receive(QUESTION.len())?.payload.to_vec();
    channel.send(1, ANSWER)?;
    channel.close()?;
    Ok(question)
}

/// Returns the outcomes of client and server, and the bytes in each direction.
fn run(plan: Option<Plan>) -> (Outcome, Outcome, [usize; 2]) {
    // A changed length makes a side wait for bytes that never come; an undisturbed connection has
    // time.
    let patience = match plan {
        Some(_) => Duration::from_millis(300),
        None => Duration::from_secs(20),
    };
    let settings = Settings {
        handshake_timeout: patience,
        timeout: patience,
        ..Settings::default()
    };
    let (client, server) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let listener = tls::Listener::bind("127.0.0.1:0").unwrap();
    let (middle, target) = (
        TcpListener::bind("127.0.0.1:0").unwrap(),
        listener.local_address(),
    );
    let address = middle.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        let between = scope.spawn(|| stand_between(&middle, target, plan));
        let there =
            scope.spawn(|| answer(listener.accept(&server, &[client.fingerprint()], &settings)));
        let here = ask(tls::connect(
            &address,
            &client,
            &server.fingerprint(),
            &settings,
        ));
        (here, there.join().unwrap(), between.join().unwrap())
    })
}

/// Checks that nobody receives bytes that the other did not send, and that the first failure gives
/// the reason.
fn assert_harmless(plan: Plan) {
    let (here, there, _) = run(Some(plan));
    for (result, sent) in [(&here, ANSWER), (&there, QUESTION)] {
        match result {
            Ok(bytes) => assert!(bytes == sent, "{plan:?}"),
            Err(
                NetError::Closed { .. }
                | NetError::Tls { .. }
                | NetError::Timeout { .. }
                | NetError::Refused { .. }
                | NetError::WrongIdentity { .. },
            ) => {}
            Err(other) => panic!("{plan:?}: {other:?}"),
        }
    }
    // The client's stream ends with the answer, so a cut before its end must be noticed.
    if let (Way::ToClient, _, Harm::Cut) = plan {
        assert!(here.is_err(), "{plan:?}");
    }
}

/// Returns some places in `total` bytes: the first few, and then every n-th.
fn places(total: usize, step: usize) -> impl Iterator<Item = usize> {
    (0..12).chain((12..total).step_by(step))
}

#[test]
fn a_connection_cut_anywhere_ends_in_an_error() {
    let (here, there, [forth, back]) = run(None);
    assert!(here.is_ok() && there.is_ok());
    for place in places(forth.min(1200), 97) {
        assert_harmless((Way::ToServer, place, Harm::Cut));
    }
    // The close alert at the end, 24 bytes, is not waited for.
    for place in places(back - 100, 2003) {
        assert_harmless((Way::ToClient, place, Harm::Cut));
    }
}

#[test]
fn a_bit_changed_anywhere_changes_no_message() {
    let (_, _, [forth, back]) = run(None);
    for place in places(forth, 53) {
        assert_harmless((Way::ToServer, place, Harm::Flip));
    }
    for place in places(back, 1009) {
        assert_harmless((Way::ToClient, place, Harm::Flip));
    }
}
