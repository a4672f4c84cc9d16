//! The remedies for the library's errors, in terms of the command's flags and subcommands.

use std::borrow::Cow;

use tacit::advice::{Advice, Remedy, Setting, listed};

/// Returns the advice in the words of the command. A command in it is for `peer`, if the peer is
/// known.
pub(crate) fn told(advice: &Advice, peer: Option<&str>) -> String {
    let peer = peer.unwrap_or("PEER");
    let mut text = advice.in_words(|remedy| named(remedy, peer).into_owned());
    if advice.remedies().any(|remedy| *remedy == Remedy::NewEpoch) {
        text += "; a new epoch ends the chains of `prepared` with the peer, too";
    }
    text
}

fn named(remedy: &Remedy, peer: &str) -> Cow<'static, str> {
    match remedy {
        Remedy::Settings(settings) => listed(settings, flag).into(),
        Remedy::Set(setting, value) => format!("{} {value}", flag(*setting)).into(),
        Remedy::NewEpoch => format!("`tacit stock new-epoch --peer {peer}`").into(),
        Remedy::DropChain(None) => "`tacit stock drop-chain`".into(),
        Remedy::DropChain(Some(chain)) => format!("`tacit stock drop-chain {chain}`").into(),
        Remedy::AdoptChain(chain) => format!("`tacit stock adopt {chain} PROGRAM`").into(),
        Remedy::DropStock => "`tacit stock drop`".into(),
        Remedy::CheckStock => "`tacit stock check`".into(),
        Remedy::ListStock => "`tacit stock list`".into(),
        Remedy::CompactStock => "`tacit stock compact`".into(),
        Remedy::StockLimit => "limit_gib under [stock] in tacit.toml".into(),
        Remedy::Prepare => "`tacit prepare`".into(),
        Remedy::PrepareBatch(function, bits) => {
            format!("`tacit prepare {function} --protocol batch --security-bits {bits} --runs N`")
                .into()
        }
        Remedy::ClearTries => format!("`tacit stock clear-tries --peer {peer}`").into(),
        Remedy::MakeIdentity => "a new one with `tacit keygen`".into(),
        Remedy::Invite => "a new one with `tacit pair invite`".into(),
        Remedy::Inspect => "what `tacit inspect` prints with them".into(),
        Remedy::ListOffers => "what `tacit offers` prints".into(),
        Remedy::OfferedFunctions => "[[serve.function]]".into(),
        Remedy::OfferedTables => "[[serve.match]], or a program that joins to \
            [[serve.function]]"
            .into(),
        Remedy::OfferedStock => "[[serve.stock]]".into(),
        remedy => remedy.to_string().into(),
    }
}

fn flag(setting: Setting) -> &'static str {
    match setting {
        Setting::Params => "--param",
        Setting::Public => "--public",
        Setting::Entry => "--entry",
        Setting::Owners => "--owner",
        Setting::Recipients => "--result",
        Setting::Types => "--type",
        Setting::BitOrder => "--bit-order",
        Setting::Role => "--role",
        Setting::Scheme => "--scheme",
        Setting::Protocol => "--protocol",
        Setting::Security => "--security",
        Setting::SecurityBits => "--security-bits",
        Setting::BaseOt => "--base-ot",
        Setting::OtExtension => "--ot-extension",
        Setting::Copies => "--copies",
        Setting::Runs => "--runs",
        Setting::Components => "--component",
        Setting::Ots => "--ots",
        Setting::Ands => "--ands",
        Setting::Repeat => "--repeat",
        Setting::MostKeys => "--most-keys",
        Setting::Chain => "--chain",
        Setting::Policy => "--allow",
        Setting::Replace => "--replace",
        Setting::PlainTcp => "--plain-loopback",
        Setting::Generator => "--generator",
        Setting::Cloud => "--cloud",
        setting => setting.name(),
    }
}

#[cfg(test)]
mod tests {
    use tacit::stock::StockError;

    use super::*;

    #[test]
    fn a_new_epoch_is_recommended_with_the_peer() {
        let error = tacit::Error::from(StockError::Incompatible {
            file: "index.db".into(),
            found: 1,
            expected: 2,
        });
        let named = told(&error.advice(), Some("bob"));
        assert!(
            named.contains("new-epoch --peer bob`; a new epoch ends the chains"),
            "{named}"
        );
        assert!(told(&error.advice(), None).contains("--peer PEER`; a new epoch"));
        let other = tacit::Error::from(StockError::EpochEnded {
            epoch: tacit::stock::EpochId {
                number: 1,
                nonce: [0; 16],
            },
        });
        assert!(!told(&other.advice(), None).contains("new epoch"));
    }
}
