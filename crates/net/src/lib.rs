//! Authenticated channels between two parties: TLS, framing, limits, meter.
#![forbid(unsafe_code)]
