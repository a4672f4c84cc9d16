//! The layers under a [`Session`](crate::Session): channels, transports and links, and the ways in
//! which two parties become known to each other.

pub use crate::driver::run_script;
pub use tacit_net::tls::{Admitted, Arrived, Door, Introduction};
pub use tacit_net::{
    Awaited, CancelHandle, Channel, Interrupt, IpNet, Lane, Link, Meter, NetError, NotALane, SLICE,
    Sink, Source, Transport, Wait, memory, networks, pairing, relay,
};
