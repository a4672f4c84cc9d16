//! `tacit relay`: carries sealed bytes between parties that nobody can connect to.

use std::io;
use std::thread;

use tacit::net::{NetError, SLICE};
use tacit_serve::relay::{Relay, RelayLimits};
use tacit_serve::{descriptors, http};

use crate::args::RelayArgs;
use crate::cancel;
use crate::failure::Failure;

/// Runs the command, until a signal ends it.
pub(crate) fn relay(args: &RelayArgs) -> Result<(), Failure> {
    let limits = RelayLimits {
        rooms: args.rooms.into(),
        waiting: args.waiting.into(),
        per_network: args.per_network.into(),
        room_bytes: u64::from(args.room_mib) << 20,
        bytes_per_second: u64::from(args.rate_mbit) * 125_000,
        wait: args.wait,
        time: args.time,
        idle: args.idle,
    };
    descriptors::allow(limits.descriptors()).map_err(|error| Failure::usage(error.to_string()))?;
    let cancel = cancel::on_signal()?;
    let relay = Relay::start(&args.listen, limits, args.origins.clone());
    let relay = relay.map_err(|error| failed(&args.listen, error))?;
    eprintln!("listening on {}", relay.local_address());
    let metrics = args.metrics.as_ref().map(|address| {
        let server = http::Server::start(address, relay.answers());
        server.map_err(|error| failed(address, error))
    });
    let metrics = metrics.transpose()?;
    if let Some(server) = &metrics {
        eprintln!("metrics on {}", server.local_address());
    }
    while !cancel.is_cancelled() {
        thread::sleep(SLICE);
    }
    Ok(())
}

fn failed(address: &str, reason: io::Error) -> Failure {
    let address = address.to_owned();
    Failure::Tacit(NetError::Address { address, reason }.into())
}
