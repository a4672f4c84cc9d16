//! Two parties compare two numbers over TLS, and neither learns the other's:
//! `cargo run --release --package tacit-mpc --example millionaires`.
//!
//! Both run here as threads. On two machines each makes its identity with `tacit keygen`, loads
//! it with `Identity::load`, and gets the other's fingerprint over a way that both trust.

use std::collections::BTreeMap;
use std::thread;

use tacit::{Error, Fingerprint, Identity, Job, Listener, Role, Session, Settings, library};

fn main() -> Result<(), Error> {
    let (alice_key, bob_key) = (Identity::generate()?, Identity::generate()?);
    let (alice, bob) = (alice_key.fingerprint(), bob_key.fingerprint());
    let listener = Listener::bind("127.0.0.1:0")?;
    let address = listener.local_address().to_string();
    thread::scope(|scope| {
        let listening = scope.spawn(|| run_as_alice(&listener, &alice_key, &bob));
        run_as_bob(&address, &bob_key, &alice)?;
        listening.join().expect("Alice does not panic")
    })
}

/// Alice garbles and has 41 000 000.
fn run_as_alice(listener: &Listener, identity: &Identity, bob: &Fingerprint) -> Result<(), Error> {
    let mut session = listener.accept(identity, bob, &Settings::default())?;
    let function = library::function("millionaires", &BTreeMap::new())?;
    let outcome = Job::new(&function, Role::Garbler)
        .input("a", 41_000_000_u32)
        .run(&mut session)?;
    println!("Alice hears: {}", outcome.outputs["a_is_richer"].to_text());
    Ok(())
}

/// Bob evaluates and has 40 000 000.
fn run_as_bob(address: &str, identity: &Identity, alice: &Fingerprint) -> Result<(), Error> {
    let mut session = Session::connect(address, identity, alice, &Settings::default())?;
    let function = library::function("millionaires", &BTreeMap::new())?;
    let outcome = Job::new(&function, Role::Evaluator)
        .input("b", 40_000_000_u32)
        .run(&mut session)?;
    println!("Bob hears: {}", outcome.outputs["a_is_richer"].to_text());
    println!("{}", outcome.cost);
    Ok(())
}
