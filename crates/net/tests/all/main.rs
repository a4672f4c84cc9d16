//! All tests are modules of one program, because each program takes time to build and link.

mod frames;
mod identity;
mod reception;
mod sockets;
mod tampering;
mod tls;
mod websocket;
