//! `tacit run` of a program that joins two tables: reads this party's table, announces the sizes,
//! and then runs.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use tacit::join::{JoinPlan, JoinSide, OpenParam, Part, TableRows, by_key, naming_parts};
use tacit::protocols::{Protocol, ThreatModel};
use tacit_language::{PortValue, Signature, WrongSize};

use super::given::GivenInputs;
use super::role;
use super::two::{JoinOfRun, TwoPartyRun};
use crate::args::RunArgs;
use crate::cancel;
use crate::config::Config;
use crate::failure::{Failure, input, usage};
use crate::function::FoundFunction;
use crate::log::Log;
use crate::party::Party;
use crate::program::plain_failure;
use crate::typed::{CheckedProgram, OutputFiles, values};

/// Refuses the arguments under which no join runs.
fn check_terms(args: &RunArgs) -> Result<(), Failure> {
    if args.security != ThreatModel::SemiHonest {
        return Err(usage!(
            "--security {}: the program joins tables, which is secure against semi-honest parties \
             only: a malicious one could ask for a key in many bins, and nothing would find it \
             out", args.security;
            "leave --security out, if you can rely on the other party to follow the protocol"
        ));
    }
    if let Some(other) = args.protocol.filter(|protocol| *protocol != Protocol::Gmw) {
        return Err(usage!(
            "--protocol {}: the program joins tables, which the protocol gmw alone does",
            other.name();
            "leave --protocol out"
        ));
    }
    if args.chain.chain.is_some() {
        return Err(usage!(
            "--chain: the program joins tables, and keeps no values between runs";
            "leave --chain out"
        ));
    }
    if args.runs.repeat > 1 {
        return Err(usage!(
            "--repeat: a program that joins tables runs once a session";
            "leave --repeat out"
        ));
    }
    Ok(())
}

/// Returns the failure of a program without a join, which is not run here.
fn joins_nothing() -> Failure {
    Failure::input("the run joins no tables")
}

/// Runs the program with this party's table.
pub(super) fn run(
    args: &RunArgs,
    config: &Config,
    mut party: Party,
    mut program: CheckedProgram,
    log: Log,
) -> Result<(), Failure> {
    check_terms(args)?;
    party.use_gpu(args.device.gpu, true, log)?;
    let (part, signature) = (args.shard.part(), reading(args, program.signature())?);
    let mut party = party.in_part(part);
    let role = role(
        &args.who,
        args.meet.peer.as_deref(),
        Some(&signature),
        config,
    )?;
    let files = OutputFiles::new(
        &args.outputs,
        Some(&signature),
        Some(signature.party_of(role)),
    )?;
    let given = values(&signature, role, &args.inputs.reading())?;
    let (side, name) = signature.own_table(role).ok_or_else(joins_nothing)?;
    let rows = given.get(name);
    let rows = rows.ok_or_else(|| Failure::input(format!("no value is given for {name}")))?;
    let left_out = rows.left_out();
    let open = signature.open_params();
    let known = signature.known_sizes(role, rows);
    let known = known.map_err(|wrong| refused(&wrong))?;
    // The peer waits from the sizes on, so the rows are made before.
    let form = signature.join_table(side).ok_or_else(joins_nothing)?;
    let mut encoded = encoded_rows(&signature, side, (rows, args.threads))?;
    let (mut session, mut sizes) = (None, BTreeMap::new());
    if !open.is_empty() {
        let meaning = program.open_meaning()?;
        let mut met = party.meet(cancel::on_signal()?, log)?;
        let told = met.tell_sizes(Part::agreed(part, meaning), &open, role, &known);
        sizes = told.map_err(|error| naming_parts(error, meaning, part))?;
        show_sizes(args, &sizes);
        program = program.with_sizes(&args.choice, &sizes)?;
        session = Some(met);
    }
    let found = FoundFunction::Program(Box::new(program)).in_form_of(Protocol::Gmw);
    let runnable = found.runnable(&args.choice)?;
    let typed = runnable.typed().ok_or_else(joins_nothing)?;
    let plan = typed.join().ok_or_else(joins_nothing)?.clone();
    let plan = &JoinPlan { part, ..plan };
    let agreed = plan.table(side);
    if (&form.key, &form.row) != (&agreed.key, &agreed.row) {
        // With these sizes, the program reads other fields.
        encoded = encoded_rows(typed.signature(), side, (rows, args.threads))?;
    }
    let table = by_key(plan, role, encoded, args.threads)?;
    let given = GivenInputs {
        values: Some(given),
        files,
    };
    let run = TwoPartyRun::new(args, config, (&party, &runnable, given), Protocol::Gmw, log)?;
    let run = run.joining(JoinOfRun {
        plan,
        table: &table,
        sizes: &sizes,
        left_out,
    })?;
    let session = match session {
        Some(session) => session,
        None => party.meet(cancel::on_signal()?, log)?,
    };
    run.play(session)
}

/// Returns the ports of the program, which read this party's table as the arguments say.
fn reading(args: &RunArgs, signature: &Signature) -> Result<Signature, Failure> {
    let signature = signature.clone().with_row_rules(args.rows.rules());
    let signature = signature.on_threads(args.threads);
    signature
        .with_part(args.shard.part())
        .map_err(plain_failure)
}

/// Prints the sizes on which both parties have agreed.
fn show_sizes(args: &RunArgs, sizes: &BTreeMap<String, u64>) {
    if !args.runs.json {
        let shown = sizes.iter().map(|(name, size)| format!("{name} = {size}"));
        eprintln!("sizes     {}", shown.collect::<Vec<_>>().join(", "));
    }
}

/// Returns the rows of this party's table as the stage takes them, made on `threads` threads.
fn encoded_rows(
    signature: &Signature,
    side: JoinSide,
    (rows, threads): (&PortValue, NonZeroUsize),
) -> Result<TableRows, Failure> {
    let rows = signature.joined_rows(side, rows);
    let rows = rows.ok_or_else(joins_nothing)?;
    rows.encode(threads).map_err(plain_failure)
}

/// Returns the failure of a size that this party cannot announce.
fn refused(wrong: &WrongSize) -> Failure {
    let (what, size, found) = (wrong.counted(), wrong.size, wrong.found);
    let OpenParam { name, input, .. } = &wrong.param;
    if size < found {
        return input!(
            "--param {name}={size} is less than the {found} {what} of {input}";
            "give a number from {found} on, or leave it out, and the other party hears {found}"
        );
    }
    input!("{wrong}"; "change the range of its param {name} at both parties")
}
