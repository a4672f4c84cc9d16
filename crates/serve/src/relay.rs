//! A relay: two parties that both connect outwards, by WebSocket, meet in a room, and the relay
//! passes on the messages that they send each other. Either may be a page.
//!
//! It knows no identity and holds no key: the bytes are TLS between the two parties
//! ([`tacit::net::relay`]). It sees their addresses, the room's name, and the number of bytes over
//! time. Two threads serve each room in use, whose number is bounded, and one serves each
//! connection that has not named its room yet. If there are too many of the latter, one gives way
//! to the next.

mod metrics;
mod pipe;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tacit::net::NetError;
use tacit::net::networks::{self, subnet};
use tacit::net::relay::{Answer, Guest, Hello};

use crate::accepting::{Accepting, Unheard};
use crate::http::Answers;
use metrics::RelayMetrics;

/// The pause between two checks of the waiting parties.
const SWEEP: Duration = Duration::from_millis(500);
/// The longest time for a connection to name its room.
const HELLO_TIME: Duration = Duration::from_secs(5);
/// The largest number of connections that have not named their room.
const MAX_SILENT: usize = 64;
/// The limit of a network that may belong to one owner, in multiples of
/// [`RelayLimits::per_network`]. Without it the network's subnets could take all rooms.
const SITE_SHARE: usize = 2;
/// The descriptors of the process itself and of its metrics, with some to spare.
const OTHERS: u64 = 64;

/// The limits of a relay.
#[derive(Clone, Copy, Debug)]
pub struct RelayLimits {
    /// The number of rooms in use at once.
    pub rooms: usize,
    /// The number of parties that wait for another.
    pub waiting: usize,
    /// The number of connections in or waiting for rooms from one address, or from one subnet of
    /// IPv6. From one /24, or /48 of IPv6, there may be twice as many.
    pub per_network: usize,
    /// The bytes through one room.
    pub room_bytes: u64,
    /// The bytes per second through one room, each way.
    pub bytes_per_second: u64,
    /// The longest time that a party waits for another.
    pub wait: Duration,
    /// The longest time that a room is in use.
    pub time: Duration,
    /// The longest time without bytes through a room.
    pub idle: Duration,
}

impl Default for RelayLimits {
    /// 256 rooms, 1024 waiting parties, and 64 connections per network; 64 GiB, 125 MB/s and 12
    /// hours per room, 15 minutes of silence, and 10 minutes of waiting.
    fn default() -> Self {
        Self {
            rooms: 256,
            waiting: 1024,
            per_network: 64,
            room_bytes: 64 << 30,
            bytes_per_second: 125_000_000,
            wait: Duration::from_secs(600),
            time: Duration::from_secs(12 * 3600),
            idle: Duration::from_secs(900),
        }
    }
}

impl RelayLimits {
    /// Returns the largest number of descriptors that a relay within these limits needs, with its
    /// listener and metrics.
    #[must_use]
    pub fn descriptors(&self) -> u64 {
        // Twice, since a connection that has given way takes a moment to notice.
        let count = self.waiting + 2 * self.rooms + 2 * MAX_SILENT;
        count as u64 + OTHERS
    }
}

/// A connection that has named its room. It counts against the limits of its networks as long as it
/// exists.
struct Seat {
    guest: Guest,
    from: IpAddr,
    shared: Arc<Shared>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.lock_seats().give_back(self.from);
    }
}

/// Returns the network of an address that one owner may have whole: its /48 in IPv6, and its /24 in
/// IPv4.
fn site(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 80)).into(),
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << 8)).into(),
    }
}

/// The number of connections that have named their room, by subnet and by site.
#[derive(Default)]
struct Seats([HashMap<IpAddr, usize>; 2]);

impl Seats {
    /// Counts a connection, unless one of its networks has all that it may: `most` from a subnet.
    fn take(&mut self, from: IpAddr, most: usize) -> bool {
        let networks = [subnet(from), site(from)];
        let counted = self.0.iter().zip(&networks);
        let counts = counted.map(|(counts, network)| counts.get(network).copied().unwrap_or(0));
        if counts
            .zip([1, SITE_SHARE])
            .any(|(count, share)| count >= most.saturating_mul(share))
        {
            return false;
        }
        for (counts, network) in self.0.iter_mut().zip(networks) {
            *counts.entry(network).or_default() += 1;
        }
        true
    }

    fn give_back(&mut self, from: IpAddr) {
        for (counts, network) in self.0.iter_mut().zip([subnet(from), site(from)]) {
            if let Some(count) = counts.get_mut(&network) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&network);
                }
            }
        }
    }
}

impl Seat {
    /// Tells the party why there will be no room, if it still listens.
    fn refuse(self, answer: Answer) {
        self.shared.refuse(&self.guest, answer);
    }
}

/// A party that waits for another.
struct Waiting {
    seat: Seat,
    since: Instant,
}

/// The waiting parties of a room: the one that would listen, and the one that would connect.
type Room = [Option<Waiting>; 2];

struct Shared {
    limits: RelayLimits,
    origins: Vec<String>,
    metrics: RelayMetrics,
    rooms: Mutex<HashMap<[u8; 32], Room>>,
    seats: Mutex<Seats>,
    /// A token that each room in use holds.
    used: Arc<()>,
    stop: AtomicBool,
}

impl Shared {
    fn lock_rooms(&self) -> MutexGuard<'_, HashMap<[u8; 32], Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the party why there will be no room, if it still listens.
    fn refuse(&self, guest: &Guest, answer: Answer) {
        self.metrics.refused(metrics::name(answer));
        let _ = guest.answer(answer).and_then(|()| guest.finish());
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

impl Answers for Shared {
    fn metrics(&self) -> String {
        let waiting = waiting(&self.lock_rooms());
        self.metrics
            .text(waiting, Arc::strong_count(&self.used) - 1)
    }

    fn health(&self) -> (bool, String) {
        (!self.is_stopped(), "{}\n".to_owned())
    }
}

/// A relay, which stops when this is dropped and closes the rooms in use.
pub struct Relay {
    shared: Arc<Shared>,
    accepting: Accepting,
}

impl Relay {
    /// Starts a relay at `address`, such as `0.0.0.0:7400`, for programs and for pages of
    /// `origins`. Port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// The address is not this machine's, or is taken.
    pub fn start(address: &str, limits: RelayLimits, origins: Vec<String>) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            limits,
            origins,
            metrics: RelayMetrics::new(),
            rooms: Mutex::default(),
            seats: Mutex::default(),
            used: Arc::new(()),
            stop: AtomicBool::new(false),
        });
        let [swept, entered] = [&shared, &shared].map(Arc::clone);
        let mut last = Instant::now();
        let accepting = Accepting::start(
            ("relay", address),
            MAX_SILENT,
            move || {
                if last.elapsed() > SWEEP {
                    sweep(&swept);
                    last = Instant::now();
                }
                true
            },
            move |socket, from, unheard| accept(socket, from, unheard, &entered),
        )?;
        Ok(Self { shared, accepting })
    }

    /// Returns the address with the port that was taken.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.accepting.address()
    }

    /// Returns the source of metrics and health.
    #[must_use]
    pub fn answers(&self) -> Arc<dyn Answers> {
        Arc::clone(&self.shared) as Arc<dyn Answers>
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.accepting.stop();
        self.shared.lock_rooms().clear();
    }
}

fn waiting(rooms: &HashMap<[u8; 32], Room>) -> usize {
    rooms.values().flatten().flatten().count()
}

/// Takes out a party of the network from which most wait, so that the parties of one network do not
/// keep all others out: the one of them that has waited longest.
fn give_way(rooms: &mut HashMap<[u8; 32], Room>) -> Option<Waiting> {
    let mut places: Vec<_> = rooms.values_mut().flatten().collect();
    places.retain(|place| place.is_some());
    places.sort_by_key(|place| place.as_ref().map(|waiting| waiting.since));
    let waiting = places.iter().flat_map(|place| place.iter());
    let gives_way = networks::gives_way(waiting.map(|waiting| waiting.seat.from))?;
    let gone = places.swap_remove(gives_way).take();
    rooms.retain(|_, room| room.iter().any(Option::is_some));
    gone
}

/// Lets a connection into the room that it names.
fn accept(socket: Arc<TcpStream>, from: SocketAddr, unheard: Unheard, shared: &Arc<Shared>) {
    let accepted = Guest::accept(socket, &shared.origins, HELLO_TIME);
    drop(unheard);
    match accepted {
        Ok((guest, Some(hello))) => {
            if let Some(seat) = seat(guest, from, Arc::clone(shared)) {
                enter(seat, hello);
            }
        }
        Ok((guest, None)) => shared.refuse(&guest, Answer::Malformed),
        Err(NetError::Origin { .. }) => shared.metrics.refused("origin"),
        Err(_) => {}
    }
}

/// Returns a seat for a connection, unless its network has all that it may.
fn seat(guest: Guest, from: SocketAddr, shared: Arc<Shared>) -> Option<Seat> {
    let (from, most) = (from.ip(), shared.limits.per_network);
    let is_taken = shared.lock_seats().take(from, most);
    if !is_taken {
        shared.refuse(&guest, Answer::TooMany);
        return None;
    }
    Some(Seat {
        guest,
        from,
        shared,
    })
}

/// Puts a party into its room, and serves the room if the other one is there.
fn enter(seat: Seat, hello: Hello) {
    let shared = Arc::clone(&seat.shared);
    let (own, other) = if hello.listens { (0, 1) } else { (1, 0) };
    let mut rooms = shared.lock_rooms();
    let count = waiting(&rooms);
    let room = rooms.entry(hello.room).or_default();
    let there = room[other]
        .take()
        .filter(|other| other.seat.guest.is_silent());
    let Some(there) = there else {
        let replaced = room[own].replace(Waiting {
            seat,
            since: Instant::now(),
        });
        let is_full = count >= shared.limits.waiting && replaced.is_none();
        let full = is_full.then(|| give_way(&mut rooms)).flatten();
        drop(rooms);
        for (left, answer) in [(replaced, Answer::Replaced), (full, Answer::Full)] {
            if let Some(left) = left {
                left.seat.refuse(answer);
            }
        }
        return;
    };
    // A later pair may use the same room name.
    if room[own].is_none() {
        rooms.remove(&hello.room);
    }
    // The count happens under the lock, so that no two rooms take the last place.
    let used =
        (Arc::strong_count(&shared.used) <= shared.limits.rooms).then(|| Arc::clone(&shared.used));
    drop(rooms);
    match used {
        Some(used) => {
            shared.metrics.opened();
            let passed = pipe::pass(&seat.guest, &there.seat.guest, &shared.limits, &|| {
                shared.is_stopped()
            });
            shared.metrics.passed(passed);
            drop(used);
        }
        None => {
            seat.refuse(Answer::Full);
            there.seat.refuse(Answer::Full);
        }
    }
}

/// Removes parties that have left or waited too long.
fn sweep(shared: &Shared) {
    let mut late = Vec::new();
    let mut rooms = shared.lock_rooms();
    rooms.retain(|_, room| {
        for place in room.iter_mut() {
            if let Some(waiting) = place.take() {
                if waiting.since.elapsed() > shared.limits.wait {
                    late.push(waiting.seat);
                } else if waiting.seat.guest.is_silent() {
                    *place = Some(waiting);
                }
            }
        }
        room.iter().any(Option::is_some)
    });
    drop(rooms);
    for seat in late {
        seat.refuse(Answer::Late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_twice_as_many_connections_as_a_subnet() {
        let mut seats = Seats::default();
        let mut take = |from: &str| seats.take(from.parse().expect("an address"), 2);
        assert!(take("2001:db8::1") && take("2001:db8::2") && !take("2001:db8::3"));
        assert!(take("2001:db8:0:ff::1") && take("2001:db8:0:fe::1"));
        assert!(!take("2001:db8:0:fd::1") && take("2001:db8:1::1"));
        assert!(take("10.0.0.1") && take("::ffff:10.0.0.1") && !take("10.0.0.1"));
        assert!(take("10.0.0.2") && take("10.0.0.3") && !take("10.0.0.4") && take("10.0.1.4"));
        seats.give_back("10.0.0.1".parse().expect("an address"));
        assert!(seats.take("10.0.0.4".parse().expect("an address"), 2));
    }
}
