//! Turns `tacit.toml` into the policy of a service. Checks everything before the policy is
//! accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tacit::circuit::formats::BitOrder;
use tacit::protocols::{Protocol, StatisticalSecurity};
use tacit::session::ProtocolId;
use tacit::{Fingerprint, Role};
use tacit_serve::policy::MAX_FUNCTIONS;
use tacit_serve::{Limits, Offer, Peer, Policy, Visitors, memory};

use super::border::{Member, Offered};
use super::config::{Parameter, Serve, Served, ServedRole};
use super::joined::joined;
use super::lanes::{chain_lanes, keys_per_day, lane_homes};
use super::levels::levels;
use super::servers::servers;
use super::sources::{inputs, results};
use super::tables::matched;
use super::visitors::{as_peer, visitors};
use crate::args::{FunctionArgs, origin};
use crate::config::Config;
use crate::failure::Failure;
use crate::log::Log;
use crate::program::is_program;
use crate::report::shown_bytes;
use crate::typed::Runnable;
use crate::{function, gpu, run};

/// The default for the longest time of a run.
pub(super) const RUN_TIME: Duration = Duration::from_secs(600);

/// Returns the policy that the configuration describes.
pub(crate) fn policy(config: &Config, serve: &Serve) -> Result<Policy, Failure> {
    let peers = config.peers.iter().map(|(name, peer)| Peer {
        name: name.clone(),
        fingerprint: peer.fingerprint,
        address: peer.address.clone(),
        link: peer.link,
    });
    let visitors = visitors(config, serve)?;
    let peers: Vec<_> = peers.chain(visitors.iter().map(as_peer)).collect();
    if peers.is_empty() {
        return Err(wrong(
            "[peers]",
            "nobody may connect; add [peers.NAME], or [[serve.visitors]]",
        ));
    }
    for written in serve.origins.iter().flatten() {
        origin(written).map_err(|what| wrong("[serve] origins", &what))?;
    }
    let (mut offers, mut tables) = (Vec::new(), Vec::new());
    for (number, served) in serve.function.iter().enumerate() {
        let at = format!("[[serve.function]] {} ({})", number + 1, served.function);
        let joined = joined(config, served).map_err(|failure| within(&at, &failure))?;
        match joined {
            Some(table) => tables.push(table),
            None => {
                let offer = offer(config, served);
                offers.push(offer.map_err(|failure| within(&at, &failure))?);
            }
        }
    }
    let stock = serve.stock.iter().enumerate().map(|(number, stocked)| {
        let at = format!("[[serve.stock]] {} ({})", number + 1, stocked.shown_name());
        levels(config, stocked).map_err(|failure| within(&at, &failure))
    });
    let stock: Vec<_> = stock.collect::<Result<_, _>>()?;
    let stock = stock.into_iter().flatten().collect();
    for (number, column) in serve.matched.iter().enumerate() {
        let at = format!("[[serve.match]] {} ({})", number + 1, column.shown_name());
        tables.push(matched(config, column).map_err(|failure| within(&at, &failure))?);
    }
    let limits = limits(config, serve, memory::allowed())?;
    let audit = serve.audit()?;
    let choice = ("[serve] gpu", serve.gpu.unwrap_or_default());
    let device = gpu::device(choice, (true, config.ot_extension), Log::new(0))?;
    let homes = lane_homes(config, serve, &offers)?;
    let of_chains = chain_lanes(config, serve, &homes, &offers)?;
    Policy::new(peers, offers, stock, limits, config.base_ot)
        .and_then(|policy| policy.ot_extension(config.ot_extension))
        .and_then(|policy| policy.tables(tables))
        .and_then(|policy| policy.visitors(visitors))
        .map(|policy| {
            policy
                .audited(audit)
                .ot_device(device)
                .lane_homes(homes)
                .chain_lanes(of_chains)
        })
        .map_err(|error| Failure::usage(format!("[serve]: {error}")))
}

pub(super) fn wrong(at: &str, what: &str) -> Failure {
    Failure::usage(format!("{at}: {what}"))
}

fn within(at: &str, failure: &Failure) -> Failure {
    wrong(at, &failure.to_string())
}

/// Returns the limits of a process that may use `allowed` bytes of memory.
fn limits(config: &Config, serve: &Serve, allowed: Option<u64>) -> Result<Limits, Failure> {
    let usual = Limits::default();
    let left_mib = allowed.map_or(u64::MAX, |allowed| memory::left_of(allowed) >> 20);
    if let (Some(wanted), Some(allowed)) = (serve.memory_mib, allowed)
        && wanted > left_mib
    {
        let allowed = shown_bytes(allowed);
        let what = format!(
            "{wanted}, and this process may take {allowed} of memory, as its control group says, \
             of which {left_mib} MiB are left for this; lower it, or let the process have more"
        );
        return Err(wrong("[serve] memory_mib", &what));
    }
    Ok(Limits {
        sessions: serve.sessions.unwrap_or(usual.sessions),
        sessions_per_peer: serve.sessions_per_peer.unwrap_or_else(|| {
            let sessions = serve.sessions.unwrap_or(usual.sessions);
            usual.sessions_per_peer.min(sessions)
        }),
        arrivals: serve.arrivals.unwrap_or(usual.arrivals),
        refusals: serve.refusals.unwrap_or(usual.refusals),
        memory_mib: serve.memory_mib.unwrap_or(usual.memory_mib.min(left_mib)),
        memory_mib_per_peer: serve.memory_mib_per_peer,
        keys_per_day: keys_per_day(
            config,
            serve,
            serve.keys_per_day.unwrap_or(usual.keys_per_day),
        )?,
        threads: serve.threads.unwrap_or(usual.threads),
        handshakes: serve.handshakes.unwrap_or(usual.handshakes),
        handshake: serve.handshake.unwrap_or(usual.handshake),
        idle: serve.idle.unwrap_or(usual.idle),
        meeting: serve.meeting.unwrap_or(usual.meeting),
        message: config.timeouts.message.unwrap_or(usual.message),
        preparations: serve.preparations.unwrap_or(usual.preparations),
        preparation: serve.preparation.unwrap_or(usual.preparation),
        look_at_stock: serve.look_at_stock.unwrap_or(usual.look_at_stock),
        websocket_origins: serve.origins.clone().map(Arc::from),
        proxies: Arc::from(serve.proxy_from.as_slice()),
    })
}

/// Returns this party's role. A server of three parties has the garbler's.
fn served_role(served: &Served) -> Role {
    match served.role {
        ServedRole::OfTwo(role) => role,
        ServedRole::OfThree(_) => Role::Garbler,
    }
}

/// Returns the peer's name in a program, from this party's role.
fn peer_party(members: &[Member], role: Role) -> Option<String> {
    let signature = members.first()?.runnable.signature()?;
    let party = signature.party_of(role.other());
    Some(signature.party_name(party).to_owned())
}

fn offer(config: &Config, served: &Served) -> Result<Offer, Failure> {
    if served.drop_missing || served.keep.is_some() {
        let what = "is for the table of a program that joins two; leave it out";
        let field = if served.drop_missing {
            "drop_missing"
        } else {
            "keep"
        };
        return Err(wrong(field, what));
    }
    let outsourced = servers(config, served)?;
    let protocols = protocols(served, outsourced.is_some())?;
    let [functions, shallow] = forms(served, &protocols)?;
    let offered = Offered::new(functions.iter().chain(&shallow).cloned().collect());
    let role = served_role(served);
    let peer_party = peer_party(&functions, role).filter(|_| outsourced.is_none());
    let [functions, shallow] = [functions, shallow].map(|members| {
        let functions = members.iter();
        functions
            .map(|member| member.function())
            .collect::<Vec<_>>()
    });
    let first = functions.first().map(AsRef::as_ref);
    let scheme = match served.scheme.as_deref() {
        Some(named) if protocols == [ProtocolId::Gmw] => {
            let what = format!("{named:?}: gmw garbles nothing; leave it out");
            return Err(wrong("scheme", &what));
        }
        Some(name) => Some(function::scheme(Some(name), first)?.id),
        None => None,
    };
    let peers = match (&served.peers, &outsourced) {
        // Every peer except the other server is a client.
        (None, Some(servers)) => {
            let mut all = peers(config, None)?;
            all.remove(&servers.other);
            all
        }
        (names, _) => peers(config, names.as_deref())?,
    };
    Ok(Offer {
        name: served.shown_name(),
        role,
        peer_party,
        protocols,
        security: match outsourced {
            // The security of its checks of inputs is among its parameters.
            Some(_) => StatisticalSecurity::DEFAULT,
            None => security(Protocol::Batch, served.security_bits)?,
        },
        // For three parties, the chain belongs to the servers.
        chain: served.chain.clone().filter(|_| outsourced.is_none()),
        replaces: served.replace,
        outsourced,
        scheme,
        peers,
        inputs: inputs(served, role, &functions, &offered)?,
        results: results(served, &offered)?,
        functions,
        shallow,
        rate: served.rate,
        time_limit: served
            .time_limit
            .or(config.timeouts.run)
            .unwrap_or(RUN_TIME),
    })
}

/// Returns the served functions, with each choice of params. If `gmw` is among the protocols and
/// has another form, the second list has the functions in that form. If `gmw` is the only protocol,
/// that form takes the place of the usual one.
fn forms(served: &Served, protocols: &[ProtocolId]) -> Result<[Vec<Member>; 2], Failure> {
    let params = members(&served.params)?;
    let in_form = |form| {
        let members = params.iter().map(|params| {
            let ports = [&served.owners, &served.results, &served.types];
            let name = (served.function.as_str(), served.entry.as_deref());
            let order = served.bit_order.as_deref();
            let texts = params.iter();
            let texts = texts.map(|(name, value)| (name.clone(), value.to_string()));
            let (params, texts) = (params.clone(), texts.collect());
            let runnable = instance((name, form), texts, &served.public, ports, order)?;
            Ok(Member {
                runnable: Arc::new(runnable),
                params,
            })
        });
        members.collect::<Result<Vec<_>, Failure>>()
    };
    let is_program = is_program(Path::new(&served.function));
    Ok(match protocols {
        [ProtocolId::Gmw] => [in_form(Protocol::Gmw)?, Vec::new()],
        both if is_program && both.contains(&ProtocolId::Gmw) => {
            [in_form(Protocol::Direct)?, in_form(Protocol::Gmw)?]
        }
        _ => [in_form(Protocol::Direct)?, Vec::new()],
    })
}

/// Returns s for a protocol that is secure against a malicious party.
pub(super) fn security(
    protocol: Protocol,
    bits: Option<u8>,
) -> Result<StatisticalSecurity, Failure> {
    let found = run::statistical_security(protocol, bits);
    found.map_err(|error| within("security_bits", &error.into()))
}

/// Returns the protocols by which a function runs.
fn protocols(served: &Served, is_of_three: bool) -> Result<Vec<ProtocolId>, Failure> {
    let usual = if is_of_three {
        Protocol::Outsourced
    } else {
        Protocol::Direct
    };
    let ids: Vec<_> = match &served.protocols {
        None => vec![usual.wire_id()],
        Some(named) => named.iter().map(|named| named.0.wire_id()).collect(),
    };
    if ids.is_empty() {
        let known: Vec<_> = Protocol::between_two().map(Protocol::name).collect();
        let why = format!(
            "there is none; write {} or several of them",
            known.join(", ")
        );
        return Err(wrong("protocols", &why));
    }
    let fits = |id: &ProtocolId| (*id == ProtocolId::Outsourced) == is_of_three;
    if ids.iter().all(fits) {
        Ok(ids)
    } else {
        Err(wrong(
            "protocols",
            "outsourced is for role = \"generator\" and \"cloud\", which run nothing else",
        ))
    }
}

/// Returns every choice of parameters within the bounds.
pub(super) fn members(
    params: &BTreeMap<String, Parameter>,
) -> Result<Vec<BTreeMap<String, u64>>, Failure> {
    let mut members = vec![BTreeMap::new()];
    for (name, parameter) in params {
        let values: Vec<u64> = match parameter {
            Parameter::One(value) => vec![*value],
            Parameter::Among(values) => values.clone(),
            Parameter::Between(bounds) => {
                let most = bounds.min.saturating_add(MAX_FUNCTIONS as u64);
                (bounds.min..=bounds.max.min(most)).collect()
            }
        };
        if values.is_empty() {
            return Err(wrong(
                &format!("params.{name}"),
                "no value is allowed; write some",
            ));
        }
        if members.len().saturating_mul(values.len()) > MAX_FUNCTIONS {
            let many = format!("more than {MAX_FUNCTIONS} functions; narrow the bounds");
            return Err(wrong(&format!("params.{name}"), &many));
        }
        let with = |member: &BTreeMap<String, u64>, value: &u64| {
            let mut member = member.clone();
            member.insert(name.clone(), *value);
            member
        };
        members = members
            .iter()
            .flat_map(|member| values.iter().map(move |value| with(member, value)))
            .collect();
    }
    Ok(members)
}

/// Finds a function as the arguments of `tacit run` would: by its name, a program's run, and the
/// protocol that decides its form.
fn instance(
    ((name, entry), protocol): ((&str, Option<&str>), Protocol),
    params: Vec<(String, String)>,
    public: &BTreeMap<String, String>,
    ports: [&BTreeMap<String, String>; 3],
    bit_order: Option<&str>,
) -> Result<Runnable, Failure> {
    let choice = choice(entry, params, public, ports, bit_order)?;
    let found = function::find(name, &choice)?.without_join()?;
    found.in_form_of(protocol).runnable(&choice)
}

/// Returns the arguments of `tacit run` that choose a function.
pub(super) fn choice(
    entry: Option<&str>,
    params: Vec<(String, String)>,
    public: &BTreeMap<String, String>,
    ports: [&BTreeMap<String, String>; 3],
    bit_order: Option<&str>,
) -> Result<FunctionArgs, Failure> {
    let pairs = |map: &BTreeMap<String, String>| {
        let pairs = map.iter().map(|(name, word)| (name.clone(), word.clone()));
        pairs.collect()
    };
    let bit_order = bit_order.map(str::parse::<BitOrder>).transpose();
    let [owners, results, types] = ports.map(pairs);
    let public = public.iter().map(|(name, text)| format!("{name}={text}"));
    Ok(FunctionArgs {
        params,
        public: public.collect(),
        owners,
        results,
        types,
        entry: entry.map(str::to_owned),
        bit_order: bit_order.map_err(|error| wrong("bit_order", &error.to_string()))?,
    })
}

pub(super) fn peers(
    config: &Config,
    names: Option<&[String]>,
) -> Result<BTreeSet<Fingerprint>, Failure> {
    let Some(names) = names else {
        let peers = config.peers.values();
        return Ok(peers.map(|peer| peer.fingerprint).collect());
    };
    let sites = config.serve.iter().flat_map(|serve| &serve.visitors);
    let sites: Vec<_> = sites.map(|site| site.name.as_str()).collect();
    let peer = |name: &String| {
        let site = sites.iter().find(|site| *site == name);
        let site = site.map(|name| Visitors::peer_named(name));
        let peer = config.peers.get(name).map(|peer| peer.fingerprint);
        peer.or(site).ok_or_else(|| {
            let known = config.peers.keys().map(String::as_str);
            let known: Vec<_> = known.chain(sites.iter().copied()).collect();
            let known = known.join(", ");
            wrong(
                "peers",
                &format!(
                    "{name:?} is not among [peers], which are {known}; write one of these, \
                     or add [peers.{name}]"
                ),
            )
        })
    };
    names.iter().map(peer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_by_the_control_group() {
        let config = Config::default();
        let mib = |memory_mib, allowed: Option<u64>| {
            let serve = Serve {
                memory_mib,
                ..Serve::default()
            };
            limits(&config, &serve, allowed.map(|mib| mib << 20)).map(|limits| limits.memory_mib)
        };
        assert_eq!(mib(None, None).expect("the usual"), 4096);
        assert_eq!(mib(None, Some(1 << 20)).expect("the usual"), 4096);
        assert_eq!(mib(None, Some(120)).expect("what is left"), 88);
        assert_eq!(mib(Some(80), Some(120)).expect("it fits"), 80);
        let refused = mib(Some(89), Some(120)).expect_err("too much").to_string();
        for word in ["memory_mib: 89", "120 MiB", "88 MiB are left"] {
            assert!(refused.contains(word), "{refused}");
        }
    }
}
