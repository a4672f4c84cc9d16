//! Runs every scheme through the conformance suite, on every backend that this CPU has.

use tacit_circuit::Program;
use tacit_garble::{Assumption, Hash, SCHEMES, Scheme, SchemeInfo, SchemeVisitor};
use tacit_garble::{with_scheme, with_scheme_on};
use tacit_kernels::Cpu;
use tacit_testkit::garbling::{circuits, conformance, refuses_other_labels};

/// The conformance suite.
struct Conforms;

impl SchemeVisitor for Conforms {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        conformance(scheme);
    }
}

/// Checks that no label decodes except the garbler's.
struct RefusesOtherLabels;

impl SchemeVisitor for RefusesOtherLabels {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        refuses_other_labels(scheme);
    }
}

/// Runs the suite for the schemes of these rows, on every backend.
fn conform(is_meant: impl Fn(&SchemeInfo) -> bool) {
    for rung in SCHEMES.iter().filter(|rung| is_meant(rung)) {
        for cpu in Cpu::available() {
            with_scheme_on(cpu, rung.id, Conforms).expect("it is one of SCHEMES");
            if rung.hash == Hash::Prf {
                let refuses = with_scheme_on(cpu, rung.id, RefusesOtherLabels);
                refuses.expect("it is one of SCHEMES");
            }
        }
    }
}

#[test]
fn schemes_under_the_two_call_hash_conform() {
    conform(|rung| rung.hash == Hash::TwoCall);
}

#[test]
fn half_gates_under_the_rekeyed_hash_conforms() {
    conform(|rung| rung.hash == Hash::Rekeyed);
}

#[test]
fn schemes_from_a_pseudorandom_function_conform() {
    conform(|rung| rung.assumption == Assumption::PseudorandomFunction);
}

#[test]
fn schemes_with_offsets_under_a_hash_keyed_by_labels_conform() {
    let others = [Assumption::RelatedKey, Assumption::Circular];
    conform(|rung| others.contains(&rung.assumption));
}

/// Compares the bytes of tables with those in the ladder.
struct TableBytes<'p>(&'p Program);

impl SchemeVisitor for TableBytes<'_> {
    type Output = usize;

    fn visit<S: Scheme>(self, scheme: S) -> usize {
        let segments = 0..self.0.segments().len();
        segments.map(|n| scheme.table_bytes(self.0, n)).sum()
    }
}

#[test]
fn every_rung_is_a_scheme_with_tables_of_the_size_it_states() {
    let program = Program::compile(&circuits::named("wide layers"));
    for rung in &SCHEMES {
        let bytes = with_scheme(rung.id, TableBytes(&program)).expect("it is a scheme");
        let cost = rung.program_cost(&program);
        assert_eq!(bytes as u64, cost.table_bytes, "{}", rung.id);
    }
}
