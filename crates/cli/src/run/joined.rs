//! `tacit run` of a program that joins two tables: reads this party's table, announces the sizes,
//! and then runs.

use std::collections::BTreeMap;

use tacit::Role;
use tacit::join::{
    Counted, JoinPlan, JoinSide, JoinedTable, KeyEncoding, OpenParam, TableRows, check_table,
    with_part,
};
use tacit::protocols::{Protocol, ThreatModel};
use tacit_language::{PortValue, Signature, TypedFunction};

use super::given::GivenInputs;
use super::role;
use super::two::{JoinOfRun, TwoPartyRun};
use crate::args::RunArgs;
use crate::cancel;
use crate::config::Config;
use crate::failure::{Failure, input, usage};
use crate::function::Found;
use crate::log::Log;
use crate::party::Party;
use crate::program::{params, plain_failure};
use crate::typed::{CheckedProgram, OutputFiles, values};

/// Refuses the arguments under which no join runs.
///
/// # Errors
///
/// The arguments ask for another protocol, for security against a malicious party, for a chain or
/// for several runs.
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

/// Returns the side of the join whose table `role` has, and the name of its input.
fn own_table(signature: &Signature, role: Role) -> Result<(JoinSide, String), Failure> {
    let join = signature.entry().join.as_ref();
    let join = join.ok_or_else(|| Failure::input("the run joins no tables"))?;
    let [left, right] = join.tables.map(|table| &signature.inputs()[table]);
    let is_left = left
        .owner
        .is_some_and(|owner| signature.role(owner) == role);
    Ok(match is_left {
        true => (JoinSide::Left, left.name.to_string()),
        false => (JoinSide::Right, right.name.to_string()),
    })
}

/// Runs the program with this party's table.
///
/// # Errors
///
/// Something is wrong on this party's side, on the peer's, or in the network.
pub(super) fn run(
    args: &RunArgs,
    config: &Config,
    mut party: Party,
    mut program: CheckedProgram,
    log: Log,
) -> Result<(), Failure> {
    check_terms(args)?;
    let signature = program.signature().clone();
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
    let (side, name) = own_table(&signature, role)?;
    let rows = given.get(&name);
    let rows = rows.ok_or_else(|| Failure::input(format!("no value is given for {name}")))?;
    signature.check_keys(side, rows).map_err(plain_failure)?;
    let open = signature.open_params();
    let known = known(args, (&signature, role), &open, rows)?;
    let mut session = None;
    if !open.is_empty() {
        let meaning = program.open_meaning(&args.choice)?;
        let mut met = party.meet(cancel::on_signal()?, log)?;
        let sizes = met.tell_sizes(meaning, &open, role, &known)?;
        if !args.runs.json {
            let sizes = sizes.iter().map(|(name, size)| format!("{name} = {size}"));
            eprintln!("sizes     {}", sizes.collect::<Vec<_>>().join(", "));
        }
        program = program.with_sizes(&args.choice, &sizes)?;
        session = Some(met);
    }
    let found = Found::Program(Box::new(program)).in_form_of(Protocol::Gmw);
    let runnable = found.runnable(&args.choice)?;
    let plan = runnable.typed().and_then(TypedFunction::join);
    let plan = plan.ok_or_else(|| Failure::input("the run joins no tables"))?;
    let table = joined(plan, side, (&signature, rows))?;
    check_table(plan, role, &table)?;
    let given = GivenInputs {
        values: Some(given),
        files,
    };
    let run = TwoPartyRun::new(args, config, (&party, &runnable, given), Protocol::Gmw, log)?;
    let run = run.joining(JoinOfRun {
        plan,
        table: &table,
    })?;
    let session = match session {
        Some(session) => session,
        None => party.meet(cancel::on_signal()?, log)?,
    };
    run.play(session)
}

/// Returns the sizes that this party knows: those of its table, and those given for the peer's.
fn known(
    args: &RunArgs,
    (signature, role): (&Signature, Role),
    open: &[OpenParam],
    rows: &PortValue,
) -> Result<BTreeMap<String, u64>, Failure> {
    let given = params(&args.choice.params)?;
    let mut known = BTreeMap::new();
    for param in open {
        let told = given.get(&param.name);
        let told = told.and_then(|value| u64::try_from(value).ok());
        let size = match param.owner == role {
            true => Some(announced(param, signature.counted(param, rows), told)?),
            false => told,
        };
        known.extend(size.map(|size| (param.name.clone(), size)));
    }
    Ok(known)
}

/// Returns the size that this party announces for its table: the one it was `told`, or the one it
/// `found`.
fn announced(param: &OpenParam, found: u64, told: Option<u64>) -> Result<u64, Failure> {
    let OpenParam { name, input, .. } = param;
    let what = match param.counted {
        Counted::Rows => "rows",
        Counted::Keys => "different keys",
    };
    let size = told.unwrap_or(found.max(param.minimum));
    if size < found {
        return Err(input!(
            "--param {name}={size} is less than the {found} {what} of {input}";
            "give a number from {found} on, or leave it out, and the other party hears {found}"
        ));
    }
    if !(param.minimum..=param.maximum).contains(&size) {
        return Err(input!(
            "{input} has {size} {what}, and the program takes {} to {}",
            param.minimum, param.maximum;
            "change the range of its param {name} at both parties"
        ));
    }
    Ok(size)
}

/// Returns the table on this side of the join, with these rows.
fn joined(
    plan: &JoinPlan,
    side: JoinSide,
    (signature, rows): (&Signature, &PortValue),
) -> Result<JoinedTable, Failure> {
    let most_rows_of_key = match side {
        JoinSide::Left => 1,
        JoinSide::Right => plan.most_rows_of_key,
    };
    let mut table = TableRows::new(plan.table(side).row_bits() as usize);
    for row in signature.joined_rows(side, rows).into_iter().flatten() {
        let mut key = KeyEncoding::default();
        for (kind, part) in &row.key {
            key = with_part(key, *kind, part)?;
        }
        table.push(key, &row.bits);
    }
    Ok(table.by_key(most_rows_of_key).map_err(tacit::Error::from)?)
}
