//! Tickets, by which the generator and the cloud match the two links of one run.
//!
//! The evaluator draws the number of a run and tells it to both servers; the cloud tells it to the
//! generator, with whose evaluator's it is compared. It names a run until the run has its own name
//! ([`Terms`](super::Terms)), and nothing secret rests on it. `run ticket`:
//!
//! | byte | field |
//! |---|---|
//! | 0..16 | number of the run, random |
//! | 16..48 | the evaluator's fingerprint; zero where links are not authenticated |
//! | 48 | whom it is for: 1 the generator, 2 the cloud |
//!
//! A server that reads that it is for the other one ends the run before anything of it is touched:
//! two addresses that were mixed up cost nobody more than the run.

use super::Peer;
use crate::Misbehaviour;
use crate::message::{Kind, array};

/// Which run of which evaluator a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunTicket {
    /// Random; drawn by the evaluator for each run.
    pub number: [u8; 16],
    /// The fingerprint of the evaluator's identity.
    pub evaluator: [u8; 32],
    /// The server that it is for.
    pub to: Peer,
}

impl RunTicket {
    /// Size in bytes.
    pub const BYTES: usize = 49;

    /// As it goes to a server.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.number);
        bytes[16..48].copy_from_slice(&self.evaluator);
        bytes[48] = self.to.ticket_byte();
        bytes
    }

    /// What a peer sent.
    ///
    /// # Errors
    ///
    /// It is longer or shorter than a ticket, or for no server.
    pub fn parse(payload: &[u8]) -> Result<Self, Misbehaviour> {
        let bytes: [u8; Self::BYTES] = array(Kind::RunTicket, payload)?;
        let servers = [Peer::Generator, Peer::Cloud];
        let to = servers.into_iter().find(|to| to.ticket_byte() == bytes[48]);
        let mut ticket = Self {
            number: [0; 16],
            evaluator: [0; 32],
            to: to.ok_or(Misbehaviour::InvalidField {
                kind: Kind::RunTicket,
                field: "server",
            })?,
        };
        ticket.number.copy_from_slice(&bytes[..16]);
        ticket.evaluator.copy_from_slice(&bytes[16..48]);
        Ok(ticket)
    }
}

impl Peer {
    /// Its byte in a ticket.
    const fn ticket_byte(self) -> u8 {
        match self {
            Self::Generator => 1,
            Self::Cloud => 2,
            Self::Evaluator => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_as_it_was_written() {
        let ticket = RunTicket {
            number: core::array::from_fn(|at| at as u8),
            evaluator: core::array::from_fn(|at| 100 + at as u8),
            to: Peer::Cloud,
        };
        let bytes = ticket.to_bytes();
        assert_eq!(bytes[..2], [0, 1]);
        assert_eq!(bytes[16..18], [100, 101]);
        assert_eq!(bytes[48], 2);
        assert_eq!(RunTicket::parse(&bytes), Ok(ticket));
        for wrong in [&bytes[..48], &[1; 50], &[]] {
            assert!(RunTicket::parse(wrong).is_err());
        }
        for nobody in [0, 3] {
            let mut bytes = bytes;
            bytes[48] = nobody;
            assert!(RunTicket::parse(&bytes).is_err());
        }
    }
}
