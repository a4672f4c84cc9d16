//! All files are one program, since each program builds and links anew what it tests.

mod frames;
mod identity;
mod reception;
mod sockets;
mod tampering;
mod tls;
mod websocket;
