//! Files of one folder by HTTP/1.1, for pages on this machine: GET alone, one request a connection.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The longest head of a request.
const MAX_HEAD: usize = 16 << 10;
/// For a request to come, and for the answer to go.
const PATIENCE: Duration = Duration::from_secs(10);

/// What every answer says. The first two isolate a page, which may then share memory with its
/// workers; the third lets it run its own scripts and nothing else.
const HEADERS: &str = "Cross-Origin-Opener-Policy: same-origin\r\n\
    Cross-Origin-Embedder-Policy: require-corp\r\n\
    Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
    worker-src 'self'; connect-src 'self' ws: wss:; style-src 'self'; img-src 'self' data:; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
    X-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\n\
    Cache-Control: no-cache\r\n\
    Connection: close\r\n";

/// Serves `folder` at `address` until the process ends; prints the address with the port taken.
pub(crate) fn serve(folder: &Path, address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    println!("http://{}/", listener.local_addr()?);
    let folder = Arc::new(folder.canonicalize()?);
    for stream in listener.incoming() {
        let folder = Arc::clone(&folder);
        // A browser that leaves is no matter.
        thread::spawn(move || stream.and_then(|stream| answer(stream, &folder)));
    }
    Ok(())
}

fn answer(mut stream: TcpStream, folder: &Path) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let found = request(&mut stream)?.and_then(|path| find(folder, &path));
    let (status, kind, body) = match found {
        Some(Found::File(kind, body)) => ("200 OK", kind, body),
        Some(Found::Folder(address)) => {
            let status = "301 Moved Permanently";
            write!(
                stream,
                "HTTP/1.1 {status}\r\nLocation: {address}\r\nContent-Length: 0\r\n{HEADERS}\r\n"
            )?;
            return Ok(());
        }
        None => ("404 Not Found", "text/plain", b"not found\n".to_vec()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{HEADERS}\r\n"
    )?;
    stream.write_all(&body)
}

/// The path of a GET.
fn request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&head) {
            Ok(status) if status.is_complete() => {
                let path = request.path.filter(|_| request.method == Some("GET"));
                return Ok(path.map(str::to_owned));
            }
            Ok(_) if head.len() < MAX_HEAD => {}
            _ => return Ok(None),
        }
        let mut piece = [0; 4096];
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            count => head.extend_from_slice(&piece[..count]),
        }
    }
}

/// What is at a path.
enum Found {
    /// A file: its kind, and what is in it.
    File(&'static str, Vec<u8>),
    /// A folder whose path does not end in a slash, and the path that does: a page's own addresses
    /// are relative to it.
    Folder(String),
}

/// What is at a path of the folder.
fn find(folder: &Path, asked: &str) -> Option<Found> {
    let path = asked.split(['?', '#']).next()?.strip_prefix('/')?;
    let mut place = PathBuf::from(folder);
    for part in Path::new(path).components() {
        match part {
            Component::Normal(part) => place.push(part),
            _ => return None,
        }
    }
    if place.is_dir() {
        if !path.is_empty() && !path.ends_with('/') {
            let rest = &asked[1 + path.len()..];
            return Some(Found::Folder(format!("/{path}/{rest}")));
        }
        place.push("index.html");
    }
    let kind = match place.extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript",
        "css" => "text/css",
        "wasm" => "application/wasm",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "webmanifest" => "application/manifest+json",
        "tacit" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    // A link that leads out of the folder is not followed.
    let place = place.canonicalize().ok()?;
    if !place.starts_with(folder) {
        return None;
    }
    Some(Found::File(kind, fs::read(place).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_file(folder: &Path, path: &str) -> bool {
        matches!(find(folder, path), Some(Found::File(..)))
    }

    #[test]
    fn files_of_the_folder_are_found_and_no_others() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let folder = folder.canonicalize().unwrap();
        assert!(is_file(&folder, "/main.rs?x"));
        for path in [
            "/../Cargo.toml",
            "/x/../../Cargo.toml",
            "main.rs",
            "/",
            "//etc/passwd",
            "/none.js",
        ] {
            assert!(find(&folder, path).is_none(), "{path}");
        }
    }

    #[test]
    fn a_folder_without_a_slash_leads_to_the_one_with_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (asked, expected) in [("/src", "/src/"), ("/src?party=bob", "/src/?party=bob")] {
            let found = find(folder, asked);
            assert!(
                matches!(&found, Some(Found::Folder(address)) if address == expected),
                "{asked}"
            );
        }
        for none in ["/src/", "//src", "/src/../src", "/none"] {
            assert!(find(folder, none).is_none(), "{none}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let folder = std::env::temp_dir().join(format!("tacit-web-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        fs::write(folder.join("file.json"), "{}").unwrap();
        let outside = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        std::os::unix::fs::symlink(outside, folder.join("link.json")).unwrap();
        let found = ["/file.json", "/link.json"].map(|path| is_file(&folder, path));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, [true, false]);
    }
}
