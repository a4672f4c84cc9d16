//! Honest pairings, and those of a man in the middle, a replayer and a latecomer.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use super::exchange::{Accepting, Invited, commitment};
use super::*;
use crate::memory;
use crate::relay::Guest;

const EXPIRES: u64 = 1_800_000_000;

fn identity() -> Identity {
    Identity::generate().unwrap()
}

fn invitation(by: &Identity) -> Invitation {
    Invitation::new(
        by.fingerprint(),
        Route::Direct,
        "alice.example:7000",
        EXPIRES,
    )
    .unwrap()
}

fn in_time() -> u64 {
    EXPIRES - 1
}

#[test]
fn a_clock_before_1970_is_an_error() {
    let before = UNIX_EPOCH - Duration::from_secs(1);
    let error = seconds_since_1970(before).unwrap_err();
    assert!(matches!(error, NetError::Clock), "{error}");
    let after = UNIX_EPOCH + Duration::from_secs(5);
    assert_eq!(seconds_since_1970(after).unwrap(), 5);
}

struct Alice {
    identity: Identity,
    invitation: Invitation,
    inviter: Inviter,
    folder: tempfile::TempDir,
}

impl Alice {
    fn new(clock: fn() -> u64) -> Self {
        let (identity, folder) = (identity(), tempfile::tempdir().unwrap());
        let invitation = invitation(&identity);
        let ledger = Ledger::open(folder.path()).unwrap();
        let inviter = Inviter::by_clock(invitation.clone(), ledger, clock).unwrap();
        Self {
            identity,
            invitation,
            inviter,
            folder,
        }
    }

    /// Meets `other` at the other end of a connection.
    fn meets<T: Send>(
        &self,
        other: impl FnOnce(Transport) -> T + Send,
    ) -> (Result<UnconfirmedPairing, NetError>, T) {
        let (here, there) = memory::raw_pair(1 << 16);
        thread::scope(|scope| {
            let other = scope.spawn(|| other(there.into_transport()));
            let settings = Settings::default();
            let met = self
                .inviter
                .meet(here.into_transport(), &self.identity, &settings);
            (met, other.join().unwrap())
        })
    }

    fn meets_bob(&self, with: &Invitation) -> [Result<UnconfirmedPairing, NetError>; 2] {
        let bob = Bob::new();
        let (alice, bob) = self.meets(|transport| bob.accepts(transport, with));
        [alice, bob]
    }
}

struct Bob {
    identity: Identity,
    folder: tempfile::TempDir,
}

impl Bob {
    fn new() -> Self {
        let (identity, folder) = (identity(), tempfile::tempdir().unwrap());
        Self { identity, folder }
    }

    fn accepts(
        &self,
        transport: Transport,
        with: &Invitation,
    ) -> Result<UnconfirmedPairing, NetError> {
        let ledger = Ledger::open(self.folder.path()).unwrap();
        let settings = Settings::default();
        accept_over(transport, with, &ledger, &self.identity, &settings)
    }
}

fn refusals(met: [Result<UnconfirmedPairing, NetError>; 2]) -> [Refusal; 2] {
    met.map(|met| match met {
        Err(NetError::Pairing(refusal)) => refusal,
        other => panic!("{other:?}"),
    })
}

/// Returns `invitation` with another expiry.
fn changed(invitation: &Invitation, expires: u64) -> Invitation {
    invitation.clone().with_expires(expires)
}

#[test]
fn both_hear_each_others_codes_and_are_paired() {
    let alice = Alice::new(in_time);
    let [a, b] = alice.meets_bob(&alice.invitation).map(Result::unwrap);
    let codes = [&a, &b].map(|met| met.own_code().to_string());
    thread::scope(|scope| {
        let a = scope.spawn(|| a.confirm(&codes[1]));
        let b = b.confirm(&codes[0].replace(' ', "-")).unwrap();
        let a = a.join().unwrap().unwrap();
        assert_eq!(b.peer, alice.identity.fingerprint());
        assert_eq!(a.room, b.room);
        assert_ne!(a.room, alice.invitation.room());
    });
}

#[test]
fn a_wrong_code_ends_it_at_both() {
    let alice = Alice::new(in_time);
    let [a, b] = alice.meets_bob(&alice.invitation).map(Result::unwrap);
    let code = a.own_code().to_string();
    thread::scope(|scope| {
        let a = scope.spawn(|| a.confirm("no code"));
        let b = b.confirm(&code);
        let differs = |error| matches!(error, NetError::Pairing(Refusal::OtherCode));
        assert!(differs(b.unwrap_err()));
        assert!(differs(a.join().unwrap().unwrap_err()));
    });
}

#[test]
fn an_invitation_is_good_once() {
    let alice = Alice::new(in_time);
    let first = alice.meets_bob(&alice.invitation);
    assert!(first.iter().all(Result::is_ok));
    let again = alice.meets_bob(&alice.invitation);
    assert_eq!(refusals(again), [Refusal::Used; 2]);
}

/// A page keeps its invitations in memory, and the two compare no codes.
#[test]
fn a_link_is_good_once_and_for_who_knows_its_secret() {
    let mut alice = Alice::new(in_time);
    let by = alice.identity.fingerprint();
    let link = || {
        let url = "wss://relay.example/";
        Invitation::new(by, Route::RelayOfPages, url, EXPIRES).unwrap()
    };
    alice.invitation = link();
    let ledger = Ledger::in_memory();
    let inviter = Inviter::by_clock(alice.invitation.clone(), ledger, in_time);
    alice.inviter = inviter.unwrap();
    assert_eq!(refusals(alice.meets_bob(&link())), [Refusal::Unknown; 2]);
    let bob = Bob::new();
    let (here, there) = alice.meets(|transport| bob.accepts(transport, &alice.invitation));
    let peers = [here, there].map(|met| met.unwrap().without_codes().peer);
    assert_eq!(peers, [bob.identity.fingerprint(), by]);
    let again = alice.meets_bob(&alice.invitation);
    assert_eq!(refusals(again), [Refusal::Used; 2]);
}

#[test]
fn an_invitation_of_before_says_what_became_of_it() {
    static NOW: AtomicU64 = AtomicU64::new(EXPIRES - 1);
    let clock = || NOW.load(Ordering::Relaxed);
    let mut alice = Alice::new(clock);
    let used = alice.invitation.clone();
    assert!(alice.meets_bob(&used).iter().all(Result::is_ok));
    // The process ends, and another starts with the same folder.
    let renew = |alice: &mut Alice, expires| {
        let ledger = Ledger::open(alice.folder.path()).unwrap();
        let old = alice.invitation.clone();
        alice.invitation = changed(&invitation(&alice.identity), expires);
        alice.inviter = Inviter::by_clock(alice.invitation.clone(), ledger, clock).unwrap();
        old
    };
    renew(&mut alice, EXPIRES);
    assert_eq!(refusals(alice.meets_bob(&used)), [Refusal::Used; 2]);
    let withdrawn = renew(&mut alice, EXPIRES + 100);
    assert_eq!(
        refusals(alice.meets_bob(&withdrawn)),
        [Refusal::Withdrawn; 2]
    );
    NOW.store(EXPIRES, Ordering::Relaxed);
    assert_eq!(refusals(alice.meets_bob(&withdrawn)), [Refusal::Late; 2]);
    let strange = invitation(&alice.identity);
    assert_eq!(refusals(alice.meets_bob(&strange)), [Refusal::Unknown; 2]);
    // None of this has used the invitation up.
    let own = alice.invitation.clone();
    assert!(alice.meets_bob(&own).iter().all(Result::is_ok));
}

#[test]
fn who_comes_late_is_refused() {
    let alice = Alice::new(|| EXPIRES);
    let met = alice.meets_bob(&alice.invitation);
    assert_eq!(refusals(met), [Refusal::Late; 2]);
    let late = changed(&alice.invitation, now().unwrap());
    let settings = Settings::default();
    let ledger = Ledger::open(alice.folder.path()).unwrap();
    let error = accept(&late, &ledger, &identity(), &settings).unwrap_err();
    assert!(matches!(error, NetError::Pairing(Refusal::Late)));
}

#[test]
fn a_changed_invitation_is_refused_and_leaves_the_true_one_good() {
    let alice = Alice::new(in_time);
    let longer = changed(&alice.invitation, EXPIRES + 1);
    assert_eq!(refusals(alice.meets_bob(&longer)), [Refusal::Changed; 2]);
    assert!(alice.meets_bob(&alice.invitation).iter().all(Result::is_ok));
}

#[test]
fn nobody_else_can_be_where_the_invitation_leads() {
    let alice = Alice::new(in_time);
    let strangers = invitation(&identity());
    let [_, bob] = alice.meets_bob(&strangers);
    let error = bob.unwrap_err();
    assert!(matches!(error, NetError::Pairing(Refusal::OtherParty)));
}

#[test]
fn who_knows_no_secret_uses_nothing_up() {
    let alice = Alice::new(in_time);
    let (met, ()) = alice.meets(|transport| {
        let (mallory, settings) = (identity(), Settings::default());
        let to = alice.identity.fingerprint();
        let mut channel = tls::pairing_client(transport, &mallory, &to, &settings).unwrap();
        // The identifier of the secret is in Alice's ledger, and the digest is of what was sent in
        // the open.
        let [id, digest] = [&alice.invitation.id()[..], &alice.invitation.digest()];
        let offer = [id, &[1; 32], digest, &commitment(&[2; 32])].concat();
        channel.send(OFFER, &offer).unwrap();
        receive(&mut channel, NONCE).unwrap_err();
    });
    let error = met.unwrap_err();
    assert!(matches!(error, NetError::Pairing(Refusal::Malformed)));
    assert!(alice.meets_bob(&alice.invitation).iter().all(Result::is_ok));
}

#[test]
fn a_stranger_is_refused_within_its_handshake() {
    let alice = Alice::new(in_time);
    let (here, there) = memory::raw_pair(1 << 16);
    let settings = Settings {
        handshake_timeout: Duration::from_secs(40),
        ..Settings::default()
    };
    let began = Instant::now();
    thread::scope(|scope| {
        let transport = here.into_transport();
        let met = scope.spawn(|| alice.inviter.meet(transport, &alice.identity, &settings));
        let (mallory, other) = (identity(), Settings::default());
        let to = alice.identity.fingerprint();
        let channel = tls::pairing_client(there.into_transport(), &mallory, &to, &other);
        let mut channel = channel.unwrap();
        channel.send(OFFER, &[1; MAX_BYTES]).unwrap();
        // She receives the refusal and stays, until another stranger takes her place.
        receive(&mut channel, NONCE).unwrap_err();
        settings.cancel.cancel();
        let error = met.join().unwrap().unwrap_err();
        assert!(matches!(error, NetError::Pairing(Refusal::Unknown)));
    });
    assert!(began.elapsed() < settings.handshake_timeout / 2);
}

#[test]
fn whoever_takes_the_inviters_place_at_a_relay_does_not_end_the_wait() {
    let relay = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = relay.local_addr().unwrap().to_string();
    let (identity, folder) = (identity(), tempfile::tempdir().unwrap());
    let of = identity.fingerprint();
    let invitation = Invitation::new(of, Route::Relay, &address, EXPIRES).unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let inviter = Inviter::by_clock(invitation, ledger, || EXPIRES - 60).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for answer in [Answer::Replaced, Answer::Malformed] {
                let (socket, _) = relay.accept().unwrap();
                let time = Duration::from_secs(10);
                if let Ok((guest, _)) = Guest::accept(Arc::new(socket), &[], time) {
                    guest.answer(answer).unwrap();
                }
            }
        });
        let met = inviter.wait_at_relay(&identity, &Settings::default(), &mut |_| ());
        // Nobody is waited for in vain.
        drop(TcpStream::connect(&address));
        let error = met.unwrap_err();
        assert!(
            matches!(error, NetError::Relay(Answer::Malformed)),
            "{error:?}"
        );
    });
}

/// This happens at a party to which many connect at once.
#[test]
fn a_connection_that_is_closed_before_its_handshake_is_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (alice, bob) = (identity(), Bob::new());
    let folder = tempfile::tempdir().unwrap();
    let expires = now().unwrap() + 600;
    let of = alice.fingerprint();
    let invitation = Invitation::new(of, Route::Direct, &address, expires).unwrap();
    let ledger = Ledger::open(folder.path()).unwrap();
    let inviter = Inviter::new(invitation.clone(), ledger).unwrap();
    thread::scope(|scope| {
        let met = scope.spawn(|| {
            for _ in 0..2 {
                drop(listener.accept().unwrap());
            }
            let (socket, _) = listener.accept().unwrap();
            inviter.meet(tls::transport(socket)?, &alice, &Settings::default())
        });
        let ledger = Ledger::open(bob.folder.path()).unwrap();
        let accepted = accept(&invitation, &ledger, &bob.identity, &Settings::default());
        let accepted = accepted.unwrap();
        let met = met.join().unwrap().unwrap();
        assert!(met.is_theirs(&accepted.own_code().to_string()));
    });
}

/// The command that made the invitation may have ended, and then nobody would answer.
#[test]
fn who_accepted_an_invitation_before_is_refused_before_the_connection() {
    let alice = Alice::new(in_time);
    let expires = now().unwrap() + 600;
    let again = changed(&alice.invitation, expires);
    let ledger = Ledger::open(alice.folder.path()).unwrap();
    assert!(ledger.accept(&again.accepted_id(), expires).unwrap());
    let settings = Settings::default();
    // A connection would fail at once.
    settings.cancel.cancel();
    let error = accept(&again, &ledger, &identity(), &settings).unwrap_err();
    let refused = matches!(error, NetError::Pairing(Refusal::Used));
    assert!(refused, "{error:?}");
}

/// Mallory, who has read the invitation and given Bob one that names her.
struct Mallory {
    identity: Identity,
    to_bob: Invitation,
}

impl Mallory {
    fn new(alice: &Alice) -> Self {
        let identity = identity();
        let to_bob = alice
            .invitation
            .clone()
            .with_inviter(identity.fingerprint());
        Self { identity, to_bob }
    }

    /// Opens her channel to Bob and starts his pairing, until both have what they need for a code.
    fn with_bob<T: Send>(
        &self,
        bob: &Bob,
        mallory: impl FnOnce(Channel, Vec<u8>) -> T + Send,
    ) -> (T, Result<UnconfirmedPairing, NetError>) {
        let (here, there) = memory::raw_pair(1 << 16);
        thread::scope(|scope| {
            let bob = scope.spawn(|| bob.accepts(there.into_transport(), &self.to_bob));
            let settings = Settings::default();
            let channel = tls::pairing_server(here.into_transport(), &self.identity, &settings);
            let mut channel = channel.unwrap();
            let offer = receive(&mut channel, OFFER).unwrap();
            (mallory(channel, offer), bob.join().unwrap())
        })
    }
}

#[test]
fn a_man_in_the_middle_who_passes_nonces_on_is_heard() {
    let alice = Alice::new(in_time);
    let mallory = Mallory::new(&alice);
    let ((met, ()), bob) = mallory.with_bob(&Bob::new(), |mut to_bob, offer| {
        let commitment: [u8; 32] = *offer.last_chunk().unwrap();
        alice.meets(|transport| {
            let settings = Settings::default();
            let to = alice.identity.fingerprint();
            let mut to_alice =
                tls::pairing_client(transport, &mallory.identity, &to, &settings).unwrap();
            let own = mallory.identity.fingerprint();
            let binding = to_alice.binding();
            let offer = exchange::offer(&alice.invitation, own, binding, &commitment);
            to_alice.send(OFFER, &offer).unwrap();
            let nonce = receive(&mut to_alice, NONCE).unwrap();
            to_bob.send(NONCE, &nonce).unwrap();
            let opening = receive(&mut to_bob, OPENING).unwrap();
            to_alice.send(OPENING, &opening).unwrap();
            to_alice.flush().unwrap();
            // Alice reads the message before the connection closes.
            thread::sleep(Duration::from_millis(50));
        })
    });
    let (alice, bob) = (met.unwrap(), bob.unwrap());
    // They are equal by chance in 2 of 1000000 pairings.
    assert!(!alice.agreed.theirs.is(&bob.own_code().to_string()));
    assert!(!bob.agreed.theirs.is(&alice.own_code().to_string()));
}

#[test]
fn a_man_in_the_middle_cannot_look_for_a_nonce_that_gives_the_code() {
    let alice = Alice::new(in_time);
    let mallory = Mallory::new(&alice);
    // Mallory finishes with Bob, so that she knows which code he will read to Alice.
    let (to_bob, bob) = mallory.with_bob(&Bob::new(), |mut to_bob, _| {
        to_bob.send(NONCE, &[3; 32]).unwrap();
        receive(&mut to_bob, OPENING).unwrap();
        to_bob
    });
    let spoken = bob.unwrap().own_code().to_string();
    drop(to_bob);
    // With Alice she commits to some nonce, receives Alice's, and opens one that gives Bob's code.
    let (own, peer) = (alice.identity.fingerprint(), mallory.identity.fingerprint());
    let (binding, alices) = ([4; 32], [5; 32]);
    let offer = exchange::offer(&alice.invitation, peer, binding, &commitment(&[6; 32]));
    let offered = || {
        Invited::new(&alice.invitation, own, peer, binding)
            .hear(&offer)
            .unwrap()
    };
    let good = (0_u64..).find_map(|guess| {
        let mut nonce = [0; 32];
        nonce[..8].copy_from_slice(&guess.to_le_bytes());
        let (state, _) = Accepting::new(&alice.invitation, peer, binding, nonce);
        let (_, agreed) = state.hear(&alices)?;
        agreed.own.is(&spoken).then_some(nonce)
    });
    let agreed = offered().hear(&alices, &good.unwrap());
    assert!(agreed.is_none(), "Alice takes Mallory for Bob");
}

#[test]
fn a_man_in_the_middle_has_one_try_at_who_accepts() {
    let alice = Alice::new(in_time);
    let (mallory, bob) = (Mallory::new(&alice), Bob::new());
    // The codes do not match. Bob repeats the command, since something must have gone wrong.
    let answer = |mut to_bob: Channel, _: Vec<u8>| {
        to_bob.send(NONCE, &[3; 32]).unwrap();
        receive(&mut to_bob, OPENING)
    };
    let (opened, met) = mallory.with_bob(&bob, answer);
    assert!(opened.is_ok() && met.is_ok());
    let (opened, met) = mallory.with_bob(&bob, answer);
    assert_eq!(
        refusals([opened.map(|_| unreachable!()), met]),
        [Refusal::Used; 2]
    );
}
