//! Messages and frames over a clear channel: valid and invalid ones of a peer.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use tacit_net::{
    Awaited, CONTINUED, CancelHandle, Channel, FRAME_BYTES, Meter, NetError, PROGRESS_BYTES, memory,
};

const SOON: Duration = Duration::from_millis(60);
const LONG: Duration = Duration::from_secs(20);

/// Builds a frame by hand, according to the format's table.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn the_bytes_are_those_of_the_table() {
    let (mut channel, mut raw) = memory::pair_with_raw();
    channel.send(7, b"abc").unwrap();
    channel.send(255, b"").unwrap();
    channel.send(9, b"xy").unwrap();
    channel.close().unwrap();
    let mut bytes = Vec::new();
    raw.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"\x07\x03\0\0\0abc\xff\0\0\0\0\x09\x02\0\0\0xy");
}

#[test]
fn messages_of_every_size_arrive() {
    let (mut here, mut there) = memory::pair_with_capacity(10_000);
    let sizes = [
        0, 1, 5, 4096, 32_767, 32_768, 262_139, 262_144, 262_145, 700_001,
    ];
    thread::scope(|scope| {
        scope.spawn(move || {
            for (kind, &size) in (1..).zip(&sizes) {
                let payload: Vec<u8> = (0..size).map(|i| (i * 31 + kind) as u8).collect();
                here.send(kind as u8, &payload).unwrap();
            }
            here.close().unwrap();
        });
        for (kind, &size) in (1..).zip(&sizes) {
            let frame = there.receive(size).unwrap();
            assert_eq!((frame.kind as usize, frame.payload.len()), (kind, size));
            let right = |(i, &byte): (usize, &u8)| byte == (i * 31 + kind) as u8;
            assert!(frame.payload.iter().enumerate().all(right));
        }
        let end = there.receive(0);
        assert!(matches!(
            end,
            Err(NetError::Closed {
                awaited: Awaited::Message
            })
        ));
    });
}

#[test]
fn receiving_flushes_what_was_sent() {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        scope.spawn(move || {
            let question = there.receive(10).unwrap().payload.to_vec();
            there.send(2, &question).unwrap();
            there.flush().unwrap();
        });
        here.send(1, b"echo").unwrap();
        assert_eq!(here.receive(10).unwrap().payload, b"echo");
    });
}

#[test]
fn a_peer_that_closes_at_any_byte_is_told_apart() {
    let whole = frame(3, b"0123456789");
    for cut in 0..whole.len() {
        let (mut channel, mut raw) = memory::pair_with_raw();
        raw.write_all(&whole[..cut]).unwrap();
        drop(raw);
        let expected = match cut {
            0..5 => Awaited::Message,
            _ => Awaited::Rest {
                kind: 3,
                received: cut - 5,
                length: 10,
            },
        };
        match channel.receive(10) {
            Err(NetError::Closed { awaited }) => assert_eq!(awaited, expected),
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

#[test]
fn what_is_announced_is_bounded_before_it_is_allocated() {
    for (length, limit) in [(11, 10), (u32::MAX, 1 << 20), (1, 0)] {
        let (mut channel, mut raw) = memory::pair_with_raw();
        raw.write_all(&[5]).unwrap();
        raw.write_all(&length.to_le_bytes()).unwrap();
        // Twice, because the channel reads no further.
        for _ in 0..2 {
            match channel.receive(limit) {
                Err(NetError::TooLong {
                    kind,
                    announced,
                    limit: found,
                }) => assert_eq!((kind, announced, found), (5, length, limit)),
                other => panic!("{length}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_silent_peer_is_timed_out() {
    let (mut channel, raw) = memory::pair_with_raw();
    channel.set_timeout(SOON);
    match channel.receive(10) {
        Err(NetError::Timeout { awaited, after }) => {
            assert_eq!((awaited, after), (Awaited::Message, SOON));
        }
        other => panic!("{other:?}"),
    }
    drop(raw);
}

#[test]
fn a_trickling_peer_is_timed_out_and_nothing_is_lost() {
    let (mut channel, mut raw) = memory::pair_with_raw();
    channel.set_timeout(SOON);
    let bytes = frame(1, &[8; 1000]);
    thread::scope(|scope| {
        let trickle = scope.spawn(move || {
            for byte in bytes {
                raw.write_all(&[byte]).unwrap();
                thread::sleep(Duration::from_millis(1));
            }
            raw
        });
        // At least a second passes before the frame is complete, although each byte arrives in
        // time.
        assert!(matches!(
            channel.receive(1000),
            Err(NetError::Timeout { .. })
        ));
        channel.set_timeout(LONG);
        assert_eq!(channel.receive(1000).unwrap().payload, [8; 1000]);
        drop(trickle.join().unwrap());
    });
}

#[test]
fn a_peer_that_does_not_read_is_timed_out_and_nothing_is_lost() {
    let (mut here, mut there) = memory::pair_with_capacity(100_000);
    here.set_timeout(SOON);
    let payload: Vec<u8> = (0..FRAME_BYTES).map(|i| i as u8).collect();
    match here.send(4, &payload) {
        Err(NetError::Timeout { awaited, .. }) => assert_eq!(awaited, Awaited::Room),
        other => panic!("{other:?}"),
    }
    here.set_timeout(LONG);
    thread::scope(|scope| {
        scope.spawn(move || here.flush().unwrap());
        assert_eq!(there.receive(FRAME_BYTES).unwrap().payload, payload);
    });
}

/// A sender that gives up in the middle of a message of gigabytes can say so at once.
#[test]
fn a_message_that_was_given_up_gives_way_to_the_next() {
    let (mut here, mut there) = memory::pair_with_capacity(FRAME_BYTES);
    here.set_timeout(SOON);
    let payload = vec![9; 100 * FRAME_BYTES];
    let given_up = here.send(4, &payload).unwrap_err();
    assert!(matches!(given_up, NetError::Timeout { .. }), "{given_up}");
    here.set_timeout(LONG);
    thread::scope(|scope| {
        scope.spawn(move || {
            here.send(5, b"too slow").unwrap();
            here.close().unwrap();
        });
        let frame = there.receive(payload.len()).unwrap();
        assert_eq!((frame.kind, frame.payload), (5, &b"too slow"[..]));
        let received = there.meter().received;
        assert!(received.bytes < 3 * FRAME_BYTES as u64, "{received:?}");
    });
}

/// Otherwise a peer that starts a long message again and again would block a call forever.
#[test]
fn a_long_message_that_begins_again_is_refused() {
    let first = [
        &[3][..],
        &(2 * FRAME_BYTES as u32).to_le_bytes(),
        &[1; FRAME_BYTES],
    ];
    let (mut channel, mut raw) = memory::pair_with_raw();
    thread::scope(|scope| {
        // The writes fail once the other end is closed.
        scope.spawn(move || (0..1000).find(|_| raw.write_all(&first.concat()).is_err()));
        let error = channel.receive(2 * FRAME_BYTES).unwrap_err();
        assert!(matches!(error, NetError::WrongFrame { .. }), "{error}");
        drop(channel);
    });
}

/// The last frame's length must match the first's: no other split is accepted.
#[test]
fn a_frame_that_does_not_go_on_with_its_message_is_refused() {
    let first = [
        &[3][..],
        &(2 * FRAME_BYTES as u32).to_le_bytes(),
        &[1; FRAME_BYTES],
    ];
    let first = first.concat();
    let whole = FRAME_BYTES as u32;
    for (before, announced, expected) in [
        (&[][..], 0, 0),
        (&[], 8, 0),
        (&first, 0, FRAME_BYTES),
        (&first, whole - 1, FRAME_BYTES),
        (&first, whole + 1, FRAME_BYTES),
        (&first, u32::MAX, FRAME_BYTES),
    ] {
        let (mut channel, mut raw) = memory::pair_with_raw();
        raw.write_all(before).unwrap();
        raw.write_all(&[CONTINUED]).unwrap();
        raw.write_all(&announced.to_le_bytes()).unwrap();
        match channel.receive(usize::MAX) {
            Err(NetError::WrongFrame {
                announced: found,
                expected: left,
            }) => assert_eq!((found, left), (announced, expected)),
            other => panic!("{announced}: {other:?}"),
        }
    }
}

/// A message may take any time, if the peer makes progress with it.
#[test]
fn a_long_message_may_take_longer_than_the_timeout() {
    let (mut channel, mut raw) = memory::pair_with_raw();
    let limit = Duration::from_secs(1);
    channel.set_timeout(limit);
    let bytes = frame(1, &[8; 6 * PROGRESS_BYTES]);
    thread::scope(|scope| {
        let slow = scope.spawn(move || {
            for part in bytes.chunks(PROGRESS_BYTES) {
                thread::sleep(limit / 4);
                raw.write_all(part).unwrap();
            }
            raw
        });
        let begun = Instant::now();
        let frame = channel.receive(6 * PROGRESS_BYTES).unwrap();
        assert_eq!(frame.payload, [8; 6 * PROGRESS_BYTES]);
        assert!(begun.elapsed() > limit);
        drop(slow.join().unwrap());
    });
}

#[test]
fn a_receiver_may_take_longer_than_the_timeout_if_it_goes_on() {
    let (mut here, mut raw) = memory::pair_with_capacity_and_raw(PROGRESS_BYTES);
    let limit = Duration::from_secs(1);
    here.set_timeout(limit);
    thread::scope(|scope| {
        let slow = scope.spawn(move || {
            let mut read = vec![0; PROGRESS_BYTES];
            for _ in 0..6 {
                thread::sleep(limit / 4);
                raw.read_exact(&mut read).unwrap();
            }
            raw
        });
        let begun = Instant::now();
        here.send(1, &[8; 7 * PROGRESS_BYTES - 5]).unwrap();
        assert!(begun.elapsed() > limit);
        drop(slow.join().unwrap());
    });
}

#[test]
fn a_peer_that_is_gone_is_noticed_by_the_sender() {
    let (mut here, there) = memory::pair();
    drop(there);
    here.send(1, b"x").unwrap();
    let result = here.flush();
    assert!(matches!(
        result,
        Err(NetError::Closed {
            awaited: Awaited::Room
        })
    ));
}

#[test]
fn another_thread_cancels_a_wait() {
    let (mut here, there) = memory::pair();
    here.set_timeout(LONG);
    let cancel = CancelHandle::new();
    here.set_cancel_handle(cancel.clone());
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(SOON);
            cancel.cancel();
        });
        let result = here.receive(10);
        assert!(matches!(
            result,
            Err(NetError::Cancelled {
                awaited: Awaited::Message
            })
        ));
    });
    assert!(here.cancel_handle().is_cancelled());
    assert!(matches!(here.receive(10), Err(NetError::Cancelled { .. })));
    drop(there);
}

#[test]
fn a_cancelled_channel_still_says_goodbye() {
    let (mut here, mut there) = memory::pair();
    here.send(1, b"half").unwrap();
    here.cancel_handle().cancel();
    assert!(matches!(here.flush(), Err(NetError::Cancelled { .. })));
    here.abort(200, b"the user left", SOON).unwrap();
    assert_eq!(there.receive(100).unwrap().payload, b"half");
    let last = there.receive(100).unwrap();
    assert_eq!((last.kind, last.payload), (200, &b"the user left"[..]));
    assert!(matches!(there.receive(100), Err(NetError::Closed { .. })));
}

#[test]
fn the_meter_counts_frames_bytes_and_rounds() {
    let (mut here, mut there) = memory::pair();
    assert_eq!(here.meter(), Meter::default());
    here.send(1, &[0; 10]).unwrap();
    here.send(1, &[0; 20]).unwrap();
    here.flush().unwrap();
    there.receive(10).unwrap();
    there.receive(20).unwrap();
    let before = there.meter();
    there.send(2, &[0; 3]).unwrap();
    there.flush().unwrap();
    here.receive(3).unwrap();
    let meter = here.meter();
    assert_eq!(
        (meter.sent.frames, meter.sent.bytes, meter.sent.wire_bytes),
        (2, 40, 40)
    );
    assert_eq!((meter.received.frames, meter.received.bytes), (1, 8));
    assert_eq!((meter.received.wire_bytes, meter.rounds), (8, 2));
    let since = there.meter() - before;
    assert_eq!(
        (since.sent.bytes, since.received.bytes, since.rounds),
        (8, 0, 1)
    );
    assert!(meter.waiting > Duration::ZERO);
}

#[test]
fn what_is_not_proved_is_not_claimed() {
    let (here, _there) = memory::pair();
    assert_eq!(here.peer(), None);
    assert_eq!(here.binding(), Channel::UNBOUND);
    assert_eq!(here.timeout(), Channel::DEFAULT_TIMEOUT);
    assert!(!format!("{here:?}").contains("bytes"));
}

#[test]
fn a_time_limit_bounds_all_waits_together() {
    let (mut here, mut there) = memory::pair();
    let limit = Duration::from_millis(60);
    here.set_timeout(Duration::from_secs(20));
    here.set_time_limit(Some(limit));
    // A peer that is never slow for long, and never finishes.
    let slow = thread::spawn(move || {
        while there.send(1, &[7]).and_then(|()| there.flush()).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
        there
    });
    let error = loop {
        match here.receive(1) {
            Ok(frame) => assert_eq!(frame.payload, [7]),
            Err(error) => break error,
        }
        if let Err(error) = here.check() {
            break error;
        }
    };
    match error {
        NetError::TimeLimit { limit: found, .. } => assert_eq!(found, limit),
        other => panic!("{other:?}"),
    }
    assert!(matches!(here.check(), Err(NetError::TimeLimit { .. })));
    here.set_time_limit(None);
    here.check().unwrap();
    here.receive(1).unwrap();
    here.cancel_handle().cancel();
    let awaited = Awaited::Work;
    match here.check().unwrap_err() {
        NetError::Cancelled { awaited: found } => assert_eq!(found, awaited),
        other => panic!("{other:?}"),
    }
    drop(here);
    drop(slow.join().unwrap());
}
