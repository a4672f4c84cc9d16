//! Bytes of a peer below the protocols: frames, TLS, and a whole session.

use std::io::{IoSlice, Write};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tacit::matching::Match;
use tacit::session::Side;
use tacit::{Error, Fingerprint, Job, Role, Session, Value};
use tacit_net::{Channel, Identity, Interrupt, Settings, Sink, Wait, memory, tls as net_tls};

use super::duels::adder;
use super::edits::Edits;
use crate::sessions;
use crate::tamper::{Sent, TamperingSink, first_message};

/// The longest wait. A party whose peer has ended does not wait, so exceeding it means a hang.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Fuzzes a channel in the clear with arbitrary bytes: each message must be complete and within
/// bounds.
pub fn frames(data: &[u8]) {
    let Some((limit, bytes)) = data.split_first_chunk::<3>() else {
        return;
    };
    let limit = usize::from(limit[0]) << (limit[1] % 24);
    let (mut channel, mut peer) = memory::pair_with_raw();
    let bytes = &bytes[..bytes.len().min(memory::PIPE_BYTES)];
    peer.write_all(bytes).expect("room in the pipe");
    drop(peer);
    let mut taken = 0;
    while let Ok(frame) = channel.receive(limit) {
        assert!(frame.payload.len() <= limit);
        let (kind, payload, end) = first_message(&bytes[taken..]).expect("a whole message");
        assert_eq!((frame.kind, frame.payload), (kind, &payload[..]));
        taken += end;
    }
    assert!(taken <= bytes.len());
}

/// Returns two identities for the life of the process.
fn identities() -> &'static [Identity; 2] {
    static MADE: OnceLock<[Identity; 2]> = OnceLock::new();
    MADE.get_or_init(|| [0, 1].map(|_| Identity::generate().expect("randomness")))
}

fn settings() -> Settings {
    Settings {
        handshake_timeout: TIMEOUT,
        timeout: TIMEOUT,
        ..Settings::default()
    }
}

/// A sink that changes one write of TLS and then ends: the peer must not wait for the rest.
struct Editing {
    inner: Box<dyn Sink>,
    edits: Edits,
    has_ended: bool,
}

impl Sink for Editing {
    fn write(&mut self, parts: &[IoSlice<'_>], wait: &Wait<'_>) -> Result<usize, Interrupt> {
        let honest: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        if self.has_ended {
            return Ok(honest.len());
        }
        let mut bytes = honest.clone();
        self.edits.change(&mut 0, &mut bytes);
        self.has_ended = bytes != honest;
        let mut left = &bytes[..];
        while !left.is_empty() {
            let count = self.inner.write(&[IoSlice::new(left)], wait)?;
            left = &left[count..];
        }
        if self.has_ended {
            self.inner.finish(wait)?;
        }
        Ok(honest.len())
    }

    fn finish(&mut self, wait: &Wait<'_>) -> Result<(), Interrupt> {
        self.inner.finish(wait)
    }
}

/// Fuzzes two ends of TLS, one of which sends other bytes from some write on: every complete
/// message must be one that was sent.
pub fn tls(data: &[u8]) {
    let edits = Edits::new(data);
    let (liar, is_raw) = (edits.liar(2), edits.choice(2) % 2 == 1);
    let (ours, theirs) = memory::raw_pair(memory::PIPE_BYTES);
    let [us, them] = identities();
    if is_raw {
        let mut theirs = theirs;
        let bytes = &data[1..data.len().min(memory::PIPE_BYTES)];
        theirs.write_all(bytes).expect("room in the pipe");
        drop(theirs);
        let ours = ours.into_transport();
        let ended = match liar {
            0 => net_tls::server(ours, us, &[them.fingerprint()], &settings()),
            _ => net_tls::client(ours, us, &them.fingerprint(), &settings()),
        };
        assert!(ended.is_err(), "nobody has the peer's key");
        return;
    }
    let mut edits = Some(edits);
    let mut below = |party| {
        let edits = edits.take_if(|_| party == liar);
        move |inner| match edits {
            None => inner,
            Some(edits) => Box::new(Editing {
                inner,
                edits,
                has_ended: false,
            }) as Box<dyn Sink>,
        }
    };
    let ours = ours.into_transport().map_sink(below(0));
    let theirs = theirs.into_transport().map_sink(below(1));
    let talk = |channel: Result<Channel, _>, own: u8| {
        let mut channel = channel?;
        for round in 1..4 {
            channel.send(round, &[own; 100])?;
            let frame = channel.receive(100)?;
            assert_eq!((frame.kind, frame.payload), (round, &[1 - own; 100][..]));
        }
        channel.close()
    };
    thread::scope(|scope| {
        let theirs = scope.spawn(|| {
            let allowed = [us.fingerprint()];
            talk(net_tls::server(theirs, them, &allowed, &settings()), 1)
        });
        let _ = talk(
            net_tls::client(ours, us, &them.fingerprint(), &settings()),
            0,
        );
        let _ = theirs.join().expect("no panic");
    });
}

/// Fuzzes a whole session with a run of `direct` or of `gmw`, or a matching, in which one party
/// lies from some message on. The other must get its result, or an error that does not blame its
/// own side.
pub fn session(data: &[u8]) {
    let (liar, what) = (Edits::new(data).liar(2), Edits::new(data).choice(2) % 3);
    let mut edits = Some(Edits::new(data));
    let function = adder();
    let (garbler, evaluator) = memory::raw_pair(memory::PIPE_BYTES);
    let mut party = |end: memory::RawEnd, own: u8, role| {
        let mut transport = end.into_transport();
        if let Some(mut edits) = edits.take_if(|_| usize::from(own) == liar) {
            let play = move |kind: u8, payload: &[u8]| {
                let (mut kind, mut payload) = (kind, payload.to_vec());
                edits.change(&mut kind, &mut payload);
                Sent::Message(kind, payload)
            };
            transport =
                transport.map_sink(|inner| Box::new(TamperingSink::playing(inner, Box::new(play))));
        }
        let channel = sessions::channel(transport, Fingerprint([2 - own; 32]), TIMEOUT);
        let function = &function;
        move || -> Result<(), Error> {
            let side = [Side::Connecting, Side::Listening][usize::from(own)];
            let mut session = Session::over(channel, side, Some(&Fingerprint([1 + own; 32])))?;
            if what == 2 {
                let keys = (0..3).map(|key| [key + own]);
                Match::new(keys)?.run(&mut session)?;
                return Ok(());
            }
            let job = Job::new(function, role);
            let job = if what == 1 { job.gmw() } else { job };
            let name = ["x", "y"][usize::from(own)];
            let value = Value::parse(&"u8".parse().expect("a type"), "77").expect("a value");
            job.input(name, value).run(&mut session)?;
            Ok(())
        }
    };
    let garbler = party(garbler, 0, Role::Garbler);
    let evaluator = party(evaluator, 1, Role::Evaluator);
    let ends = thread::scope(|scope| {
        let garbler = scope.spawn(garbler);
        let evaluator = evaluator();
        [garbler.join().expect("no panic"), evaluator]
    });

    if let Err(error) = &ends[1 - liar] {
        assert!(!matches!(error.cause(), Error::ApiMisuse(_)), "{error}");
    }
}
