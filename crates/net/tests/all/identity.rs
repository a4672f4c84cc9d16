//! Identity files and fingerprints.

use std::fs;
use std::path::PathBuf;

use tacit_net::{Identity, NetError};

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

    /// A file with mode 0600.
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

#[cfg(unix)]
#[test]
fn a_file_that_others_can_use_is_refused() {
    let folder = Folder::new();
    let path = folder.private("identity.pem", RFC8410_PRIVATE);
    for mode in [0o640, 0o604, 0o620, 0o666] {
        set_mode(&path, mode);
        let error = Identity::load(&path).unwrap_err();
        assert!(matches!(error, NetError::IdentityExposed { mode: found, .. } if found == mode));
        assert!(error.to_string().contains("chmod 600"));
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
