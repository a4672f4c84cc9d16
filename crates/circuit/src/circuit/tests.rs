use super::*;

fn port(name: &str, bits: usize) -> Port {
    Port::new(name, Type::bits(bits))
}

fn half_adder(inputs: Vec<Port>, outputs: Vec<Port>) -> Result<Circuit, CircuitError> {
    Circuit::new(
        inputs,
        outputs,
        [Gate::Xor(0, 1), Gate::And(0, 1)],
        vec![2, 3],
    )
}

#[test]
fn parts_come_back_as_given() {
    let circuit = half_adder(vec![port("a", 1), port("b", 1)], vec![port("sum", 2)]).unwrap();
    assert_eq!(circuit.input_bits(), 2);
    assert_eq!(circuit.output_bits(), 2);
    assert_eq!(circuit.wire_count(), 4);
    assert_eq!(
        circuit.gates().collect::<Vec<_>>(),
        [Gate::Xor(0, 1), Gate::And(0, 1)]
    );
    assert_eq!(circuit.output_wires(), [2, 3]);
    assert_eq!(size_of::<PackedGate>(), 8);
}

#[test]
fn every_kind_of_gate_survives_packing() {
    let last = Circuit::MAX_WIRES as u32 - 1;
    for gate in [
        Gate::Xor(last, last),
        Gate::And(0, last),
        Gate::And(last, 0),
        Gate::Inv(last),
    ] {
        assert_eq!(PackedGate::pack(gate).unpack(), gate);
    }
}

#[test]
fn odd_port_names_are_refused() {
    for name in ["", "1a", "a b", "a=1", "é", "a-b", "_a", &"a".repeat(65)] {
        let error = half_adder(vec![port(name, 2)], vec![port("sum", 2)]).unwrap_err();
        assert!(
            matches!(error, CircuitError::PortName { .. }),
            "{name}: {error}"
        );
    }
    half_adder(vec![port(&"a".repeat(64), 2)], vec![port("sum", 2)]).unwrap();
}

#[test]
fn ports_are_unique_each_way_and_there_is_one() {
    let error = half_adder(vec![port("a", 1), port("a", 1)], vec![port("a", 2)]).unwrap_err();
    let port_name = "a".to_owned();
    assert_eq!(
        error,
        CircuitError::DuplicatePort {
            direction: "input",
            port: port_name
        }
    );
    half_adder(vec![port("a", 2)], vec![port("a", 2)]).unwrap();
    let error = half_adder(vec![], vec![port("a", 2)]).unwrap_err();
    assert_eq!(error, CircuitError::NoPorts { direction: "input" });
    let error = half_adder(vec![port("a", 2)], vec![]).unwrap_err();
    assert_eq!(
        error,
        CircuitError::NoPorts {
            direction: "output"
        }
    );
}

#[test]
fn a_gate_must_not_read_ahead() {
    for gate in [
        Gate::Xor(0, 2),
        Gate::And(2, 0),
        Gate::Inv(2),
        Gate::Inv(u32::MAX),
    ] {
        let error =
            Circuit::new(vec![port("a", 2)], vec![port("b", 1)], [gate], vec![0]).unwrap_err();
        assert!(matches!(
            error,
            CircuitError::GateReadsAhead {
                gate: 0,
                limit: 2,
                ..
            }
        ));
    }
}

#[test]
fn outputs_must_fit_their_ports_and_the_wires() {
    let error = half_adder(vec![port("a", 2)], vec![port("sum", 3)]).unwrap_err();
    assert_eq!(
        error,
        CircuitError::PortWidth {
            direction: "output",
            expected: 3,
            found: 2
        }
    );
    let error = Circuit::new(vec![port("a", 2)], vec![port("b", 1)], [], vec![2]).unwrap_err();
    assert_eq!(
        error,
        CircuitError::OutputWire {
            bit: 0,
            wire: 2,
            wires: 2
        }
    );
}

#[test]
fn too_many_wires_are_refused() {
    let full = vec![port("a", 1 << 29), port("b", 1 << 29)];
    let error = Circuit::new(full.clone(), vec![port("c", 1)], [Gate::Inv(0)], vec![0]);
    assert_eq!(
        error.unwrap_err(),
        CircuitError::TooManyWires {
            at: "gate 0".to_owned()
        }
    );
    let past = [full, vec![port("c", 1)]].concat();
    let error = Circuit::new(past, vec![port("c", 1)], [], vec![0]).unwrap_err();
    assert_eq!(
        error,
        CircuitError::TooManyWires {
            at: "input \"c\"".to_owned()
        }
    );
}

#[test]
fn ports_can_be_renamed_but_not_resized() {
    let circuit = half_adder(vec![port("in0", 2)], vec![port("out0", 2)]).unwrap();
    let sum = vec![Port::new("sum", Type::unsigned(2))];
    let (a, b) = (Port::new("a", Type::BIT), Port::new("b", Type::BIT));
    let typed = circuit
        .clone()
        .with_ports(vec![a.clone(), b], sum.clone())
        .unwrap();
    assert_eq!(typed.outputs(), sum);
    assert!(typed.gates().eq(circuit.gates()));
    let error = circuit.with_ports(vec![a], sum).unwrap_err();
    assert_eq!(
        error,
        CircuitError::PortWidth {
            direction: "input",
            expected: 1,
            found: 2
        }
    );
}
