//! Runs of `direct`.

use tacit_garble::{SCHEMES, Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_ot::Security;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::direct::Run;
use tacit_protocol::session::ProtocolId;

use crate::{INPUTS, Transcript, adder, check, ots, prg, run_tag, seed, settings};

/// A run with OTs of an extension.
struct DirectRun(Extension);

impl SchemeVisitor for DirectRun {
    type Output = Transcript;

    fn visit<S: Scheme>(self, scheme: S) -> Transcript {
        let function = adder();
        let how = (settings(BaseOt::default(), self.0), Security::SemiHonest);
        let (mut offers, mut choices) = ots(how, 8, &mut prg(1), &mut Transcript::default());
        let tag = run_tag(ProtocolId::Direct, scheme.id(), &function);
        let (run, seed) = (
            Run {
                scheme,
                function: &function,
                tag,
                threads: 1,
            },
            seed(7),
        );
        let mut transcript = Transcript::default();
        let (ours, theirs) = transcript.run_scripts(
            async |io| run.garble(io, &INPUTS[0], &mut offers, &seed).await,
            async |io| run.evaluate(io, &INPUTS[1], &mut choices).await,
        );
        assert_eq!(ours, theirs);
        transcript
    }
}

#[test]
fn direct_under_every_scheme_and_extension() {
    let mut runs = Vec::new();
    for scheme in &SCHEMES {
        let transcript = with_scheme(scheme.id, DirectRun(Extension::default())).expect("known");
        runs.push((scheme.name.to_owned(), transcript));
    }
    for extension in Extension::NAMED {
        let transcript = with_scheme(SchemeId::HALF_GATES_TWO_CALL, DirectRun(extension));
        runs.push((extension.to_string(), transcript.expect("known")));
    }
    check("direct", runs);
}
