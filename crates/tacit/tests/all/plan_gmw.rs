//! Plans with `gmw`: the choice is compared with what runs send and how often they wait. `gmw` is
//! never chosen unless an OT extension is named.

use std::collections::BTreeMap;

use tacit::cost::{Cost, Phase};
use tacit::garble::{Assumption, SchemeId};
use tacit::net::Link;
use tacit::plan::{Calibration, InStock, Plan, Planner};
use tacit::protocols::{Protocol, ThreatModel};
use tacit::session::OtExtension;
use tacit::{Function, FunctionBuilder, Job, Part, Recipient, Role, library};
use tacit_circuit::Component;
use tacit_circuit::builder::CircuitForm;
use tacit_components::library as components;
use tacit_language::shipped;

use crate::pair::{Pair, ROLES};

/// Round trips in seconds, and bits per second, in the planner's notation.
const LINKS: [(&str, f64, f64); 4] = [
    ("0us,20gbit", 0.0, 20e9),
    ("250us,1gbit", 0.000_5, 1e9),
    ("10ms,100mbit", 0.02, 1e8),
    ("33ms,50mbit", 0.066, 5e7),
];

/// Costs in seconds that are assumed to be the same on every machine: an AND gate of `direct`, an
/// OT and an AND gate of `gmw`.
const DIRECT_AND_S: f64 = 20e-9;
const OT_S: f64 = 30e-9;
const GMW_AND_S: f64 = 2e-9;

/// Times that are closer together than this are not compared, since a busy machine decides between
/// them: a factor, and seconds.
const MARGIN: (f64, f64) = (1.5, 0.25);

fn given(parameters: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let parameters = parameters.iter();
    parameters
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect()
}

/// Returns a function of independent calls of a library circuit.
fn calls(circuit: &str, form: CircuitForm, [given, count]: [u64; 2]) -> Function {
    let parameters = if given == 0 {
        BTreeMap::new()
    } else {
        self::given(&[("bits", given)])
    };
    let circuit = components::find_in_form(circuit, &parameters, form).expect("a circuit");
    let types: Vec<String> = circuit
        .inputs()
        .iter()
        .map(|port| port.ty.to_string())
        .collect();
    let result = circuit.outputs()[0].ty.to_string();
    let mut builder = FunctionBuilder::new("calls");
    builder
        .component("each", Component::new("each", circuit))
        .input("x", &format!("{}[{count}]", types[0]), Role::Garbler)
        .input("y", &format!("{}[{count}]", types[1]), Role::Evaluator)
        .value("found", &format!("{result}[{count}]"))
        .repeat("i", 0, count, |each, i| {
            each.call(
                [Part::of("found").at(i)],
                "each",
                [Part::of("x").at(i), Part::of("y").at(i)],
            );
        })
        .output(
            "all",
            &format!("{result}[{count}]"),
            Recipient::Both,
            "found",
        );
    builder.finish().expect("a function")
}

/// Returns a function of products, whose shallow form has hardly more gates.
fn products(form: CircuitForm) -> Function {
    calls("multiplier", form, [16, 1024])
}

/// A function in the form for garbling, and in the form for shares.
struct Subject {
    small: Function,
    shallow: Function,
}

impl Subject {
    fn new(name: &str, parameters: &[(&str, u64)]) -> Self {
        let parameters = given(parameters);
        let small = library::function(name, &parameters).expect("a function");
        let shallow = shipped::find(name).map_or_else(
            || small.clone(),
            |program| {
                let typed = program.function_in_form(&parameters, CircuitForm::Shallow);
                typed.expect("a function").function().clone()
            },
        );
        Self { small, shallow }
    }

    fn of_calls(circuit: &str, given: [u64; 2]) -> Self {
        Self {
            small: calls(circuit, CircuitForm::Small, given),
            shallow: calls(circuit, CircuitForm::Shallow, given),
        }
    }

    fn all() -> Vec<Self> {
        vec![
            Self::new("millionaires", &[("bits", 64)]),
            Self::new("aes-128", &[]),
            Self::new("sha-256-compress", &[]),
            Self::new("aes-128-copies", &[("copies", 16)]),
            Self::new("edit-distance", &[("x_symbols", 16), ("y_symbols", 16)]),
            Self::new("matrix-product", &[("n", 6)]),
            Self::new("levenshtein", &[("n", 12), ("m", 12)]),
            Self::of_calls("multiplier", [16, 2048]),
            Self::of_calls("aes-128", [0, 160]),
        ]
    }
}

fn extension(name: &str) -> OtExtension {
    OtExtension::from_name(name).expect("an extension")
}

fn planner(link: &str) -> Planner {
    let link: Link = link.parse().expect("a link");
    // Nothing is prepared, so only protocols that make everything themselves are chosen.
    Planner::with(link, Calibration::default()).stock(InStock::default())
}

/// Returns the evaluator's cost of a session's first run, on the least inputs.
fn run(function: &Function, protocol: Protocol, extension: OtExtension) -> Cost {
    let [_, evaluator] = Pair::in_memory().both(|party, session, _| {
        session.set_ot_extension(extension)?;
        let role = ROLES[party];
        let mut job = Job::new(function, role).by(protocol, None)?;
        for input in function.inputs().iter().filter(|input| input.owner == role) {
            job = job.input(&input.port.name, input.port.least_value());
        }
        Ok(job.run(session)?.cost)
    });
    evaluator.expect("a run")
}

/// Returns the bytes from the garbler and from the evaluator, and how often the evaluator switches
/// between sending and receiving.
fn counted(cost: &Cost) -> ([u64; 2], u64) {
    let phases = cost.phases.iter().filter(|cost| cost.phase == Phase::Run);
    let traffic = phases.map(|cost| &cost.traffic).collect::<Vec<_>>();
    let received = traffic.iter().map(|traffic| traffic.received.bytes).sum();
    let sent = traffic.iter().map(|traffic| traffic.sent.bytes).sum();
    let rounds = traffic.iter().map(|traffic| traffic.rounds).sum();
    ([received, sent], rounds)
}

/// Returns the planned bytes of a protocol, in the order of [`counted`].
fn planned(plan: &Plan, protocol: Protocol) -> [u64; 2] {
    let one = plan.fastest(|one| one.protocol == protocol);
    let traffic = one.expect("an alternative").traffic;
    let garbler = traffic.garbler_early_bytes + traffic.garbler_late_bytes;
    [garbler, traffic.evaluator_bytes]
}

#[test]
fn ten_functions_are_planned_as_what_they_send_says() {
    let extension = extension("softspoken-8");
    let mut decided = [0, 0];
    for Subject { small, shallow } in Subject::all() {
        let name = small.name().to_owned();
        let schedule = shallow.schedule().expect("a schedule");
        let ots: u64 = schedule.total_ots().iter().sum();
        let (gmw_bytes, rounds) = counted(&run(&shallow, Protocol::Gmw, extension));
        let (direct_bytes, _) = counted(&run(&small, Protocol::Direct, extension));
        // In a step a party sends and then receives, in half a round trip.
        let waits = rounds as f64 / 2.0;
        for (link, round_trip, rate) in LINKS {
            let seconds = |bytes: u64| 8.0 * bytes as f64 / rate;
            let ands = |function: &Function| function.and_gates() as f64;
            let gmw = waits * round_trip / 2.0
                + seconds(gmw_bytes[0].max(gmw_bytes[1]))
                + OT_S * ots as f64
                + GMW_AND_S * ands(&shallow);
            let sent = seconds(direct_bytes[0] + direct_bytes[1]);
            let direct = round_trip + sent.max(DIRECT_AND_S * ands(&small));

            let mut planner = planner(link).ot_extension(extension);
            let same = shallow.clone();
            let plan = planner.plan_program(small.clone(), || Some(same));
            let plan = plan.expect("a plan");
            assert_eq!(planned(&plan, Protocol::Gmw), gmw_bytes, "{name}");
            let choice = plan.choice().protocol;
            let is_less = |a: f64, b: f64| a * MARGIN.0 + MARGIN.1 < b;
            if is_less(gmw, direct) {
                assert_eq!(choice, Protocol::Gmw, "{name} over {link}: {gmw} {direct}");
                decided[0] += 1;
            }
            if is_less(direct, gmw) {
                assert_eq!(
                    choice,
                    Protocol::Direct,
                    "{name} over {link}: {gmw} {direct}"
                );
                decided[1] += 1;
            }
            assert_eq!(plan.elsewhere.len(), LINKS.len());
        }
    }
    assert!(decided[0] >= 3 && decided[1] >= 8, "{decided:?}");
}

/// Silent OT rests on LPN, so no run uses it unless someone asks for it.
#[test]
fn gmw_is_planned_where_somebody_names_the_ots_and_nowhere_else() {
    let slow = "33ms,50mbit";
    let has_gmw = |mut planner: Planner| {
        let mut asked = false;
        let shallow = || {
            asked = true;
            Some(products(CircuitForm::Shallow))
        };
        let small = products(CircuitForm::Small);
        let plan = planner.plan_program(small, shallow).expect("a plan");
        let mut all = plan.alternatives.iter();
        assert_eq!(all.any(|one| one.protocol == Protocol::Gmw), asked);
        (asked, plan.choice().protocol)
    };
    let silent = || planner(slow).ot_extension(OtExtension::Silent);
    assert_eq!(has_gmw(silent()), (true, Protocol::Gmw));
    assert_eq!(has_gmw(planner(slow)), (false, Protocol::Direct));
    let of_a_scheme = silent().scheme(SchemeId::HALF_GATES_TWO_CALL);
    assert_eq!(has_gmw(of_a_scheme), (false, Protocol::Direct));
    let of_a_function = silent().assumption(Assumption::PseudorandomFunction);
    assert_eq!(has_gmw(of_a_function), (false, Protocol::Direct));
    let malicious = silent().threat_model(ThreatModel::Malicious);
    assert_eq!(has_gmw(malicious), (false, Protocol::Authenticated));
}

/// A silent batch is always complete, even if a function needs few of its OTs.
#[test]
fn bytes_by_silent_ots_are_those_of_a_first_run() {
    let function = Subject::new("millionaires", &[("bits", 64)]).small;
    let mut planner = planner("33ms,50mbit").ot_extension(OtExtension::Silent);
    let plan = planner.plan(function.clone()).expect("a plan");
    let cost = run(&function, Protocol::Gmw, OtExtension::Silent);
    assert_eq!(planned(&plan, Protocol::Gmw), counted(&cost).0);
}
