//! Every scheme through the conformance suite, on every backend that this CPU has.

use tacit_circuit::{OrderingRule, Program};
use tacit_garble::{FlexOr, FlexOrForm, HalfGates, Prf, PrfXor1And3, PrfXor3And3, ThreeHalves};
use tacit_garble::{LADDER, Scheme, SchemeId, SchemeVisitor, with_scheme};
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
fn three_halves_conforms() {
    for cpu in Cpu::available() {
        conformance(ThreeHalves::on(cpu));
    }
}

#[test]
fn prf_conforms() {
    for cpu in Cpu::available() {
        conformance(Prf::on(cpu));
        refuses_other_labels(Prf::on(cpu));
    }
}

#[test]
fn prf_xor1_and3_conforms() {
    for cpu in Cpu::available() {
        conformance(PrfXor1And3::on(cpu));
        refuses_other_labels(PrfXor1And3::on(cpu));
    }
}

#[test]
fn prf_xor3_and3_conforms() {
    for cpu in Cpu::available() {
        conformance(PrfXor3And3::on(cpu));
        refuses_other_labels(PrfXor3And3::on(cpu));
    }
}

const FLEXOR: [FlexOrForm; 5] = [
    FlexOrForm::RelatedKey(OrderingRule::Monotone),
    FlexOrForm::RelatedKey(OrderingRule::SafeMon1),
    FlexOrForm::RelatedKey(OrderingRule::SafeMon2),
    FlexOrForm::CircularAnd3,
    FlexOrForm::CircularHalfGates,
];

#[test]
fn flexor_conforms() {
    for cpu in Cpu::available() {
        for form in FLEXOR {
            conformance(FlexOr::on(cpu, form));
        }
    }
}

#[test]
fn flexor_decodes_no_label_but_the_garblers() {
    for form in FLEXOR {
        refuses_other_labels(FlexOr::new(form));
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
        let cost = rung.program_cost(&program);
        assert_eq!(bytes as u64, cost.table_bytes, "{id}");
        let translations = rung.ordering.map(|rule| {
            let plan = program.ordering(rule);
            plan.translations().len() + plan.bridges().len()
        });
        let xors = translations.unwrap_or(program.xors().len());
        let of_xors = usize::from(rung.cost.xor.table_bytes) * xors;
        let of_ands = usize::from(rung.cost.and.table_bytes) * program.ands().len();
        // Bits beyond whole bytes are rounded up in each segment.
        let whole_bytes = 8 * usize::from(rung.cost.and.table_bytes);
        let beyond = usize::from(rung.cost.and.bits).saturating_sub(whole_bytes);
        let least = of_xors + of_ands + (beyond * program.ands().len()).div_ceil(8);
        let most = least + program.segments().len() - 1;
        assert!((least..=most).contains(&bytes), "{id}: {bytes} bytes");
    }
}
