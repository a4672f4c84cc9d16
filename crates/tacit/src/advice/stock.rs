//! Advice about errors of prepared material and of chains of saved values.

use tacit_stock::{Repair, StockError};

use super::{Advice, advices};

pub(super) fn advice(error: &StockError) -> Advice {
    use StockError as Stock;
    advices! { error;
        Stock::Corrupted { repair, .. } => (= repaired(*repair)),
        Stock::Incompatible { .. } => ("use the program that wrote it, or start over with "
            (NewEpoch)),
        Stock::WrongStock { .. } => ("run with the identity and peer that it was prepared with, "
            "or with another stock folder"),
        Stock::Missing { .. } => ("make one with " (Prepare)),
        Stock::RolledBack { .. } | Stock::Restored { .. } | Stock::UnknownEpoch { .. } => ("both "
            "parties drop their stock and start over with " ( NewEpoch )),
        Stock::TooManyLanes { .. } => ("end the stocks of lanes that the peer no longer has with "
            (NewEpoch)),
        Stock::EpochEnded { .. } => ("open the stock again"),
        Stock::PeerMisbehaved { .. } => ("end the session"),
        Stock::Behind { mark, .. } => ("continue from " {mark.to_string()}),
        Stock::Exhausted { .. } => ("prepare more with " (Prepare)),
        Stock::Full { .. } => ("raise " (StockLimit) ", or make room with " (CompactStock)),
        Stock::DiskFull { .. } => ("free some space on it, for instance with " (CompactStock) ", "
            "and try again"),
        Stock::NumbersUsedUp { .. } => ("start a new epoch with " (NewEpoch) ", and have the "
            "other party do the same"),
        Stock::Busy { .. } => ("wait until it has finished, or stop it"),
        Stock::NoChain { chain } => ("a run with " (Set(Setting::Chain, chain.clone())) " that "
            "saves values and loads none starts it: of most programs, "
            (Set(Setting::Entry, "start".to_owned()))),
        Stock::NoValue { .. } => ("run a function that saves it before one that loads it"),
        Stock::ChainKilled { .. } => ("both servers remove it with " (DropChain(None)) " and "
            "start over, if they still trust each other"),
        Stock::NotKilled { .. } => ("make room or repair the disk before this process ends: "
            "until then it does not use the chain"),
        Stock::ChainRolledBack { chain, .. } | Stock::ChainsDiffer { chain, .. } => ("both "
            "parties remove what they have of it with " (DropChain(Some(chain.clone()))) ", and "
            "start it again"),
        _ => (),
    }
}

fn repaired(repair: Repair) -> Advice {
    advices! { repair;
        Repair::Check => ("withdraw damaged instances with " (CheckStock)),
        Repair::Withdrawn => ("it is withdrawn: the peer learns that when you meet, and it is "
            "replaced with " ( Prepare )),
        Repair::DropChain => ("check that the disk is healthy, and have both parties remove the "
            "chain with " ( DropChain(None) )),
        Repair::BeginAnew => ("check that the disk is healthy, and start over with " ( NewEpoch )),
        Repair::Remove => ("check that the disk is healthy, remove the file's folder, and have the "
            "other party start over with " (NewEpoch)),
        Repair::CloseRootKey => ("if you trust everyone on this machine run `chmod 600` on it, "
            "otherwise remove it and start over with " (NewEpoch)),
        Repair::RestoreRootKey => ("move it back to its place; without it the stocks do not open: "
            "remove them and prepare again"),
        Repair::RemoveTries => ("remove the file only if you know why each batch and run did not "
            "end"),
        Repair::RemoveAnswered => ("check that the disk is healthy, and remove the file: every "
            "peer may then ask a day's number of keys once more"),
        _ => (),
    }
}
