//! How much is told of those who are refused.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use tacit_serve::{Event, Service};

use crate::scene::{Scene, millionaires};

/// Somebody who is no peer comes, and is refused.
fn stranger(service: &Service) {
    let mut socket = TcpStream::connect(service.local_address()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // An alert, or a connection that was reset.
    let _ = socket.read_to_end(&mut Vec::new());
}

#[test]
fn strangers_do_not_fill_the_log() {
    let scene = Scene::new(1);
    let offers = vec![scene.offer(vec![millionaires(8)])];
    let service = scene.start(scene.policy(offers, Vec::new(), Scene::limits()));
    let began = Instant::now();
    (0..100).for_each(|_| stranger(&service));
    let is_told = |event: &&Event| matches!(event, Event::Refused { peer: None, .. });
    let told = scene.events().iter().filter(is_told).count() as u64;
    // Twenty, and one each three seconds since.
    assert!(told <= 21 + began.elapsed().as_secs() / 3, "{told}");
    // The others are counted, and told with the next one.
    let is_more = |event: &Event| matches!(event, Event::RefusedMore { peer: None, .. });
    let told = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(200));
        stranger(&service);
        scene.events().iter().any(is_more)
    });
    assert!(told, "{:?}", scene.events());
}
