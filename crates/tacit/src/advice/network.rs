//! Advice about errors of connections, identities, pairings and relays.

use std::io;

use tacit_net::NetError;
use tacit_net::pairing::Refusal;
use tacit_net::relay::Answer;

use super::{Advice, advices};

pub(super) fn advice(error: &NetError) -> Advice {
    use NetError as Net;
    advices! { error;
        Net::Timeout { awaited, .. } => (= wait(*awaited)),
        Net::TimeLimit { .. } => ("the peer is slow or stalls; or allow a longer time limit"),
        Net::OnlyOthers { reason, .. } => (= advice(reason)),
        Net::Closed { .. } => ("the other party's own error message says why it left; without one "
            "it was killed, or the network broke"),
        Net::TooLong { .. } | Net::WrongFrame { .. } => ("it speaks another protocol or "
            "misbehaves"),
        Net::OneSidedTls => ("give " [PlainTcp] " to both, for measurements, or to neither"),
        Net::TooLongToSend { .. } => ("send it in parts"),
        Net::WrongIdentity { .. } => ("get the fingerprint again from the other party over a "
            "channel that you trust, and check the address"),
        Net::Worker(_) => ("the party makes a key for its worker by `tacit keygen --for-worker`, "
            "with its own key, and both machines have the right time"),
        Net::Refused { .. } => ("the other side expects another fingerprint: give the other party "
            "this one, or run with the identity whose fingerprint it has"),
        Net::Tls { .. } => ("check that both sides run the same version of Tacit, neither with "
            [PlainTcp] ", and that nothing in between changes the connection"),
        Net::OtherPurpose => ("check that both give the same command, of the same version of "
            "Tacit"),
        Net::NotLoopback { .. } => ("use TLS, or 127.0.0.1 or [::1]"),
        Net::Unreachable { .. } => ("check that the other party or its service runs, listens "
            "there and does not connect as well, and that no firewall is in the way"),
        Net::RelayUnreachable { .. } => ("check that a relay runs there and that no firewall is "
            "in the way"),
        Net::Address { reason, .. } => (= address(reason)),
        Net::IdentityExists { .. } => ("choose another name, or move the file away if nobody "
            "knows its fingerprint any more"),
        Net::IdentityExposed { path, .. } => ("if you trust everyone on this machine run `chmod "
            "600 " {path.display().to_string()} "`, or set `defaultMode: 0400` of the volume if "
            "it is a Kubernetes secret; otherwise make " (MakeIdentity)),
        Net::IdentityFile { .. } => ("check that it exists and that its folder is accessible, or "
            "make " (MakeIdentity)),
        Net::IdentityMalformed { .. } | Net::IdentityText { .. } => ("use an Ed25519 private "
            "key in PEM (PKCS#8), or make " (MakeIdentity)),
        Net::Pairing(refusal) => (= pairing(*refusal)),
        Net::Relay(answer) => (= relay(*answer)),
        Net::Invitations { .. } => ("check that the folder is writable"),
        Net::Clock => ("set the clock"),
        Net::Origin { .. } => ("to allow it, name its origin in `origins`"),
        _ => (),
    }
}

fn wait(awaited: tacit_net::Awaited) -> Advice {
    use tacit_net::Awaited::{AtRelay, Connection};
    advices! { awaited;
        Connection => ("check that the other party connects to this address and does not "
            "listen as well, or allow a longer timeout"),
        AtRelay => ("check that the other party's command runs, and with the same relay, or "
            "allow a longer timeout"),
        _ => ("check that the other party still runs and that the network is up, or allow a longer "
            "timeout"),
    }
}

fn address(reason: &io::Error) -> Advice {
    advices! { reason.kind();
        io::ErrorKind::AddrInUse => ("another program listens there, perhaps a service or an "
            "earlier run of Tacit (`ss -ltnp` shows it): stop it, or take another port"),
        io::ErrorKind::PermissionDenied => ("ports below 1024 need privileges; take another"),
        io::ErrorKind::InvalidInput => ("an address is HOST:PORT: to listen, HOST is this "
            "machine's own; to connect, it is a name or number that leads to the other party"),
        _ => ("check the host's name: to listen, this machine's own; to connect, one that leads to "
            "the other party"),
    }
}

fn pairing(refusal: Refusal) -> Advice {
    advices! { refusal;
        Refusal::Unknown => ("ask for the line again, over another channel if this happens twice"),
        Refusal::Changed => ("ask for a new one over another channel, and do not trust the "
            "channel that it came by"),
        Refusal::Used => ("ask for a new one; if you did not use it, somebody who read it did"),
        Refusal::Late => ("make " (Invite) ", and check that both clocks are right"),
        Refusal::Withdrawn => ("ask for a new invitation"),
        Refusal::OtherCode => ("nothing was saved: pair again, and speak to each other directly"),
        Refusal::Malformed => ("check that both run the same version of Tacit"),
        Refusal::OtherParty => ("ask for a new one over another channel"),
        _ => (),
    }
}

fn relay(answer: Answer) -> Advice {
    advices! { answer;
        Answer::Full => ("try again later, or at another relay"),
        Answer::TooMany => ("end some connections, or try again later"),
        Answer::Replaced => ("run one command with the peer at a time"),
        Answer::Late => ("check that it runs, and with the same relay"),
        Answer::Malformed => ("check that the address is that of a relay of Tacit, of the same "
            "version"),
        _ => (),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tacit_net::Awaited;

    use super::*;

    #[test]
    fn an_address_that_cannot_be_used_has_the_remedy_of_its_cause() {
        for (kind, remedy) in [
            (io::ErrorKind::AddrInUse, "another program listens there"),
            (io::ErrorKind::PermissionDenied, "below 1024"),
            (io::ErrorKind::Other, "check the host's name"),
            (io::ErrorKind::InvalidInput, "HOST:PORT"),
        ] {
            let (address, reason) = ("localhost:1".to_owned(), kind.into());
            let said = advice(&NetError::Address { address, reason }).to_string();
            assert!(said.contains(remedy), "{said}");
        }
    }

    #[test]
    fn who_waits_in_vain_is_told_that_both_may_do_the_same() {
        let after = Duration::from_secs(60);
        let said = |awaited| advice(&NetError::Timeout { awaited, after }).to_string();
        let text = said(Awaited::Connection);
        assert!(text.contains("does not listen as well"), "{text}");
        let text = said(Awaited::AtRelay);
        assert!(text.contains("with the same relay"), "{text}");
        assert!(said(Awaited::Message).contains("still runs"));
        let text = advice(&NetError::Unreachable {
            address: "localhost:1".to_owned(),
            after,
            reason: io::ErrorKind::ConnectionRefused.into(),
        });
        let text = text.to_string();
        assert!(text.contains("does not connect as well"), "{text}");
    }
}
