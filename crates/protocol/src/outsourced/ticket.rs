//! Tickets, by which the generator and the cloud match the two connections of one run.
//!
//! The evaluator draws the number of a run and sends it to both servers. The cloud sends it to the
//! generator, which compares it with the evaluator's. It identifies a run until the run has its own
//! name ([`Terms`](super::Terms)), and no secret depends on it. `run ticket`:
//!
//! | byte | field |
//! |---|---|
//! | 0..16 | number of the run, random |
//! | 16..48 | the evaluator's fingerprint; zero where connections are not authenticated |
//! | 48 | the server that it is for: 1 the generator, 2 the cloud |
//!
//! A server that reads a ticket for the other server ends the run before it touches any of its
//! state: two addresses that were mixed up cost no more than the run.

use super::Peer;
use crate::Misbehaviour;
use crate::message::{Kind, array};

/// The evaluator and the run that a connection is for.
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
    /// The size in bytes.
    pub const BYTES: usize = 49;

    /// Returns the bytes that are sent to a server.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.number);
        bytes[16..48].copy_from_slice(&self.evaluator);
        bytes[48] = self.to.ticket_byte();
        bytes
    }

    /// Returns the ticket that a peer sent.
    ///
    /// # Errors
    ///
    /// The message is not as long as a ticket, or the ticket is for no server.
    pub fn parse(payload: &[u8]) -> Result<Self, Misbehaviour> {
        let bytes: [u8; Self::BYTES] = array(Kind::RunTicket, payload)?;
        let servers = [Peer::Generator, Peer::Cloud];
        let to = servers.into_iter().find(|to| to.ticket_byte() == bytes[48]);
        let mut ticket = Self {
            number: [0; 16],
            evaluator: [0; 32],
            to: to.ok_or(Misbehaviour::invalid(Kind::RunTicket, "server"))?,
        };
        ticket.number.copy_from_slice(&bytes[..16]);
        ticket.evaluator.copy_from_slice(&bytes[16..48]);
        Ok(ticket)
    }
}

impl Peer {
    /// Returns the peer's byte in a ticket.
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
