//! Tests of loops that remain chains.

use super::*;

/// A loop whose turns wait for each other is reported with its layers. Other loops are not.
#[test]
fn loops_that_stay_chains_are_named() {
    let chains = |body: &str| {
        let text = format!(
            "parties a, b;\ncomponent fn mix(n: u8, x: u8) -> u8 {{ (n ^ x) & (x + 1) }}\n\
             main(x: [u8; 32] of a, y: [u8; 32] of b) -> (n: u8 to both) {{\n\
             let mut n: u8 = 3;\nlet mut z = [0 as u8; 32];\n{body}\n\
             for i in 0..32 {{ n += z[i]; }}\nn }}\n"
        );
        let mut program = program_of(&text);
        program.form = CircuitForm::Shallow;
        let (costed, costs) = program
            .lower_with_costs("main", EntryId(0), &NoCircuitFiles)
            .expect("a function");
        let (_, lowered) = lower(&program, "main");
        assert_eq!(costed.function.digest(), lowered.function.digest());
        let chains = costs.chains.into_iter();
        chains
            .map(|one| {
                let names: Vec<_> = one.variables.iter().map(ToString::to_string).collect();
                assert!(u64::from(one.layers) >= one.turns && one.turns == 32);
                names.join(" ")
            })
            .collect::<Vec<_>>()
    };
    let independent = "for i in 0..32 { z[i] = mix(x[i], y[i]); }";
    assert_eq!(chains(independent), [""; 0]);
    let calls = "for i in 0..32 { n = mix(n, x[i] ^ y[i]); }";
    assert_eq!(chains(calls), ["n"]);
    let gates = "for i in 0..32 { n = (n ^ y[i]) & x[i]; z[i] = n; }";
    assert_eq!(chains(gates), ["n z"]);
}
