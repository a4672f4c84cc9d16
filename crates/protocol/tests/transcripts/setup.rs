//! Base OTs, refills and lots of OTs.

use tacit_ot::Security;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;

use crate::{Transcript, check, ots, prg, settings};

#[test]
fn base_ots_and_their_extensions() {
    let mut runs = Vec::new();
    for base in BaseOt::ALL {
        for extension in Extension::NAMED {
            for security in [Security::SemiHonest, Security::Malicious] {
                let mut transcript = Transcript::default();
                let how = (settings(base, extension), security);
                let (mut garbler, mut evaluator) = ots(how, 300, &mut prg(1), &mut transcript);
                let choices: Vec<bool> = (0..300).map(|number| number % 3 == 0).collect();
                transcript.run_scripts(
                    async |io| garbler.offer(io, choices.len()).await,
                    async |io| evaluator.choose(io, &choices),
                );
                runs.push((format!("{base} {extension} {security:?}"), transcript));
            }
        }
    }
    check("setup", runs);
}
