//! An attacker on the network between both parties, and side streams for the wrong session.

use super::*;

/// The damage to the bytes of a connection on their way to the server, from this place on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Harm {
    Flip(usize),
    Cut(usize),
    Stall(usize),
}

/// Stands between clients and the server, and damages the connections that are side streams.
struct Between {
    address: SocketAddr,
    seen: Arc<AtomicUsize>,
    /// The first bytes of the side streams that came.
    heads: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Between {
    /// Starts it. `rewrite` may change the first bytes of a side stream.
    fn new(
        server: SocketAddr,
        harm: Option<Harm>,
        rewrite: impl Fn(&mut Vec<u8>) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(AtomicUsize::new(0));
        let heads: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let (counted, kept, rewrite) = (Arc::clone(&seen), Arc::clone(&heads), Arc::new(rewrite));
        thread::spawn(move || {
            for near in listener.incoming() {
                let (mut near, mut far) = (near.unwrap(), TcpStream::connect(server).unwrap());
                let mut first = [0];
                near.peek(&mut first).unwrap();
                let is_side = first == PREAMBLE[..1];
                if is_side {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let mut head = vec![0; join::HEAD_BYTES];
                    near.read_exact(&mut head).unwrap();
                    kept.lock().unwrap().push(head.clone());
                    rewrite(&mut head);
                    let _ = far.write_all(&head);
                }
                let (near2, far2) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let harm = harm.filter(|_| is_side);
                thread::spawn(move || pass(near, far, harm));
                thread::spawn(move || pass(far2, near2, None));
            }
        });
        Self {
            address,
            seen,
            heads,
        }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, harm: Option<Harm>) {
    let (mut done, mut buffer) = (0, vec![0; 65_536]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let here = done..done + count;
        match harm {
            Some(Harm::Flip(place)) if here.contains(&place) => buffer[place - done] ^= 1,
            Some(Harm::Cut(place)) if here.contains(&place) => {
                let _ = to.write_all(&buffer[..place - done]);
                let _ = from.shutdown(Shutdown::Both);
                break;
            }
            Some(Harm::Stall(place)) if here.contains(&place) => {
                let _ = to.write_all(&buffer[..place - done]);
                thread::sleep(PATIENCE);
                break;
            }
            _ => {}
        }
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
        done += count;
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Sends 8 MiB through a side stream that is damaged after a mebibyte. Returns the results of the
/// sender and of the receiver, and the time that it took.
fn send_harmed(harm: Harm) -> (Result<(), NetError>, Result<(), NetError>, Duration) {
    let (parties, listener) = (Parties::new(), listener());
    let between = Between::new(listener.local_address(), Some(harm), |_| ());
    let (mut here, mut there) = parties.meet_by(&listener, between.address, [2, 2]);
    open(&mut here, &mut there);
    here.set_timeout(Duration::from_secs(1));
    there.set_timeout(Duration::from_secs(1));
    let began = Instant::now();
    let (sent, received) = thread::scope(|scope| {
        let receiving = scope.spawn(move || {
            let received = (0..400).try_for_each(|_| there.receive(FRAME_BYTES).map(|_| ()));
            drop(there);
            received
        });
        let sent = (0..400)
            .try_for_each(|_| here.send(1, &[3; FRAME_BYTES]))
            .and_then(|()| here.flush());
        (sent, receiving.join().unwrap())
    });
    assert!(between.seen.load(Ordering::SeqCst) >= 2);
    (sent, received, began.elapsed())
}

#[test]
fn a_changed_byte_of_a_stream_is_noticed() {
    let (sent, received, _) = send_harmed(Harm::Flip(1 << 20));
    assert!(
        matches!(received, Err(NetError::Tls { .. })),
        "{received:?}"
    );
    assert!(sent.is_err());
}

#[test]
fn a_stream_that_is_cut_ends_the_session_on_both_sides() {
    let (sent, received, took) = send_harmed(Harm::Cut(1 << 20));
    assert!(
        matches!(received, Err(NetError::Closed { .. })),
        "{received:?}"
    );
    assert!(matches!(sent, Err(NetError::Closed { .. })), "{sent:?}");
    assert!(took < PATIENCE / 2, "{took:?}");
}

#[test]
fn a_stream_that_stalls_ends_in_a_timeout() {
    let (sent, received, took) = send_harmed(Harm::Stall(1 << 20));
    assert!(
        matches!(received, Err(NetError::Timeout { .. })),
        "{received:?}"
    );
    assert!(sent.is_err());
    assert!(took < PATIENCE / 2, "{took:?}");
}

/// Checks that streams that do not belong to their session are refused, and that the session goes
/// on without them.
fn refused(rewrite: impl Fn(&mut Vec<u8>) + Send + Sync + 'static) {
    let (parties, listener) = (Parties::new(), listener());
    let between = Between::new(listener.local_address(), None, rewrite);
    let (mut here, mut there) = parties.meet_by(&listener, between.address, [1, 1]);
    let enough = OPEN_AFTER_BYTES as usize;
    carry(&mut here, &mut there, &[enough]);
    let began = Instant::now();
    while between.seen.load(Ordering::SeqCst) < 1 && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(200));
    assert!(!sides(&here).out().is_ready() && !sides(&there).inward().is_ready());
    carry(&mut here, &mut there, &LENGTHS);
    assert_eq!(sides(&here).out().moved(), 0);
}

#[test]
fn a_stream_with_an_unknown_id_is_refused() {
    refused(|head| head[join::HEAD_BYTES - 1] ^= 1);
}

/// An attacker on the network redirects a stream of one session to another of the same parties.
#[test]
fn a_stream_of_another_session_is_refused() {
    let (parties, listener) = (Parties::new(), listener());
    let of_first = Arc::new(Mutex::new(None::<Vec<u8>>));
    let exchanged = Arc::clone(&of_first);
    let between = Between::new(listener.local_address(), None, move |head| {
        // The second session's stream comes with the id of one of the first's.
        if let Some(other) = exchanged.lock().unwrap().take() {
            *head = other;
        }
    });
    let (first, first_there) = parties.meet_by(&listener, listener.local_address(), [1, 1]);
    let token = sides(&first).opener.as_ref().unwrap().tokens[0].clone();
    let head = [&PREAMBLE[..], token.id()].concat();
    *of_first.lock().unwrap() = Some(head);
    let (mut here, mut there) = parties.meet_by(&listener, between.address, [1, 1]);
    carry(&mut here, &mut there, &[OPEN_AFTER_BYTES as usize]);
    let began = Instant::now();
    while between.heads.lock().unwrap().is_empty() && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(200));
    assert!(!sides(&first_there).inward().is_ready());
    assert!(!sides(&here).out().is_ready());
    carry(&mut here, &mut there, &LENGTHS);
}
