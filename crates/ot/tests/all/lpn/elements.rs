//! The same attacks on silent VOLE, whose secret and noise are elements of GF(2^128) and whose code
//! has random public coefficients of 64 bits. An operation on elements counts one.
//!
//! Gauss, subsets and hybrid cost what they cost for bits: an output is free of noise as often, and
//! the values that an attacker would have to enumerate are not charged. What differs:
//!
//! - **Information sets.** An error has one of 2^128 − 1 values, so lists of sums of two errors are
//!   out of reach. Two errors are found without their values: the sums that fail lie in the plane
//!   of two columns, and two points meet once both are projected from it. Each further error is
//!   tried, n times as many ([`Instance::sets_of_elements`]). p values need p + 1 checks. The test
//!   also holds the parameters to the charges for bits, as if values cost nothing.
//! - **Statistical decoding.** A sum without a secret has nothing but elements of noise. It is zero
//!   if all its outputs are free of noise, and for no other reason, so one such sum is enough, and
//!   no bias is squared. On the other hand an output counts once, not twice.
//! - **Projections.** A linear map to m bits turns outputs into outputs over GF(2), each noisy with
//!   1 − 2^-m times the probability. If all coefficients were 1, one bit of each element would
//!   remain, under the same code with half the noise. Random coefficients of 64 bits mix the bits:
//!   m functionals of an output read at least 63 + m bits of each of its elements (the linear
//!   Cauchy–Davenport theorem, for functionals that are the same for all outputs), so an attack
//!   needs (63 + m) / m outputs for each element. `docs/ot.md` has the argument for functionals
//!   that differ between outputs.

use super::*;

/// The bits of an element.
const ELEMENT_BITS: f64 = 128.0;

/// The bits of a coefficient of the code.
const COEFFICIENT_BITS: f64 = 64.0;

impl Instance {
    /// Returns the cost of information sets in a subset, if noise shows in an output with
    /// probability `shown` and the system takes `ratio` outputs for each element.
    fn sets_of_elements(self, subset: Subset, ratio: f64, shown: f64) -> f64 {
        if ratio * self.secret >= self.outputs {
            return f64::INFINITY;
        }
        let secret = self.fraction_with(subset, ratio) * self.secret;
        let taken = ratio * secret;
        let cost = |p: u32| {
            let errors = f64::from(p);
            let list = (errors - 1.0).max(0.0) * taken.log2();
            let patterns = log2_choose(taken, errors) + errors * (shown / self.block).log2();
            let tries = self.noise_free_if(taken + errors + 1.0, shown) - patterns;
            tries.max(0.0) + add(sparse_solve(secret), list)
        };
        (0..=8).map(cost).fold(f64::INFINITY, f64::min)
    }

    fn sums_without_a_secret(self, subset: Subset) -> f64 {
        let secret = self.fraction(subset) * self.secret;
        secret.log2() + self.noise_free(secret + 1.0)
    }

    /// Returns the least cost over m, which is less than the bits of an element.
    fn projected(self, subset: Subset) -> f64 {
        let cost = |m: f64| {
            let read = (COEFFICIENT_BITS - 1.0 + m).min(ELEMENT_BITS);
            self.sets_of_elements(subset, read / m, 1.0 - (-m).exp2())
        };
        let maps = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 96.0, 127.0];
        maps.into_iter().map(cost).fold(f64::INFINITY, f64::min)
    }

    /// Returns the cost of the attack on a code whose coefficients are all 1: bit 0 of each output,
    /// where half of the noise is zero.
    fn one_bit_without_coefficients(self) -> f64 {
        let bits = Self {
            block: 2.0 * self.block,
            noise: Noise::Bits,
            ..self
        };
        bits.information_sets(Subset::Peeled).0
    }
}

fn elements(sizes: LpnSizes) -> Instance {
    Instance {
        noise: Noise::Elements,
        ..sizes.into()
    }
}

/// Returns the name and the cost of each attack.
fn attacks(instance: Instance) -> Vec<(&'static str, f64)> {
    let sets = |subset| instance.sets_of_elements(subset, 1.0, 1.0);
    vec![
        ("Gauss, all", instance.gauss(Subset::All)),
        ("Gauss, random subset", instance.gauss(Subset::Random)),
        ("Gauss, peeled subset", instance.gauss(Subset::Peeled)),
        ("Gauss, densest subset", instance.gauss(Subset::Densest)),
        ("information sets, all", sets(Subset::All)),
        ("information sets, random subset", sets(Subset::Random)),
        ("information sets, peeled subset", sets(Subset::Peeled)),
        ("information sets, densest subset", sets(Subset::Densest)),
        (
            "projection, peeled subset",
            instance.projected(Subset::Peeled),
        ),
        (
            "projection, densest subset",
            instance.projected(Subset::Densest),
        ),
        (
            "statistical, peeled subset",
            instance.sums_without_a_secret(Subset::Peeled),
        ),
        (
            "statistical, densest subset",
            instance.sums_without_a_secret(Subset::Densest),
        ),
        ("algebra", instance.algebra().0),
        ("hybrid", instance.hybrid().0),
    ]
}

/// Unlike the table for bits, this one has no row below the promised bits, not even where it
/// charges nothing for finding the densest subset.
#[test]
fn every_attack_on_elements_costs_at_least_the_promised_bits() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ot.md");
    let page = std::fs::read_to_string(path).unwrap();
    let promised = f64::from(Extension::Silent.lpn_bits().expect("it rests on LPN"));
    let instances = LPN_SIZES.map(elements);
    let [round, first] = instances.map(attacks);
    let mut missing = Vec::new();
    println!("| attack on silent VOLE | round | first round |\n|---|---|---|");
    for ((name, round), (_, first)) in round.into_iter().zip(first) {
        let row = format!("| {name} | {round:.0} | {first:.0} |");
        println!("{row}");
        assert!(round >= promised && first >= promised, "{row}");
        missing.extend((!page.contains(&row)).then_some(row));
    }
    for instance in instances {
        let free = instance.information_sets(Subset::Peeled).0;
        println!("information sets, peeled subset, values free: {free:.1}");
        assert!(free >= promised);
        let broken = instance.one_bit_without_coefficients();
        println!("one bit, if all coefficients were 1: {broken:.1}");
        assert!(broken < promised - 20.0);
    }
    assert!(
        missing.is_empty(),
        "rows that docs/ot.md lacks: {missing:?}"
    );
}
