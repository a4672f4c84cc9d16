//! Metrics and health over HTTP: two paths, answered and closed.
//!
//! | path | answer |
//! |---|---|
//! | `/metrics` | [`Metrics::text`](crate::Metrics::text) |
//! | `/health` | 200 while peers are accepted, 503 after |
//!
//! It says who the peers are and how often they come, so that it belongs on a loopback address.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Most bytes of a request's head, and most of its fields.
const MAX_HEAD_BYTES: usize = 8192;
const MAX_FIELDS: usize = 64;
/// For a request and its answer together.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most requests at once.
const MAX_REQUESTS: usize = 8;
/// The pause between two looks for a connection.
const PAUSE: Duration = Duration::from_millis(20);

/// What is asked for.
pub trait Answers: Send + Sync {
    /// The text of `/metrics`.
    fn metrics(&self) -> String;
    /// Whether `/health` is good, and a JSON object that says more.
    fn health(&self) -> (bool, String);
}

/// A server, which ends when this is dropped.
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Answers at `address`, such as `127.0.0.1:9464`; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// The address is not this machine's, or is taken.
    pub fn start(address: &str, answers: Arc<dyn Answers>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        // Accepting cannot be given a timeout, so it never blocks and is repeated.
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || serve(&listener, &stopped, &answers))?;
        Ok(Self {
            address,
            stop,
            thread: Some(thread),
        })
    }

    /// The address with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A panic there has been told already.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, stop: &AtomicBool, answers: &Arc<dyn Answers>) {
    let running = Arc::new(());
    while !stop.load(Ordering::Acquire) {
        match listener.accept() {
            Ok((socket, _)) if Arc::strong_count(&running) <= MAX_REQUESTS => {
                let (answers, running) = (Arc::clone(answers), Arc::clone(&running));
                // Where no thread is to be had, or the client leaves, the client asks again.
                let _ = thread::Builder::new().spawn(move || {
                    let _ = answer(socket, answers.as_ref());
                    drop(running);
                });
            }
            Ok(_) | Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn answer(mut socket: TcpStream, answers: &dyn Answers) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    let end = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let (status, kind, body) = match request(&mut socket, &mut head, end)? {
        Some(Asked::Metrics) => (
            "200 OK",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            answers.metrics(),
        ),
        Some(Asked::Health) => match answers.health() {
            (true, body) => ("200 OK", "application/json", body),
            (false, body) => ("503 Service Unavailable", "application/json", body),
        },
        Some(Asked::Other) => (
            "404 Not Found",
            "text/plain",
            "/metrics or /health\n".to_owned(),
        ),
        None => (
            "400 Bad Request",
            "text/plain",
            "GET /metrics or /health\n".to_owned(),
        ),
    };
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}"
    );
    socket.set_write_timeout(Some(left(end)?))?;
    socket.write_all(response.as_bytes())
}

enum Asked {
    Metrics,
    Health,
    Other,
}

/// What is asked for; `None` where it is no GET.
fn request(socket: &mut TcpStream, head: &mut Vec<u8>, end: Instant) -> io::Result<Option<Asked>> {
    let mut bytes = [0; 1024];
    loop {
        socket.set_read_timeout(Some(left(end)?))?;
        let count = socket.read(&mut bytes)?;
        head.extend_from_slice(&bytes[..count]);
        if let Some(asked) = parse(head) {
            return Ok(asked);
        }
        if count == 0 || head.len() > MAX_HEAD_BYTES {
            return Ok(None);
        }
    }
}

/// What a whole head asks for; the outer `None` where it is not whole yet.
fn parse(head: &[u8]) -> Option<Option<Asked>> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    match request.parse(head) {
        Ok(httparse::Status::Partial) => None,
        Err(_) => Some(None),
        Ok(httparse::Status::Complete(_)) => {
            if request.method != Some("GET") {
                return Some(None);
            }
            let path = request.path.unwrap_or_default();
            Some(Some(match path.split('?').next() {
                Some("/metrics") => Asked::Metrics,
                Some("/health") => Asked::Health,
                _ => Asked::Other,
            }))
        }
    }
}

fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    match left.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(left),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(bool);

    impl Answers for Fixed {
        fn metrics(&self) -> String {
            "tacit_sessions 3\n".to_owned()
        }

        fn health(&self) -> (bool, String) {
            (self.0, "{}".to_owned())
        }
    }

    fn ask(server: &Server, request: &[u8]) -> String {
        let mut socket = TcpStream::connect(server.local_address()).unwrap();
        socket.write_all(request).unwrap();
        let mut text = String::new();
        // A server that refuses a head in the middle may close over the rest of it.
        let _ = socket.read_to_string(&mut text);
        text
    }

    #[test]
    fn paths_are_answered_and_everything_else_is_not() {
        let server = Server::start("127.0.0.1:0", Arc::new(Fixed(true))).unwrap();
        let metrics = ask(&server, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
        assert!(metrics.ends_with("\r\n\r\ntacit_sessions 3\n"), "{metrics}");
        for (request, status) in [
            (&b"GET /health HTTP/1.1\r\n\r\n"[..], "200"),
            (b"GET /health?x=1 HTTP/1.0\r\n\r\n", "200"),
            (b"GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "400"),
            (b"\x16\x03\x01\x00\xff\r\n\r\n", "400"),
            (&[b'a'; MAX_HEAD_BYTES + 2000], "400"),
        ] {
            let answer = ask(&server, request);
            // Where the server closed over unread bytes the answer may be lost.
            let lost = answer.is_empty() && request.len() > MAX_HEAD_BYTES;
            assert!(
                lost || answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{answer}"
            );
        }
    }

    #[test]
    fn health_says_when_peers_are_no_longer_accepted() {
        let server = Server::start("127.0.0.1:0", Arc::new(Fixed(false))).unwrap();
        let answer = ask(&server, b"GET /health HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
}
