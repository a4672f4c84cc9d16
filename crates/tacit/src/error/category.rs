//! The kinds of errors that a caller treats differently.

use std::io;

use tacit_net::NetError;
use tacit_net::pairing::Refusal;
use tacit_protocol::Error as ProtocolError;
use tacit_protocol::message::AbortReason;
use tacit_stock::StockError;

use super::Error;

/// The kinds of errors that a caller treats differently. The value is the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Category {
    /// The command or the library was used in a wrong way.
    Usage = 2,
    /// An input, circuit, function or key file is invalid.
    Input = 3,
    /// The peer misbehaved.
    Peer = 4,
    /// The parties want different things.
    Incompatible = 5,
    /// The network or the peer failed.
    Network = 6,
    /// The stock is damaged, used up or untrustworthy.
    Stock = 7,
    /// A person or a signal cancelled the run.
    Cancelled = 130,
}

impl Error {
    /// Returns the error's category.
    pub fn category(&self) -> Category {
        match self {
            Self::OfParty { error, .. } => error.category(),
            Self::Input(_) | Self::Circuit(_) | Self::Function(_) | Self::Library(_) => {
                Category::Input
            }
            Self::StockDestroyed { .. } => Category::Peer,
            Self::Protocol(error) => protocol_category(error),
            Self::OtherFunction { .. } | Self::OtherSize { .. } | Self::TooManyPeerKeys { .. } => {
                Category::Incompatible
            }
            Self::Network(error) => network_category(error),
            Self::SessionOver { .. } | Self::Randomness(_) => Category::Network,
            Self::Stock(error) => match **error {
                StockError::PeerMisbehaved { .. } => Category::Peer,
                StockError::ApiMisuse { .. } => Category::Usage,
                StockError::NotAllowed { .. } => Category::Incompatible,
                _ => Category::Stock,
            },
            Self::Material { .. }
            | Self::NothingChecked { .. }
            | Self::StockLacks { .. }
            | Self::TooManyTries { .. }
            | Self::ChainBaseOt { .. }
            | Self::OtherProgram { .. }
            | Self::Replaces { .. } => Category::Stock,
            Self::ChainsDiffer { .. } | Self::ChainElsewhere { .. } => Category::Incompatible,
            Self::ExecutionTooLarge { .. }
            | Self::SchemeNotFor { .. }
            | Self::NoProtocol { .. }
            | Self::JoinsNot { .. }
            | Self::ApiMisuse(_) => Category::Usage,
        }
    }
}

fn protocol_category(error: &ProtocolError) -> Category {
    match error {
        ProtocolError::PeerMisbehaved(_) | ProtocolError::PeerAborted(AbortReason::Misbehaved) => {
            Category::Peer
        }
        ProtocolError::PeerIncompatible(_)
        | ProtocolError::PeerAborted(
            AbortReason::Incompatible
            | AbortReason::NotAllowed
            | AbortReason::TooOften
            | AbortReason::KeysSpent
            | AbortReason::TooLarge
            | AbortReason::OtherLane
            | AbortReason::TableNotAllowed
            | AbortReason::OrderNotAllowed
            | AbortReason::NoRoom
            | AbortReason::DiskFull
            | AbortReason::OtherServer
            | AbortReason::Unknown,
        ) => Category::Incompatible,
        ProtocolError::PeerAborted(AbortReason::NothingInStock)
        | ProtocolError::Material(_)
        | ProtocolError::DamagedMaterial(_)
        | ProtocolError::OtherChain { .. }
        | ProtocolError::SavedType { .. } => Category::Stock,
        ProtocolError::PeerAborted(_) | ProtocolError::Wire => Category::Network,
        _ => Category::Usage,
    }
}

fn network_category(error: &NetError) -> Category {
    match error {
        NetError::Cancelled { .. } => Category::Cancelled,
        NetError::TooLong { .. } | NetError::WrongFrame { .. } => Category::Peer,
        NetError::WrongIdentity { .. }
        | NetError::Worker(_)
        | NetError::Refused { .. }
        | NetError::OneSidedTls
        | NetError::OtherPurpose => Category::Incompatible,
        NetError::Pairing(Refusal::Malformed) => Category::Peer,
        NetError::Pairing(_) => Category::Incompatible,
        NetError::OnlyOthers { reason, .. } => network_category(reason),
        NetError::NotLoopback { .. } => Category::Usage,
        NetError::Address { reason, .. } if reason.kind() == io::ErrorKind::InvalidInput => {
            Category::Usage
        }
        NetError::IdentityExists { .. }
        | NetError::IdentityExposed { .. }
        | NetError::IdentityFile { .. }
        | NetError::IdentityMalformed { .. }
        | NetError::Invitations { .. }
        | NetError::Clock
        | NetError::IdentityText { .. }
        | NetError::KeyElsewhere => Category::Input,
        _ => Category::Network,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do_and_only_a_busy_peer_is_asked_again() {
        for (reason, category) in [
            (AbortReason::NotAllowed, Category::Incompatible),
            (AbortReason::Busy, Category::Network),
            (AbortReason::TooOften, Category::Incompatible),
            (AbortReason::KeysSpent, Category::Incompatible),
            (AbortReason::TooLarge, Category::Incompatible),
            (AbortReason::OtherLane, Category::Incompatible),
            (AbortReason::TableNotAllowed, Category::Incompatible),
            (AbortReason::OrderNotAllowed, Category::Incompatible),
            (AbortReason::NoRoom, Category::Incompatible),
            (AbortReason::DiskFull, Category::Incompatible),
            (AbortReason::OtherServer, Category::Incompatible),
            (AbortReason::Unknown, Category::Incompatible),
            (AbortReason::NothingInStock, Category::Stock),
        ] {
            let error = Error::Protocol(ProtocolError::PeerAborted(reason));
            assert_eq!(error.category(), category, "{error}");
            let advice = error.advice().to_string();
            assert!(
                !advice.is_empty() && !advice.contains("  "),
                "{error}: {advice}"
            );
        }
    }

    #[test]
    fn a_peer_is_told_that_there_is_no_room() {
        let full = StockError::Full {
            folder: "s".into(),
            what: "a lot".to_owned(),
            needed: 2,
            held: 1,
            limit: 2,
        };
        let disk_full = StockError::DiskFull {
            file: "s/index.db".into(),
            doing: "write it",
        };
        for (error, reason) in [
            (full, AbortReason::NoRoom),
            (disk_full, AbortReason::DiskFull),
        ] {
            let error = Error::from(error);
            assert_eq!(error.category(), Category::Stock);
            assert_eq!(error.abort_reason(), reason, "{error}");
        }
    }

    #[test]
    fn a_host_that_nobody_knows_is_the_networks_and_no_address_is_the_callers() {
        let category = |kind: io::ErrorKind| {
            let address = String::new();
            let reason = kind.into();
            Error::from(NetError::Address { address, reason }).category()
        };
        assert_eq!(category(io::ErrorKind::InvalidInput), Category::Usage);
        assert_eq!(category(io::ErrorKind::Other), Category::Network);
    }
}
