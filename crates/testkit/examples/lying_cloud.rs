//! A cloud that lies to pages. It has the cloud's key and its half of the map, and follows the
//! protocol except that it flips a bit of the result on its way to the evaluator. `scripts/web
//! test` uses it to check that a page detects this.
//!
//! Its only argument is JSON: `key` and `stock` of the cloud, `generator` and its address `at`, the
//! `guest` that may be lied to, all `clients` of the chain `friends`, the page's `origin`, and
//! `cells`, `ids` and `copies`. It prints its own address, and then each lie that it told.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;
use tacit::outsourced::{OutsourcedJob, OutsourcedParameters};
use tacit::session::Side;
use tacit::stock::Stocks;
use tacit::{Fingerprint, Function, Identity, Session, Settings, library};
use tacit_net::{Channel, NetError, memory, tls};
use tacit_protocol::message::Kind;

type Failed = Box<dyn Error + Send + Sync>;

/// The longest of all waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time for which one end of the relay is read before the other.
const TURN: Duration = Duration::from_millis(2);
const MAX_FRAME: usize = 1 << 26;

struct Cloud {
    identity: Identity,
    generator: Fingerprint,
    at: String,
    guest: Fingerprint,
    clients: Vec<Fingerprint>,
    stocks: Stocks,
    function: Function,
    parameters: OutsourcedParameters,
}

fn text<'o>(order: &'o Json, name: &str) -> Result<&'o str, Failed> {
    let member = order[name].as_str();
    member.ok_or_else(|| format!("{name} is missing").into())
}

fn number(order: &Json, name: &str) -> Result<u32, Failed> {
    let member = order[name]
        .as_u64()
        .ok_or_else(|| format!("{name} is missing"))?;
    Ok(member.try_into()?)
}

impl Cloud {
    fn new(order: &Json) -> Result<Self, Failed> {
        let fingerprint = |name| -> Result<Fingerprint, Failed> { Ok(text(order, name)?.parse()?) };
        let clients = order["clients"].as_array().into_iter().flatten();
        let clients = clients.map(|one| Ok(one.as_str().unwrap_or_default().parse()?));
        let param = |name: &str| Ok((name.to_owned(), number(order, name)?.into()));
        let params: Result<BTreeMap<_, _>, Failed> =
            ["cells", "ids"].map(param).into_iter().collect();
        Ok(Self {
            identity: Identity::from_pem(&std::fs::read(text(order, "key")?)?)?,
            generator: fingerprint("generator")?,
            at: text(order, "at")?.to_owned(),
            guest: fingerprint("guest")?,
            clients: clients.collect::<Result<_, Failed>>()?,
            stocks: Stocks::open(text(order, "stock")?.as_ref(), 1 << 30)?,
            function: library::function("friend-finder-set", &params?)?,
            parameters: OutsourcedParameters::malicious(number(order, "copies")?, 40)?,
        })
    }

    /// Plays its part of a run, with the page at the other end of `channel`.
    fn serve(&self, channel: Channel) -> Result<(), Failed> {
        let own = self.identity.fingerprint();
        let mut evaluator = Session::over(channel, Side::Listening, Some(&own))?;
        let settings = Settings::default();
        let mut generator = Session::connect(&self.at, &self.identity, &self.generator, &settings)?;
        let job = OutsourcedJob::new(&self.function, self.parameters).patience(PATIENCE);
        let job = job.chain_of(&self.stocks, "friends", &self.clients);
        job.serve(&mut generator, &mut evaluator)?;
        evaluator.close()?;
        Ok(())
    }
}

/// Passes the next message of `from` to `to`, changed by `lie`. Returns whether the connection goes
/// on.
fn pass(
    from: &mut Channel,
    to: &mut Channel,
    lie: &mut dyn FnMut(u8, &mut Vec<u8>),
) -> Result<bool, Failed> {
    let (kind, mut payload) = match from.receive(MAX_FRAME) {
        Ok(frame) => (frame.kind, frame.payload.to_vec()),
        Err(NetError::Timeout { .. }) => return Ok(true),
        Err(NetError::Closed { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    lie(kind, &mut payload);
    to.set_timeout(PATIENCE);
    to.send(kind, &payload)?;
    to.flush()?;
    to.set_timeout(TURN);
    Ok(true)
}

fn relay(page: Channel, cloud: Channel) -> Result<(), Failed> {
    let (mut page, mut cloud) = (page, cloud);
    page.set_timeout(TURN);
    cloud.set_timeout(TURN);
    let mut lie = |kind, payload: &mut Vec<u8>| {
        if kind == Kind::OutsourcedResult.byte()
            && let Some(first) = payload.first_mut()
        {
            *first ^= 1;
            println!("lied about a result");
        }
    };
    while pass(&mut page, &mut cloud, &mut |_, _| ())? && pass(&mut cloud, &mut page, &mut lie)? {}
    Ok(())
}

fn main() -> Result<(), Failed> {
    let order = std::env::args().nth(1).ok_or("give the order as JSON")?;
    let order: Json = serde_json::from_str(&order)?;
    let cloud = Cloud::new(&order)?;
    let settings = Settings {
        websocket_origins: Some(Arc::from([text(&order, "origin")?.to_owned()])),
        ..Settings::default()
    };
    let listener = tls::Listener::bind("127.0.0.1:0")?;
    println!("listening at {}", listener.local_address());
    loop {
        let (identity, guests) = (&cloud.identity, [cloud.guest]);
        let page = listener.accept_peer(identity, &guests, &settings, &mut |_, error| {
            eprintln!("lying cloud: {error}");
        })?;
        let (near, far) = memory::raw_pair(memory::PIPE_BYTES);
        let inner = Channel::over_proved(far.into_transport(), cloud.guest, page.binding());
        let outer = Channel::over(near.into_transport());
        thread::scope(|scope| {
            let served = scope.spawn(|| cloud.serve(inner));
            let relayed = relay(page, outer);
            for ended in [relayed, served.join().expect("no panic")] {
                if let Err(error) = ended {
                    eprintln!("lying cloud: {error}");
                }
            }
        });
    }
}
