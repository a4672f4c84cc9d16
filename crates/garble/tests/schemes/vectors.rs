//! The frozen garblings of `vectors/`, bit for bit. After a change of one, two versions no longer
//! understand each other, so it needs another layout in the scheme's id.

use sha2::{Digest as _, Sha256};
use tacit_circuit::Program;
use tacit_garble::{SCHEMES, Scheme, SchemeVisitor, with_scheme};
use tacit_kernels::Block;
use tacit_testkit::garbling::{Garbled, Setting, circuits};
use tacit_testkit::vectors::{Vector, hex};

/// Checks a vector's statements about its scheme.
struct Check<'v>(&'v Vector);

impl SchemeVisitor for Check<'_> {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let Self(vector) = self;
        vector.assert_text("scheme-id", &hex(&scheme.id().to_bytes()));
        let setting = Setting {
            seed: vector.bytes("seed"),
            start: Block::from_bytes(vector.bytes("start")),
            delta: Block::from_bytes(vector.bytes("delta")),
            instance: vector.number("instance") as u32,
            first_output: vector.number("first-output"),
        };
        let circuit = circuits::named(vector.text("circuit"));
        vector.assert_text("circuit-digest", &circuit.digest().to_string());
        let program = Program::compile(&circuit);
        // A program has a frozen vector of its own: if this differs, look there first.
        vector.assert_text("program-fingerprint", &program.fingerprint().to_string());
        let garbled = Garbled::new(scheme, &setting, &program);
        let tables = garbled.tables.concat();
        vector.assert_text("tables-bytes", &tables.len().to_string());
        vector.assert_text("tables-sha256", &hex(&Sha256::digest(&tables)));
        vector.assert_text("decoding-sha256", &hex(&Sha256::digest(&garbled.decoding)));
        if tables.len() <= 512 {
            vector.assert_text("tables", &hex(&tables));
            vector.assert_text("decoding", &hex(&garbled.decoding));
        }
    }
}

/// A scheme that is not frozen could change unnoticed.
#[test]
fn every_scheme_of_the_ladder_is_frozen() {
    for rung in &SCHEMES {
        for circuit in ["majority", "aes-128"] {
            let name = rung.id.to_string().replace('/', "-");
            let vector = Vector::read(&format!("garbling-{name}-{circuit}.txt"));
            assert_eq!(vector.text("scheme").parse(), Ok(rung.id));
            with_scheme(rung.id, Check(&vector)).expect("it is one of SCHEMES");
        }
    }
}
