//! The values that generator and cloud keep in a run of three parties, and the end of a chain.

use tacit_protocol::io::Message;
use tacit_protocol::outsourced::{Peer, kills_chain};

use super::links::Links;
use crate::kept::{ChainInUse, OtherKeeper, VERSION_KEPT};
use crate::{Category, Error, Session};

/// The other server, over the link to it.
pub(super) struct OtherServer<'l, 's> {
    pub(super) links: &'l mut Links<'s>,
    pub(super) peer: Peer,
}

impl OtherKeeper for OtherServer<'_, '_> {
    fn name(&self) -> &'static str {
        self.peer.name()
    }

    fn swap(&mut self, message: Message, ours: &[u8]) -> Result<Vec<u8>, Error> {
        let swap = |session: &mut Session| session.swap(message, ours);
        self.links.with(self.peer, swap)
    }

    fn blame(&self, error: Error) -> Error {
        error.of_party(self.peer)
    }
}

/// Tells the evaluator that both servers have kept this version.
pub(super) fn tell_kept(links: &mut Links<'_>, version: u64) -> Result<(), Error> {
    links.with(Peer::Evaluator, |session| {
        session.script(async |io| {
            io.message().clear();
            io.message().extend_from_slice(&version.to_le_bytes());
            io.send(VERSION_KEPT)
        })
    })
}

impl ChainInUse {
    /// Kills the chain if `error` ends it ([`kills_chain`]), before anyone hears of the error.
    /// Frames that are too long count like any other malformed message.
    pub(super) fn kill_for(&self, error: &Error) -> Result<(), Error> {
        let kills = match error.of_protocol() {
            Some(of_protocol) => kills_chain(of_protocol, error.party()),
            None => error.category() == Category::Peer && error.party() != Some(Peer::Evaluator),
        };
        if kills {
            return self.stocks.kill_chain(&self.chain, &error.to_string());
        }
        Ok(())
    }
}

/// Waits for the generator's word that both servers have kept the saved values.
pub(super) fn hear_kept(links: &mut Links<'_>) -> Result<(), Error> {
    links.with(Peer::Generator, |session| {
        session.exchange(async |io| io.receive(VERSION_KEPT).await.map(drop))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use tacit_function::Role;
    use tacit_net::{Awaited, NetError};
    use tacit_protocol::message::Kind;
    use tacit_stock::{ChainAgreement, ChainStatus, Memory, Policy};

    use super::*;
    use crate::Fingerprint;
    use crate::protocols::Protocol;
    use crate::stock::Keepers;
    use crate::stock::Stocks;

    const GENERATOR: (Protocol, Role) = (Protocol::Outsourced, Role::Garbler);

    #[test]
    fn what_the_other_server_does_wrong_kills_the_chain_and_a_lost_connection_does_not() {
        let disk = Arc::new(Memory::new());
        let stocks = Stocks::over(disk, Path::new("s"), 1 << 20).expect("room");
        let [own, peer] = [1, 2].map(|party| Fingerprint([party; 32]));
        let chain = stocks.chain_with(Keepers::alone((own, peer)), GENERATOR, "friends");
        let chain = chain.expect("room");
        let policy = Policy::default();
        let new = chain.create([7; 16], &policy, None, b"keys").expect("room");
        let version = new.finish().expect("room");
        chain.publish(version).expect("room");
        let agreed = ChainAgreement {
            latest: Some(version),
            next_attempt: 1,
        };
        let kept = ChainInUse {
            stocks,
            home: (Keepers::alone((own, peer)), GENERATOR),
            chain,
            agreed,
            policy,
            program: None,
        };
        let lost = || NetError::Closed {
            awaited: Awaited::Message,
        };
        let too_long = || NetError::TooLong {
            kind: Kind::TransferKeys.byte(),
            announced: u32::MAX,
            limit: 100,
        };
        let errors: [(&dyn Fn() -> NetError, _); 2] =
            [(&lost, ChainStatus::Live), (&too_long, ChainStatus::Killed)];
        for (error, status) in errors {
            for party in [Peer::Evaluator, Peer::Cloud] {
                let of_party = Error::from(error()).of_party(party);
                kept.kill_for(&of_party).expect("room");
                let ends = party == Peer::Cloud && status == ChainStatus::Killed;
                let due = if ends { status } else { ChainStatus::Live };
                assert_eq!(
                    kept.chain.marks().expect("a record").status,
                    due,
                    "{of_party}"
                );
            }
        }
    }
}
