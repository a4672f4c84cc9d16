//! Identity files and fingerprints.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tacit_net::{Identity, NetError, WorkerTerms};

/// The key of RFC 8410, section 10.3, and the SHA-256 of its public key from section 10.1.
const RFC8410_PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
    -----END PRIVATE KEY-----\n";
const RFC8410_PUBLIC: [u8; 44] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00, 0x19, 0xbf, 0x44, 0x09,
    0x69, 0x84, 0xcd, 0xfe, 0x85, 0x41, 0xba, 0xc1, 0x67, 0xdc, 0x3b, 0x96, 0xc8, 0x50, 0x86, 0xaa,
    0x30, 0xb6, 0xb6, 0xcb, 0x0c, 0x5c, 0x38, 0xad, 0x70, 0x31, 0x66, 0xe1,
];

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file with mode 0600.
    fn private(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        fs::write(&path, text).unwrap();
        set_mode(&path, 0o600);
        path
    }
}

#[cfg(unix)]
fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_path: &std::path::Path, _mode: u32) {}

#[test]
fn the_key_of_the_standard_is_understood_and_written_alike() {
    let folder = Folder::new();
    let identity = Identity::load(&folder.private("rfc", RFC8410_PRIVATE)).unwrap();
    let expected = tacit_net::Fingerprint::of_public_key(&RFC8410_PUBLIC);
    assert_eq!(identity.fingerprint(), expected);
    let copy = folder.file("copy");
    identity.save(&copy).unwrap();
    assert_eq!(fs::read_to_string(copy).unwrap(), RFC8410_PRIVATE);
    assert_eq!(
        expected.to_string(),
        "tacit:uhurkycu4bh2zcm25hzhkezm3qd2lw6e5iwcvu5b77dobustnapvuym5"
    );
}

#[test]
fn an_identity_survives_its_file() {
    let folder = Folder::new();
    let identity = Identity::generate().unwrap();
    let path = folder.file("identity.pem");
    identity.save(&path).unwrap();
    let again = Identity::load(&path).unwrap();
    assert_eq!(identity.fingerprint(), again.fingerprint());
    assert_ne!(
        identity.fingerprint(),
        Identity::generate().unwrap().fingerprint()
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1);
}

#[test]
fn an_identity_is_never_overwritten() {
    let folder = Folder::new();
    let path = folder.private("identity.pem", "precious");
    let error = Identity::generate().unwrap().save(&path).unwrap_err();
    assert!(matches!(&error, NetError::IdentityExists { path: found } if *found == path));
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1);
}

/// Section 3 of RFC 7468, figure 2, and the changes that editors and tools make to a file.
#[test]
fn pem_is_read_as_parsers_should() {
    let expected = Identity::from_pem(RFC8410_PRIVATE.as_bytes()).unwrap();
    let lines: Vec<_> = RFC8410_PRIVATE.lines().collect();
    let [first, base64, last] = lines[..] else {
        panic!("three lines")
    };
    let broken = |at: usize, by: &str| {
        let lines: Vec<_> = base64.as_bytes().chunks(at).collect();
        let lines: Vec<_> = lines
            .iter()
            .map(|line| str::from_utf8(line).unwrap())
            .collect();
        format!("{first}\n{}\n{last}\n", lines.join(by))
    };
    for text in [
        format!("{RFC8410_PRIVATE}\n"),
        format!("{RFC8410_PRIVATE}\n \t\n\r\n"),
        format!("{first}\n{base64}\n{last}"),
        format!("\u{feff}{RFC8410_PRIVATE}"),
        RFC8410_PRIVATE.replace('\n', "\r\n"),
        RFC8410_PRIVATE.replace('\n', "\r"),
        RFC8410_PRIVATE.replace('\n', "  \n"),
        RFC8410_PRIVATE.replace('\n', "\n\n"),
        format!("\n\n  {RFC8410_PRIVATE}"),
        format!("{first}{base64}{last}"),
        format!("Bob's key: keep it\n{RFC8410_PRIVATE}"),
        broken(48, "\n"),
        broken(1, "\n"),
        broken(7, " \t\u{b}\u{c}\r\n"),
    ] {
        let found = Identity::from_pem(text.as_bytes());
        let found = found.unwrap_or_else(|error| panic!("{error}: {text:?}"));
        assert_eq!(found.fingerprint(), expected.fingerprint(), "{text:?}");
    }
    let twice = format!("{RFC8410_PRIVATE}{RFC8410_PRIVATE}");
    let headed = RFC8410_PRIVATE.replacen('\n', "\nProc-Type: 4,ENCRYPTED\n\n", 1);
    let other_end = format!("{first}\n{base64}\n-----END PUBLIC KEY-----\n");
    for (text, told) in [
        (twice.as_str(), "something follows"),
        (&headed, "is no base64"),
        (&other_end, "-----END PRIVATE KEY----- is missing"),
        (
            &format!("x{RFC8410_PRIVATE}"),
            "nothing in it begins with -----BEGIN",
        ),
        (&broken(7, "-"), "is no base64"),
        ("-----BEGIN ", "does not end with -----"),
        (base64, "not in PEM"),
    ] {
        let error = Identity::from_pem(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}: {text:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_use_is_refused() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new();
    let path = folder.private("identity.pem", RFC8410_PRIVATE);
    let refused = |mode| {
        set_mode(&path, mode);
        let error = Identity::load(&path).unwrap_err();
        assert!(matches!(error, NetError::IdentityExposed { mode: found, .. } if found == mode));
    };
    [0o604, 0o620, 0o650, 0o444, 0o666]
        .into_iter()
        .for_each(&refused);
    let is_roots = fs::metadata(&path).unwrap().uid() == 0;
    if is_roots {
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    }
    [0o640, 0o440].into_iter().for_each(&refused);
    if is_roots {
        std::os::unix::fs::chown(&path, Some(0), None).unwrap();
        // These are the modes with which Kubernetes mounts a secret for a pod with an fsGroup.
        for mode in [0o640, 0o440] {
            set_mode(&path, mode);
            assert!(Identity::load(&path).is_ok(), "{mode:o}");
        }
    }
    set_mode(&path, 0o400);
    assert!(Identity::load(&path).is_ok());
    let other = folder.private("letter", "hello");
    set_mode(&other, 0o644);
    let error = Identity::load(&other).unwrap_err();
    assert!(matches!(error, NetError::IdentityMalformed { .. }));
}

#[test]
fn files_that_are_missing_or_hold_something_else() {
    let folder = Folder::new();
    let missing = Identity::load(&folder.file("missing")).unwrap_err();
    assert!(matches!(missing, NetError::IdentityFile { .. }));
    let nowhere = Identity::generate()
        .unwrap()
        .save(&folder.file("no/such/folder"));
    assert!(matches!(
        nowhere.unwrap_err(),
        NetError::IdentityFile { .. }
    ));
    let public = RFC8410_PRIVATE.replace("PRIVATE", "PUBLIC");
    let cut = RFC8410_PRIVATE.replace("EdVhC", "");
    let other_key = RFC8410_PRIVATE.replace("K2Vw", "K2Vu");
    let long = "A".repeat(1 << 20);
    for text in ["", "hello", &public, &cut, &other_key, &long] {
        let error = Identity::load(&folder.private("bad", text)).unwrap_err();
        assert!(
            matches!(error, NetError::IdentityMalformed { .. }),
            "{error:?}"
        );
    }
}

#[test]
fn debug_prints_the_fingerprint_alone() {
    let identity = Identity::generate().unwrap();
    let text = format!("{identity:?}");
    assert_eq!(text, format!("Identity({})", identity.fingerprint()));
}

/// A worker's file has the certificate behind the key, and no other text.
#[test]
fn a_worker_survives_its_file() {
    let folder = Folder::new();
    let party = Identity::generate().unwrap();
    let terms = WorkerTerms::new("pod-3", 1_000_000, Duration::from_secs(60)).unwrap();
    let worker = party.for_worker(&terms).unwrap();
    let path = folder.file("worker.key");
    worker.save(&path).unwrap();
    let again = Identity::load(&path).unwrap();
    assert_eq!(again.worker(), Some(&terms));
    assert_eq!(again.fingerprint(), party.fingerprint());
    assert!(again.for_worker(&terms).is_err());
    let text = fs::read_to_string(&path).unwrap();
    let certificate = &text[text.find("-----BEGIN TACIT WORKER").unwrap()..];
    let other = party.to_pem().unwrap();
    for (text, said) in [
        (format!("{text}{certificate}"), "something follows"),
        (format!("{text}{}", other.as_str()), "something follows"),
        (format!("{}{certificate}", other.as_str()), "another key"),
        (certificate.to_owned(), "label"),
    ] {
        let told = Identity::from_pem(text.as_bytes()).unwrap_err().to_string();
        assert!(told.contains(said), "{told}");
    }
}
