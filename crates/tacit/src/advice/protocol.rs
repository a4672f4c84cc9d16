//! Advice about errors of protocols, and about the reasons for which a peer stops.

use tacit_net::NetError;
use tacit_protocol::message::AbortReason;
use tacit_protocol::session::ProtocolId;
use tacit_protocol::{Error as ProtocolError, Incompatibility};

use super::{Advice, advice, advices, same_function};
use crate::Error;

pub(super) fn advice(error: &ProtocolError) -> Advice {
    use ProtocolError as Protocol;
    advices! { error;
        Protocol::PeerIncompatible(difference) => (= of_difference(difference)),
        Protocol::PeerAborted(reason) => (= of_abort(*reason)),
        Protocol::SavedValue { .. } => ("choose a protocol that keeps values, or give the value "
            "as an input"),
        Protocol::SchemeKeepsNothing { .. } => ("give both parties one of these as " [Scheme]),
        Protocol::DamagedMaterial(_) => ("withdraw damaged instances with " (CheckStock)),
        Protocol::TooManyLinks { .. } => ("run it by the protocol direct"),
        Protocol::OtherChain { .. } => ("values of different chains cannot be used together"),
        Protocol::SavedType { .. } => ("load it with the type and the " [Params] " with which it "
            "was saved"),
        Protocol::TransfersUsedUp { .. } => ("open a new session, or give both parties "
            (Set(Setting::OtExtension, "silent".to_owned())) ", which gives any number"),
        Protocol::OtDevice(_) => ("let threads make the OTs, as they do without a GPU, or wait "
            "until other programs have left it memory"),
        Protocol::SecurityBits { .. } => ("ask for a number in this range. Fewer bits are no "
            "security against a malicious party"),
        _ => (),
    }
}

fn of_difference(difference: &Incompatibility) -> Advice {
    use Incompatibility as Differ;
    use ProtocolId::{Authenticated, Batch, Match, Offers, Prepare};
    advices! { difference;
        Differ::Version { .. } => ("use the same release"),
        Differ::SameRole("garbler") => (= other_role("evaluator")),
        Differ::SameRole(_) => (= other_role("garbler")),
        Differ::Function { .. } => (= same_function()),
        Differ::Matching { .. } => ("agree with the other party on how keys are normalised and on "
            "who gets the result, and give both the matching command"),
        Differ::MatchesTables | Differ::MatchesNoTables => ("give both the same command, and to "
            "runs the same program and "
            [Params]),
        Differ::Order { .. } => ("give both sides the same function or file, "
            [Params, Entry, Runs, Components, Ots, Ands, Protocol, Scheme]),
        Differ::Protocol { ours: Batch, theirs: Authenticated }
        | Differ::Protocol { ours: Authenticated, theirs: Batch } => ("give both "
            (Set(Setting::Protocol, "authenticated".to_owned()))
            ", or prepare a batch at both: without " [Protocol]
            " each decides by its own stock, which " (ListStock) " shows"),
        Differ::Protocol { ours: Offers, .. } | Differ::Protocol { theirs: Offers, .. } =>
            ("only a service tells what it offers"),
        Differ::Protocol { ours: Prepare | Match, .. }
        | Differ::Protocol { theirs: Prepare | Match, .. } =>
            ("give both the same command"),
        Differ::Protocol { .. } => ("give both the same " [Protocol, Security]),
        Differ::Scheme { .. } => ("give both the same " [Scheme]),
        Differ::StatisticalSecurity { ours: 0, .. }
        | Differ::StatisticalSecurity { theirs: 0, .. }
        | Differ::Circuits { .. } => ("give all three the same " [Copies]),
        Differ::StatisticalSecurity { .. } => ("give both the same " [SecurityBits]),
        Differ::BaseOt { .. } => ("give both the same " [BaseOt]),
        Differ::OtExtension { .. } => ("give both the same " [OtExtension]),
        Differ::BatchPlan { .. } => ("give both the same release and the same number of "
            "executions"),
        Differ::SavedValues { .. } => ("both remove it with " (DropChain(None)) " and start a "
            "new one"),
        Differ::Pinned { .. } => ("compare the pins that earlier runs printed, and omit the pin "
            "only if you accept the difference"),
        Differ::OtherRun => ("run all three parties again, once for each run"),
        Differ::OtherServer { .. } => ("at that party exchange what " [Generator, Cloud] " name"),
        _ => (),
    }
}

fn other_role(role: &str) -> Advice {
    advice!(
        "start one side with " (Set(Setting::Role, role.to_owned()))
        ", or each as its own party where a program is run"
    )
}

fn of_abort(reason: AbortReason) -> Advice {
    advices! { reason;
        AbortReason::Incompatible => ("compare the commands, and see what it printed"),
        AbortReason::Failed => ("see the error that it printed"),
        AbortReason::Cancelled => ("start again when the other party does"),
        AbortReason::NotAllowed => ("compare role, protocol, parameters, and the digest, which "
            "differs if a program or its public inputs do, with " (ListOffers)
            ", or ask it to add them to " (OfferedFunctions)),
        AbortReason::Busy => ("try again later"),
        AbortReason::TooOften => ("ask less often, or ask it to raise the rate of the function"),
        AbortReason::KeysSpent => ("from 00:00 UTC on it answers as many again; match fewer keys, "
            "compare with " (ListOffers) ", or ask it to raise keys_per_day. A run may count as "
            "more keys than its table has: 256 for one, 1,091 for 1,000"),
        AbortReason::TooLarge => ("match fewer keys, or ask it to raise the most keys that it "
            "accepts, or in a service memory_mib_per_peer or keys_per_day: to wait does not help"),
        AbortReason::TableNotAllowed => ("compare how keys are read, who gets the result, and the "
            "digest of a program that joins, of which it takes no other edition, with "
            (ListOffers) ", or ask it to add them to " (OfferedTables)),
        AbortReason::Unknown => ("give it this party's fingerprint, or bring a new token of the "
            "site that it trusts"),
        AbortReason::OtherLane => ("connect to that process, or ask it to have its other processes "
            "name the address"),
        AbortReason::OrderNotAllowed => ("order less, or ask it to add the order to "
            (OfferedStock) ", or to raise its runs or ands. A service keeps no stock for a program "
            "that joins tables"),
        AbortReason::NoRoom => ("order less, or ask it to raise " (StockLimit)),
        AbortReason::NothingInStock => ("see " (ListStock) " at both, and prepare"),
        AbortReason::OtherServer => ("exchange what " [Generator, Cloud] " name"),
        AbortReason::OtherParty => ("see the error that that party printed"),
        AbortReason::DiskFull => ("have it free some space, and try again"),
        AbortReason::Pinned => ("ask which it gave: it is mistyped, or one went back to an old "
            "copy"),
        _ => (),
    }
}

/// Returns the advice for an error in a session of a run between three parties.
pub(super) fn advice_of_three(error: &Error) -> Advice {
    advices! { error;
        Error::Protocol(ProtocolError::PeerAborted(
            AbortReason::Misbehaved | AbortReason::Incompatible
        )) => ("see the error that it printed"),
        Error::Network(NetError::Unreachable { .. }) => ("check that its command runs and "
            "listens there, and that no firewall is in the way"),
        error => (= error.advice()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::{Remedy, Setting};

    #[test]
    fn what_differs_is_what_is_to_be_given_alike() {
        let settings = |ours, theirs| {
            let difference = Incompatibility::StatisticalSecurity { ours, theirs };
            let advice = of_difference(&difference);
            advice.remedies().cloned().collect::<Vec<_>>()
        };
        for found in [settings(40, 0), settings(0, 40)] {
            assert_eq!(found, [Remedy::Settings(&[Setting::Copies])]);
        }
        assert_eq!(
            settings(40, 41),
            [Remedy::Settings(&[Setting::SecurityBits])]
        );
    }
}
