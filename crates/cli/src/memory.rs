//! The check that this process may use the memory of a lot of `authenticated`. Without it the
//! system might end the process during a run.

use tacit::stock::LotPreparation;
use tacit_serve::memory::{left_of, of_order};

use crate::failure::{Failure, usage};
use crate::report::shown_bytes;

/// Refuses `what`, which makes `lot`, if the lot takes more than the `allowed` bytes of this
/// process. The error carries `remedy`.
pub(crate) fn check(
    (what, remedy): (&str, &str),
    lot: &LotPreparation<'_>,
    allowed: Option<u64>,
) -> Result<(), Failure> {
    let bytes = of_order(lot);
    match allowed.filter(|allowed| left_of(*allowed) < bytes) {
        None => Ok(()),
        Some(allowed) => Err(usage!(
            "{what} takes up to {} of memory, and this process may take {}, as its control group \
             says", shown_bytes(bytes), shown_bytes(allowed);
            "{remedy}, or let the process have more"
        )),
    }
}

#[cfg(test)]
mod tests {
    use tacit::Role;

    use super::*;

    #[test]
    fn what_a_container_has_no_memory_for_is_refused() {
        const MIB: u64 = 1 << 20;
        let check = |ands, allowed| {
            let lot = LotPreparation::triples(Role::Garbler, ands);
            check(("the run", "do that"), &lot, allowed)
        };
        let container = Some(120 * MIB);
        check(100_000, container).expect("it fits");
        check(1_000_000, None).expect("nothing limits it");
        check(1_000_000, Some(320 * MIB)).expect("it fits");
        let told = check(1_000_000, container).expect_err("too little");
        let told = told.to_string();
        for word in ["the run takes up to 252 MiB", "120 MiB", "do that, or"] {
            assert!(told.contains(word), "{told}");
        }
    }
}
