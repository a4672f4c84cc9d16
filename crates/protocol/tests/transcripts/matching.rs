//! Plain intersections.

use tacit_circuit::Digest;
use tacit_ot::base::BaseOt;
use tacit_ot::source::Extension;
use tacit_protocol::matching::{KeyEncoding, Keys, Plain, PlainSizes, exchange_sizes};

use crate::{Transcript, check, seed, session, settings};

/// Returns keys in order, as text.
fn keys(numbers: impl IntoIterator<Item = u32>) -> Keys {
    let encoding = |number: u32| KeyEncoding::default().text(number.to_string().as_bytes());
    Keys::new(numbers.into_iter().map(encoding)).expect("each once")
}

fn transcript(extension: Extension, to_both: bool) -> Transcript {
    let (placer, programmer) = (keys(0..300), keys(200..600));
    let (settings, meaning) = (settings(BaseOt::default(), extension), Digest([7; 32]));
    let tag = session().setup(
        tacit_function::Role::Garbler,
        settings.base,
        settings.extension,
    );
    let of = |placers, programmers| {
        let sizes = PlainSizes::of(placers, programmers).expect("small tables");
        Plain::new(sizes, tag, settings, to_both)
    };
    let (mine, yours) = (seed(7), seed(8));
    let mut transcript = Transcript::default();
    let (found, told) = transcript.run_scripts(
        async |io| {
            let theirs = exchange_sizes(io, meaning, 300, None).await?;
            of(300, theirs).place(io, &placer, &mine).await
        },
        async |io| {
            let theirs = exchange_sizes(io, meaning, 400, None).await?;
            of(theirs, 400).program(io, &programmer, &yours).await
        },
    );
    assert!((0..300).all(|key| found[key] == (key >= 200)));
    assert_eq!(told.is_some(), to_both);
    transcript
}

#[test]
fn intersections_by_each_extension() {
    let mut runs = Vec::new();
    for extension in Extension::NAMED {
        runs.push((extension.to_string(), transcript(extension, true)));
    }
    let to_placer = transcript(Extension::default(), false);
    runs.push(("to the placer".to_owned(), to_placer));
    check("match", runs);
}
