//! No scheme of the ladder reveals a secret by a linear relation.

use tacit_garble::{SCHEMES, Scheme, SchemeVisitor, with_scheme};
use tacit_testkit::garbling::relations::no_relation;

struct NoRelation;

impl SchemeVisitor for NoRelation {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        no_relation(scheme);
    }
}

#[test]
fn no_sum_of_known_values_is_a_secret() {
    for rung in &SCHEMES {
        with_scheme(rung.id, NoRelation).expect("it is one of SCHEMES");
    }
}
