//! Metrics and health over HTTP: four paths, answered and closed.
//!
//! | path | answer | accepted host |
//! |---|---|---|
//! | `/metrics` | [`Metrics::text`](crate::Metrics::text) | its own |
//! | `/health` | 200 while peers are accepted, 503 after; says why | its own |
//! | `/readyz` | the status of `/health`, and no more than `ready` or `not ready` | any |
//! | `/livez` | 200 and `live` | any |
//!
//! The first two say who the peers are and how often they come, so they belong on a loopback
//! address. A page in a browser could resolve a name of its own to that address; therefore they
//! answer only a request that names an address, `localhost` or the configured name. A load balancer
//! may use any name for the other two, which say nothing that a connection to the service would
//! not.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::accepting::{Accepting, Unheard};

/// The limits on a request's head: its bytes and its fields.
const MAX_HEAD_BYTES: usize = 8192;
const MAX_FIELDS: usize = 64;
/// The longest time for a request and its answer together.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest number of clients that have not sent all of their request. Beyond it, one of them
/// gives way to the next.
const MAX_SILENT: usize = 8;
/// The largest number of threads: one whose client has given way takes a moment to notice.
const MAX_THREADS: usize = 2 * MAX_SILENT;

/// The source of the answers.
pub trait Answers: Send + Sync {
    /// Returns the text of `/metrics`.
    fn metrics(&self) -> String;
    /// Returns whether `/health` is good, and a JSON object with the details.
    fn health(&self) -> (bool, String);
}

/// A server, which stops when this is dropped.
pub struct Server(Accepting);

impl Server {
    /// Starts a server at `address`, such as `127.0.0.1:9464`. Port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// The address is not this machine's, or is taken.
    pub fn start(address: &str, answers: Arc<dyn Answers>) -> io::Result<Self> {
        Self::start_within(PATIENCE, address, answers)
    }

    /// Does what [`Server::start`] does, with this patience for a request and its answer together.
    fn start_within(
        patience: Duration,
        address: &str,
        answers: Arc<dyn Answers>,
    ) -> io::Result<Self> {
        let settings = ServerSettings {
            name: host(address).to_owned(),
            answers,
            patience,
        };
        let running = Arc::new(());
        let of_threads = Arc::clone(&running);
        let accepting = Accepting::start(
            ("metrics", address),
            MAX_SILENT,
            move || Arc::strong_count(&running) <= MAX_THREADS + 1,
            move |socket, _, unheard| {
                let _running = Arc::clone(&of_threads);
                // A client whose request failed asks again.
                let _ = answer(&socket, &settings, unheard);
            },
        )?;
        Ok(Self(accepting))
    }

    /// Returns the address with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// The settings of a server.
struct ServerSettings {
    name: String,
    answers: Arc<dyn Answers>,
    patience: Duration,
}

/// Answers a request, which is `unheard` until all of it has arrived.
fn answer(socket: &TcpStream, settings: &ServerSettings, unheard: Unheard) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    let end = Instant::now() + settings.patience;
    let asked = request(socket, &settings.name, end)?;
    drop(unheard);
    let answers = settings.answers.as_ref();
    let (status, kind, body) = match asked {
        Some(RequestedPath::Metrics) => (
            "200 OK",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            answers.metrics(),
        ),
        Some(RequestedPath::Health) => match answers.health() {
            (true, body) => ("200 OK", "application/json", body),
            (false, body) => ("503 Service Unavailable", "application/json", body),
        },
        Some(RequestedPath::Live) => ("200 OK", "text/plain", "live\n".to_owned()),
        Some(RequestedPath::Ready) => {
            if answers.health().0 {
                ("200 OK", "text/plain", "ready\n".to_owned())
            } else {
                (
                    "503 Service Unavailable",
                    "text/plain",
                    "not ready\n".to_owned(),
                )
            }
        }
        Some(RequestedPath::Other) => (
            "404 Not Found",
            "text/plain",
            "/metrics, /health, /readyz or /livez\n".to_owned(),
        ),
        Some(RequestedPath::Elsewhere) => (
            "421 Misdirected Request",
            "text/plain",
            "ask by address, as localhost, or by the name under `metrics` in [serve]\n".to_owned(),
        ),
        None => (
            "400 Bad Request",
            "text/plain",
            "GET /metrics, /health, /readyz or /livez\n".to_owned(),
        ),
    };
    let length = body.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{body}"
    );
    write_by(end, socket, response.as_bytes())
}

/// Writes all of `rest`. Fails once `end` is over, even if the client takes some now and then.
fn write_by(end: Instant, mut socket: &TcpStream, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        socket.set_write_timeout(Some(left(end)?))?;
        match socket.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum RequestedPath {
    Metrics,
    Health,
    Ready,
    Live,
    Other,
    /// A path for another host.
    Elsewhere,
}

/// Reads a request to the host called `name`. Returns `None` if it is no GET.
fn request(mut socket: &TcpStream, name: &str, end: Instant) -> io::Result<Option<RequestedPath>> {
    let (mut head, mut bytes) = (Vec::new(), [0; 1024]);
    loop {
        socket.set_read_timeout(Some(left(end)?))?;
        let count = socket.read(&mut bytes)?;
        head.extend_from_slice(&bytes[..count]);
        if let Some(asked) = parse(&head, name) {
            return Ok(asked);
        }
        if count == 0 || head.len() > MAX_HEAD_BYTES {
            return Ok(None);
        }
    }
}

/// Parses a head. The outer `None` means that the head is not complete yet.
fn parse(head: &[u8], name: &str) -> Option<Option<RequestedPath>> {
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
            let asked = match path.split('?').next() {
                Some("/metrics") => RequestedPath::Metrics,
                Some("/health") => RequestedPath::Health,
                Some("/readyz") => RequestedPath::Ready,
                Some("/livez") => RequestedPath::Live,
                _ => RequestedPath::Other,
            };
            let fields = request.headers.iter();
            let mut hosts = fields.filter(|field| field.name.eq_ignore_ascii_case("host"));
            let is_for_any = matches!(asked, RequestedPath::Ready | RequestedPath::Live);
            let is_here = is_for_any || hosts.all(|field| is_own(field.value, name));
            Some(Some(if is_here {
                asked
            } else {
                RequestedPath::Elsewhere
            }))
        }
    }
}

/// Returns whether a request for this host is for the one called `name`: it names that host or an
/// address, to which no foreign name can resolve.
fn is_own(asked: &[u8], name: &str) -> bool {
    let Ok(asked) = std::str::from_utf8(asked) else {
        return false;
    };
    let asked = host(asked.trim());
    let is_address = asked.parse::<IpAddr>().is_ok();
    is_address || [name, "localhost"].map(|own| own.eq_ignore_ascii_case(asked)) != [false; 2]
}

/// Returns the host of `HOST:PORT`, `HOST` or `[ADDRESS]:PORT`.
fn host(text: &str) -> &str {
    match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => text.split_once(':').map_or(text, |(host, _)| host),
    }
}

fn left(end: Instant) -> io::Result<Duration> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() {
        Err(io::ErrorKind::TimedOut.into())
    } else {
        Ok(left)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

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
        // A server that refuses an incomplete head may close before it has read the rest.
        let _ = socket.read_to_string(&mut text);
        text
    }

    #[test]
    fn paths_are_answered_and_everything_else_is_not() {
        let server = Server::start("127.0.0.1:0", Arc::new(Fixed(true))).unwrap();
        let metrics = ask(&server, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
        assert!(metrics.ends_with("\r\n\r\ntacit_sessions 3\n"), "{metrics}");
        for (request, status) in [
            (&b"GET /health HTTP/1.1\r\n\r\n"[..], "200"),
            (b"GET /health?x=1 HTTP/1.0\r\n\r\n", "200"),
            (b"GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "400"),
            (
                b"GET /metrics HTTP/1.1\r\nHost: evil.example:9464\r\n\r\n",
                "421",
            ),
            (b"\x16\x03\x01\x00\xff\r\n\r\n", "400"),
            (&[b'a'; MAX_HEAD_BYTES + 2000], "400"),
        ] {
            let answer = ask(&server, request);
            // If the server closed with unread bytes, the answer may be lost.
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

    #[test]
    fn only_this_host_is_answered_for() {
        let asked = |hosts: &[&str]| {
            let fields = hosts.iter().map(|host| format!("host: {host}\r\n"));
            let fields: String = fields.collect();
            let head = format!("GET /health HTTP/1.1\r\n{fields}\r\n");
            parse(head.as_bytes(), "tally.internal")
        };
        for own in [
            &[][..],
            &["localhost"],
            &["LOCALHOST:9464"],
            &["127.0.0.1:9464"],
            &["[::1]:9464"],
            &["10.0.0.7"],
            &["Tally.internal:9464"],
        ] {
            assert_eq!(asked(own), Some(Some(RequestedPath::Health)), "{own:?}");
        }
        for other in [
            &["evil.example"][..],
            &["evil.example:9464"],
            &["127.0.0.1.evil.example"],
            &["localhost.evil.example:9464"],
            &["localhost", "evil.example"],
            &[""],
            &["[::1"],
        ] {
            assert_eq!(
                asked(other),
                Some(Some(RequestedPath::Elsewhere)),
                "{other:?}"
            );
        }
    }

    #[test]
    fn a_load_balancer_asks_by_any_name_and_learns_nothing_else() {
        let host = "Host: balancer.example:80";
        for (is_good, path, status, body) in [
            (true, "livez", "200", "live\n"),
            (false, "livez", "200", "live\n"),
            (true, "readyz", "200", "ready\n"),
            (false, "readyz", "503", "not ready\n"),
            (
                true,
                "health",
                "421",
                "ask by address, as localhost, or by the name under `metrics` in [serve]\n",
            ),
        ] {
            let server = Server::start("127.0.0.1:0", Arc::new(Fixed(is_good))).unwrap();
            let request = format!("GET /{path} HTTP/1.1\r\n{host}\r\n\r\n");
            let answer = ask(&server, request.as_bytes());
            let told = answer.split_once("\r\n\r\n").map(|(_, told)| told);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{path}");
            assert_eq!(told, Some(body), "{path}");
        }
    }

    #[test]
    fn a_request_has_its_time() {
        let server = Server::start("127.0.0.1:0", Arc::new(Fixed(true))).unwrap();
        let mut socket = TcpStream::connect(server.local_address()).unwrap();
        // The client sends a byte now and then, which would take half a minute in all.
        let cut = (0..100).position(|_| {
            thread::sleep(Duration::from_millis(300));
            socket.write_all(b"a").is_err()
        });
        assert!(cut.is_some());
    }

    /// More than sockets have room for.
    struct Long;

    impl Answers for Long {
        fn metrics(&self) -> String {
            "#".repeat(64 << 20)
        }

        fn health(&self) -> (bool, String) {
            (true, "{}".to_owned())
        }
    }

    #[test]
    fn a_client_that_reads_slowly_has_its_time() {
        let patience = Duration::from_millis(500);
        let server = Server::start_within(patience, "127.0.0.1:0", Arc::new(Long)).unwrap();
        let mut socket = TcpStream::connect(server.local_address()).unwrap();
        socket.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        // It takes some bytes again and again, and all of them only after ten times the patience.
        let (mut bytes, mut taken) = (vec![0; 64 << 10], 0);
        while let Ok(count @ 1..) = socket.read(&mut bytes) {
            taken += count;
            thread::sleep(Duration::from_millis(5));
        }
        assert!(taken < 64 << 20);
    }

    #[test]
    fn clients_that_say_nothing_starve_nobody() {
        let server = Server::start("127.0.0.1:0", Arc::new(Fixed(true))).unwrap();
        let silent = [(); 3 * MAX_SILENT].map(|()| {
            let mut socket = TcpStream::connect(server.local_address()).unwrap();
            socket.write_all(b"GET /hea").unwrap();
            socket
        });
        let answer = ask(&server, b"GET /health HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        drop(silent);
    }
}
