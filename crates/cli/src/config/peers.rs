//! Adds a peer to `tacit.toml`, and leaves everything else in it as it is.

use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use tacit::circuit::Digest;
use tacit::{Fingerprint, Role};

use super::{Config, folder_of};
use crate::failure::{Failure, usage};

/// The result of a pairing.
pub(crate) struct NewPeer {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) way: NewWay,
    /// This party's role with the peer, unless an argument says otherwise.
    pub(crate) role: Role,
}

/// The way in which this party and the peer meet.
pub(crate) enum NewWay {
    /// This party listens at this address.
    Listen(String),
    /// The peer listens at this address.
    Connect(String),
    /// Both connect to this relay and name this room.
    Relay(String, [u8; 32]),
}

impl NewPeer {
    fn table(&self, name: &str) -> String {
        let mut text = format!("[peers.{name}]\n");
        // No text in quotes contains a character that needs an escape: fingerprints and roles have
        // plain forms, and the invitation's check restricts addresses.
        let _ = writeln!(text, "fingerprint = \"{}\"", self.fingerprint);
        let (field, address) = match &self.way {
            NewWay::Listen(address) => ("listen", address),
            NewWay::Connect(address) => ("address", address),
            NewWay::Relay(address, _) => ("relay", address),
        };
        let _ = writeln!(text, "{field} = {}", toml::Value::from(address.as_str()));
        if let NewWay::Relay(_, room) = self.way {
            let _ = writeln!(text, "room = \"{}\"", Digest(room));
        }
        let _ = writeln!(text, "role = \"{}\"", self.role.name());
        text
    }
}

/// Checks that a peer can be added under a name.
pub(crate) fn check_new_name(config: &Config, file: &Path, name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(usage!(
            "--name {name:?} cannot be a peer's name";
            "take 1 to 64 letters, digits, - and _"
        ));
    }
    if config.peers.contains_key(name) {
        return Err(usage!(
            "{} has [peers.{name}] already", file.display();
            "give another --name, or remove it there first"
        ));
    }
    Ok(())
}

/// Writes the peer into the configuration at `file`, completely or not at all.
pub(crate) fn add_peer(file: &Path, name: &str, peer: &NewPeer) -> Result<(), Failure> {
    // A symbolic link stays one: the file that it leads to is replaced.
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let failed = |error: std::io::Error| Failure::write(file, &error);
    let old = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let gap = match old.as_str() {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let text = format!("{old}{gap}{}", peer.table(name));
    let is_right = Config::parse(&text).is_ok_and(|config| config.peers.contains_key(name));
    if !is_right {
        let table = peer.table(name);
        let table = table.trim_end().replace('\n', ", ");
        let reason = format!("[peers.{name}] cannot be added at its end; add it by hand: {table}");
        return Err(Failure::config(file, &reason));
    }
    let mut new = tempfile::NamedTempFile::new_in(folder_of(file)).map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    if let Ok(metadata) = fs::metadata(file) {
        let mode = metadata.permissions();
        new.as_file().set_permissions(mode).map_err(failed)?;
    }
    new.as_file().sync_all().map_err(failed)?;
    new.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bob() -> NewPeer {
        NewPeer {
            fingerprint: Fingerprint([7; 32]),
            way: NewWay::Listen("0.0.0.0:7000".to_owned()),
            role: Role::Garbler,
        }
    }

    #[test]
    fn what_stands_in_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tacit.toml");
        add_peer(&file, "bob", &bob()).unwrap();
        let first = fs::read_to_string(&file).unwrap();
        assert!(first.starts_with("[peers.bob]\n"), "{first}");
        let old = "# mine\n[timeouts]\nrun = \"1m\" # short";
        fs::write(&file, old).unwrap();
        add_peer(&file, "bob", &bob()).unwrap();
        let config = Config::load(Some(&file)).unwrap();
        assert_eq!(config.peers["bob"].fingerprint, Fingerprint([7; 32]));
        assert_eq!(config.peers["bob"].role, Some(Role::Garbler));
        assert_eq!(config.peers["bob"].listen.as_deref(), Some("0.0.0.0:7000"));
        assert!(fs::read_to_string(&file).unwrap().starts_with(old));
        // A name that is taken, and a table that cannot be extended.
        assert!(add_peer(&file, "bob", &bob()).is_err());
        fs::write(&file, "peers = {}\n").unwrap();
        assert!(add_peer(&file, "bob", &bob()).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "peers = {}\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_and_a_mode_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["mine.toml", "tacit.toml"].map(|name| folder.path().join(name));
        fs::write(&file, "# mine\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&file, &link).unwrap();
        add_peer(&link, "bob", &bob()).unwrap();
        assert_eq!(fs::read_link(&link).unwrap(), file);
        assert!(fs::read_to_string(&file).unwrap().contains("[peers.bob]"));
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn names_are_plain_and_new() {
        let file = Path::new("tacit.toml");
        let config = Config::parse(&bob().table("bob")).unwrap();
        assert!(check_new_name(&config, file, "carol-2_x").is_ok());
        for wrong in ["", "bob", "a.b", "a b", "tacit:x", "é", &"a".repeat(65)] {
            assert!(check_new_name(&config, file, wrong).is_err(), "{wrong}");
        }
    }
}
