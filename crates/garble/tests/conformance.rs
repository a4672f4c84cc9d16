//! Every scheme through the conformance suite, on every backend that this CPU has.

use tacit_circuit::Program;
use tacit_garble::{Assumption, HalfGates, LADDER, PrfXor1And3, Scheme, SchemeId, SchemeVisitor};
use tacit_garble::{UnknownScheme, with_scheme};
use tacit_kernels::{Construction, Cpu};
use tacit_testkit::garbling::{circuits, conformance, refuses_other_labels};

#[test]
fn half_gates_under_the_two_call_hash_conforms() {
    for cpu in Cpu::available() {
        conformance(HalfGates::on(cpu, Construction::TwoCall));
    }
}

#[test]
fn half_gates_under_the_rekeyed_hash_conforms() {
    for cpu in Cpu::available() {
        conformance(HalfGates::on(cpu, Construction::Rekeyed));
    }
}

#[test]
fn prf_xor1_and3_conforms() {
    for cpu in Cpu::available() {
        conformance(PrfXor1And3::on(cpu));
    }
}

#[test]
fn prf_xor1_and3_decodes_no_label_but_the_garblers() {
    for cpu in Cpu::available() {
        refuses_other_labels(PrfXor1And3::on(cpu));
    }
}

/// Bytes of tables, as the ladder has them.
struct TableBytes<'p>(&'p Program);

impl SchemeVisitor for TableBytes<'_> {
    type Output = (SchemeId, usize);

    fn visit<S: Scheme>(self, scheme: S) -> (SchemeId, usize) {
        let segments = 0..self.0.segments().len();
        (
            scheme.id(),
            segments
                .map(|segment| scheme.table_bytes(self.0, segment))
                .sum(),
        )
    }
}

#[test]
fn every_rung_is_a_scheme_with_tables_of_the_size_it_states() {
    let program = Program::compile(&circuits::named("wide layers"));
    for rung in &LADDER {
        let (id, bytes) = with_scheme(rung.id, TableBytes(&program)).expect("it is a scheme");
        assert_eq!(id, rung.id);
        let of_xors = usize::from(rung.cost.xor.table_bytes) * program.xors().len();
        let of_ands = usize::from(rung.cost.and.table_bytes) * program.ands().len();
        assert_eq!(bytes, of_xors + of_ands, "{id}");
        assert!(
            rung.cost.xor.bits <= 8 * u16::from(rung.cost.xor.table_bytes),
            "{id}"
        );
        assert_eq!(
            rung.cost.and.bits,
            8 * u16::from(rung.cost.and.table_bytes),
            "{id}"
        );
    }
}

#[test]
fn an_id_that_is_no_scheme_reaches_no_visitor() {
    let mut id = Assumption::PseudorandomFunction.default_scheme();
    id.layout = 9;
    let program = Program::compile(&circuits::named("majority"));
    let refused = with_scheme(id, TableBytes(&program));
    assert_eq!(refused, Err(UnknownScheme([2, 3, 0, 9])));
}
