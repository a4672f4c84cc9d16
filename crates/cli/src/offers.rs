//! `tacit offers`: the functions and material that a service offers this party.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use tacit::session::ProtocolId;
use tacit_serve::Offers;
use tacit_serve::offers::{OfferedChoice, OfferedFunction, OfferedOrder, OfferedTable};

use crate::args::OffersArgs;
use crate::config::Config;
use crate::failure::{Failure, usage};
use crate::log::Log;
use crate::party::Party;
use crate::terminal::escaped;
use crate::{cancel, output, shell};

/// The largest number of listed values of a parameter. Of more values only the smallest and the
/// largest are shown.
const LISTED: usize = 8;

/// Runs the command.
pub(crate) fn offers(args: &OffersArgs, config: Option<&Path>, log: Log) -> Result<(), Failure> {
    let config = Config::load(config)?;
    let mut party = Party::new(&args.meet, false, &config)?;
    if !party.connects() {
        return Err(usage!(
            "a service tells what it offers to a party that connects to it";
            "give --connect HOST:PORT, or the address of the peer in tacit.toml"
        ));
    }
    let mut session = party.meet(cancel::on_signal()?, log)?;
    let offers = Offers::ask(&mut session)?;
    let peer = session.peer().map(|peer| peer.to_string());
    // The answer is here, whether or not the service receives the farewell.
    if let Err(error) = session.close() {
        log.step(format_args!("{error}"));
    }
    if args.json {
        let mut told = json!({ "peer": peer });
        told["functions"] = json!(offers.functions);
        told["tables"] = json!(offers.tables);
        told["keys_per_day"] = json!(offers.keys_per_day);
        told["keys_left"] = json!(offers.keys_left);
        told["stock"] = json!(offers.stock);
        told["base_ot"] = json!(offers.base_ot);
        told["ot_extension"] = json!(offers.ot_extension);
        return output::print_json(told);
    }
    // The text comes from the service.
    let lines = text(&offers);
    let lines: Vec<_> = lines.split('\n').map(escaped).collect();
    output::print(lines.join("\n"))
}

fn text(offers: &Offers) -> String {
    let mut text = String::new();
    let has_nothing =
        offers.functions.is_empty() && offers.tables.is_empty() && offers.stock.is_empty();
    if has_nothing {
        text.push_str("the service offers nothing to this party\n");
    }
    for function in &offers.functions {
        text.push_str(&function_text(function));
    }
    for table in &offers.tables {
        text.push_str(&table_text(table));
    }
    if let (Some(left), Some(most)) = (offers.keys_left, offers.keys_per_day) {
        let _ = writeln!(
            text,
            "of this party's keys it answers {left} more today, of {most}; a run may count as \
             more than its table has: 256 for one, 1,091 for 1,000"
        );
    }
    for order in &offers.stock {
        text.push_str(&order_text(order));
    }
    for (what, demanded) in [
        ("--base-ot", &offers.base_ot),
        ("--ot-extension", &offers.ot_extension),
    ] {
        if let Some(demanded) = demanded {
            let _ = writeln!(text, "all with {what} {demanded}");
        }
    }
    text
}

fn function_text(function: &OfferedFunction) -> String {
    let mut text = format!(
        "{}\n  {}, protocol {}",
        function.name,
        match &function.party {
            Some(party) => format!("--as {party} (the {})", function.role),
            None => format!("role {}", function.role),
        },
        function.protocols.join(" or ")
    );
    if let Some(bits) = function.security_bits {
        let _ = write!(text, ", s = {bits}");
    }
    if let Some(copies) = function.copies {
        let _ = write!(text, ", {copies} circuits");
    }
    if let Some(chain) = &function.chain {
        let _ = write!(text, ", chain {chain}");
    }
    if let Some(rate) = &function.rate {
        let _ = write!(text, ", at most {rate}");
    }
    text.push('\n');
    if let Some(server) = &function.other_server {
        let _ = writeln!(text, "  the other server is {server}");
    }
    for (name, values) in params(&function.choices) {
        let _ = writeln!(text, "  {name} = {}", shown_values(&values));
    }
    match &function.choices[..] {
        _ if function.protocols == [ProtocolId::Gmw.name()] => {
            if let [one] = &function.choices[..] {
                let _ = writeln!(text, "  digest {}", one.digest);
            }
        }
        [one] => {
            let _ = writeln!(text, "  scheme {}, digest {}", one.scheme, one.digest);
            if let Some(digest) = &one.gmw_digest {
                let _ = writeln!(text, "  by gmw, digest {digest}");
            }
        }
        choices => {
            let schemes: BTreeSet<_> = choices.iter().map(|one| one.scheme.as_str()).collect();
            let schemes: Vec<_> = schemes.into_iter().collect();
            let _ = writeln!(text, "  scheme {}", schemes.join(" or "));
        }
    }
    // A name of the service must not stand for a flag.
    if !function.name.starts_with('-') {
        let _ = writeln!(text, "  {}", command(function));
    }
    text
}

/// Returns the command that runs a function with the service, apart from its inputs.
fn command(function: &OfferedFunction) -> String {
    let mut words = vec!["tacit".to_owned()];
    if function.other_server.is_some() || function.copies.is_some() {
        words.extend(["outsource".to_owned(), "--help".to_owned()]);
        return shell::line(&words);
    }
    words.push("run".to_owned());
    words.extend(called(&function.name));
    let params = params(&function.choices);
    let params = params.iter().filter_map(|(name, values)| {
        let shown = values.first().filter(|_| values.len() == 1);
        Some(format!("{name}={}", shown?))
    });
    let params: Vec<_> = params.collect();
    if !params.is_empty() {
        words.extend(["--param".to_owned(), params.join(",")]);
    }
    if let [one] = &function.protocols[..]
        && one != ProtocolId::Direct.name()
    {
        words.extend(["--protocol".to_owned(), one.clone()]);
    }
    if let Some(chain) = &function.chain {
        words.extend(["--chain".to_owned(), chain.clone()]);
    }
    words.extend(match &function.party {
        Some(party) => ["--as".to_owned(), party.clone()],
        None => ["--role".to_owned(), function.role.clone()],
    });
    words.extend(["--with", "NAME", "--input", "INPUT=VALUE"].map(str::to_owned));
    shell::line(&words)
}

/// Returns the arguments that name the function of an offer.
fn called(name: &str) -> Vec<String> {
    match name.split_once(".tacit ") {
        Some((file, entry)) => vec![
            format!("{file}.tacit"),
            "--entry".to_owned(),
            entry.to_owned(),
        ],
        None => vec![name.to_owned()],
    }
}

/// Returns the command that matches or joins a table of this party with that of the service.
fn table_command(table: &OfferedTable) -> String {
    let mut words = vec!["tacit".to_owned()];
    if let Some(party) = &table.party {
        words.push("run".to_owned());
        // The service may have given it another name than the file's.
        let file = Some(&*table.name).filter(|name| name.contains(".tacit"));
        words.extend(called(file.unwrap_or("PROGRAM.tacit")));
        let params = table.params.iter();
        let params = params.map(|(name, value)| format!("{name}={value}"));
        let params: Vec<_> = params.collect();
        if !params.is_empty() {
            words.extend(["--param".to_owned(), params.join(",")]);
        }
        words.extend(["--as".to_owned(), party.clone()]);
        let own = table.sizes.iter().find(|size| size.is_peers);
        let own = own.map_or("TABLE", |size| size.input.as_str());
        words.extend(["--input".to_owned(), format!("{own}=@FILE.csv")]);
    } else {
        words.extend(["match", "FILE.csv:COLUMN"].map(str::to_owned));
        for (flag, given) in [("--normalize", &table.normalize), ("--to", &table.to)] {
            let given = given.iter().cloned();
            words.extend(given.flat_map(|given| [flag.to_owned(), given]));
        }
    }
    words.extend(["--with", "NAME"].map(str::to_owned));
    shell::line(&words)
}

fn table_text(table: &OfferedTable) -> String {
    let what = table.party.as_ref().map_or("match", |_| "join");
    let mut text = format!("to {what}: {}\n ", table.name);
    let of_flags = [
        ("--as", &table.party),
        ("--normalize", &table.normalize),
        ("--to", &table.to),
    ];
    for (flag, given) in of_flags {
        if let Some(given) = given {
            let _ = write!(text, " {flag} {given}");
        }
    }
    if let Some(rate) = &table.rate {
        let _ = write!(text, ", at most {rate}");
    }
    text.push('\n');
    for (name, value) in &table.params {
        let _ = writeln!(text, "  {name} = {value}");
    }
    let open = table.sizes.iter();
    for size in open.filter(|size| !table.params.contains_key(&size.name)) {
        let (name, least, most, input) = (&size.name, size.minimum, size.maximum, &size.input);
        let whose = if size.is_peers {
            "this party"
        } else {
            "the service"
        };
        let _ = writeln!(text, "  {name}, for {input} of {whose}: {least} to {most}");
    }
    if let Some(meaning) = &table.meaning {
        let _ = writeln!(
            text,
            "  open {meaning}, as `tacit inspect` names the same program"
        );
    }
    // A name of the service must not stand for a flag.
    if !table.name.starts_with('-') {
        let _ = writeln!(text, "  {}", table_command(table));
    }
    text
}

fn order_text(order: &OfferedOrder) -> String {
    let name = order.function.as_deref().unwrap_or("triples");
    let mut text = format!("to order: {name}\n  role {}", order.role);
    let what = match order.function {
        Some(_) => "--runs",
        None => "--ands",
    };
    let _ = write!(
        text,
        ", for {}, up to {what} {}",
        order.protocol, order.most
    );
    if let Some(bits) = order.security_bits {
        let _ = write!(text, ", s = {bits}");
    }
    if let Some(scheme) = &order.scheme {
        let _ = write!(text, ", scheme {scheme}");
    }
    text.push('\n');
    for (name, value) in &order.params {
        let _ = writeln!(text, "  {name} = {value}");
    }
    text
}

/// Returns the values of each parameter.
fn params(choices: &[OfferedChoice]) -> BTreeMap<&str, BTreeSet<u64>> {
    let mut params: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for (name, value) in choices.iter().flat_map(|choice| &choice.params) {
        params.entry(name).or_default().insert(*value);
    }
    params
}

fn shown_values(values: &BTreeSet<u64>) -> String {
    match (values.first(), values.last()) {
        (Some(first), Some(last)) if values.len() > LISTED => {
            let is_whole = last - first == values.len() as u64 - 1;
            let of = if is_whole { "" } else { ", some of them" };
            format!("{first} to {last}{of}")
        }
        _ => {
            let values: Vec<_> = values.iter().map(u64::to_string).collect();
            values.join(" or ")
        }
    }
}
