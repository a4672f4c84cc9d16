//! Runs of `direct`.

use tacit_garble::{LADDER, Scheme, SchemeId, SchemeVisitor, with_scheme};
use tacit_ot::Security;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::direct::{Evaluating, Garbling};
use tacit_protocol::session::ProtocolId;

use crate::{INPUTS, Transcript, adder, check, ots, prg, run_tag, seed, settings};

/// A run by OTs of an extension.
struct Run(Extension);

impl SchemeVisitor for Run {
    type Output = Transcript;

    fn visit<S: Scheme>(self, scheme: S) -> Transcript {
        let function = adder();
        let how = (settings(BaseOt::default(), self.0), Security::SemiHonest);
        let (garbler, evaluator) = ots(how, 8, &mut prg(1), &mut Transcript::default());
        let tag = run_tag(ProtocolId::Direct, scheme.id(), &function);
        let garbler = Garbling::new(scheme, &function, tag, &INPUTS[0], garbler, &seed(7));
        let evaluator = Evaluating::new(scheme, &function, tag, &INPUTS[1], evaluator);
        let (mut garbler, mut evaluator) = (garbler.expect("a run"), evaluator.expect("a run"));
        let mut transcript = Transcript::default();
        transcript.run([&mut garbler, &mut evaluator]);
        transcript
    }
}

#[test]
fn direct_under_every_scheme_and_extension() {
    let mut runs = Vec::new();
    for rung in &LADDER {
        let transcript = with_scheme(rung.id, Run(Extension::default())).expect("known");
        runs.push((rung.name.to_owned(), transcript));
    }
    for extension in Extension::NAMED {
        let transcript = with_scheme(SchemeId::HALF_GATES_TWO_CALL, Run(extension));
        runs.push((extension.to_string(), transcript.expect("known")));
    }
    check("direct", runs);
}
