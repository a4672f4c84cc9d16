//! The remedies for the library's errors, in terms of the package's arguments.

use tacit::advice::{Remedy, Setting, listed};

/// Returns the name of a remedy in Python. The stock is managed by the command there, too.
pub(crate) fn named(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Settings(settings) => {
            let known: Vec<_> = settings
                .iter()
                .copied()
                .filter(|one| argument(*one).is_some())
                .collect();
            let name = |setting: Setting| argument(setting).unwrap_or(setting.name());
            if known.is_empty() {
                let names = listed(settings, name);
                return format!(
                    "{names} (Python has no such argument: the other party leaves it out)"
                );
            }
            listed(&known, name)
        }
        Remedy::Set(Setting::Replace, _) => "replace=True".to_owned(),
        Remedy::Set(Setting::MostKeys, value) => format!("most_keys={value}"),
        Remedy::Set(setting, value) => match argument(*setting) {
            Some(argument) if argument.ends_with('=') => format!("{argument}{value:?}"),
            _ => remedy.to_string(),
        },
        Remedy::NewEpoch => "`tacit stock new-epoch --peer PEER`".to_owned(),
        Remedy::DropChain(_) => "`tacit stock drop-chain`".to_owned(),
        Remedy::AdoptChain(chain) => format!("`tacit stock adopt {chain} PROGRAM`"),
        Remedy::DropStock => "`tacit stock drop`".to_owned(),
        Remedy::CheckStock => "`tacit stock check`".to_owned(),
        Remedy::ListStock => "`tacit stock list`".to_owned(),
        Remedy::CompactStock => "`tacit stock compact`".to_owned(),
        Remedy::ClearTries => "`tacit stock clear-tries --peer PEER`".to_owned(),
        Remedy::Prepare => "`prepare`".to_owned(),
        Remedy::PrepareBatch(_, bits) => {
            format!("`prepare` at security=\"malicious\" and security_bits={bits}")
        }
        Remedy::Inspect => "what `digest` of the function says".to_owned(),
        remedy => remedy.to_string(),
    }
}

fn argument(setting: Setting) -> Option<&'static str> {
    Some(match setting {
        Setting::Params => "params",
        Setting::Public => "public=",
        Setting::Role => "role=",
        Setting::Protocol => "protocol=",
        Setting::Security => "security=",
        Setting::SecurityBits => "security_bits=",
        Setting::MostKeys => "most_keys=",
        Setting::Chain => "chain=",
        Setting::Replace => "replace=True",
        Setting::Runs => "runs=",
        Setting::Entry => "run=",
        Setting::Repeat => "number of runs",
        _ => return None,
    })
}
