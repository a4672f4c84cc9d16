//! The plain evaluator: computes a circuit without any cryptography. It is the oracle of everything
//! else.
//!
//! Evaluation is bit-sliced: a wire holds one word, and bit k of every word belongs to instance k,
//! so that one pass computes 64 instances. Time and memory depend on the circuit alone, never on
//! the inputs. The wires are wiped afterwards, since inputs may be secret.

use zeroize::{Zeroize, Zeroizing};

use crate::{Circuit, CircuitError, Port, Value};

/// A word of bit-sliced values. Bit k is the value in instance k.
pub type Lanes = u64;

/// The number of instances that one pass computes.
pub const LANES: usize = Lanes::BITS as usize;

impl Circuit {
    /// Returns the output bits for `inputs`, both in port order.
    ///
    /// # Panics
    ///
    /// If the number of `inputs` is not the number of input bits.
    pub fn evaluate(&self, inputs: &[bool]) -> Vec<bool> {
        let mut lanes: Vec<Lanes> = inputs.iter().map(|&bit| Lanes::from(bit)).collect();
        let outputs = self.evaluate_lanes(&lanes);
        lanes.zeroize();
        outputs.into_iter().map(|lane| lane & 1 == 1).collect()
    }

    /// Returns the output bits for each of many inputs, 64 in a pass.
    ///
    /// # Panics
    ///
    /// If the number of bits of an instance is not the number of input bits.
    pub fn evaluate_batch<I: AsRef<[bool]>>(&self, instances: &[I]) -> Vec<Vec<bool>> {
        let mut outputs = Vec::with_capacity(instances.len());
        let mut lanes = vec![0; self.input_bits()];
        for pass in instances.chunks(LANES) {
            lanes.fill(0);
            for (k, instance) in pass.iter().enumerate() {
                let bits = instance.as_ref();
                assert_eq!(
                    bits.len(),
                    self.input_bits(),
                    "input bits of instance {k} of the pass"
                );
                for (lane, &bit) in lanes.iter_mut().zip(bits) {
                    *lane |= Lanes::from(bit) << k;
                }
            }
            let results = self.evaluate_lanes(&lanes);
            let instance = |k| results.iter().map(|lane| lane >> k & 1 == 1).collect();
            outputs.extend((0..pass.len()).map(instance));
        }
        lanes.zeroize();
        outputs
    }

    /// Returns the output words for `inputs`. Computes 64 instances at once: bit k of each word
    /// belongs to instance k.
    ///
    /// # Panics
    ///
    /// If the number of `inputs` is not the number of input bits.
    pub fn evaluate_lanes(&self, inputs: &[Lanes]) -> Vec<Lanes> {
        assert_eq!(inputs.len(), self.input_bits(), "input bits");
        let mut wires = Vec::with_capacity(self.wire_count());
        wires.extend_from_slice(inputs);
        for gate in self.packed_gates() {
            // Avoids a branch on the kind, which no processor predicts.
            let [and, inv] =
                [gate.is_and(), gate.is_inv()].map(|is| Lanes::from(is).wrapping_neg());
            let [a, b] = gate.wires().map(|wire| wires[wire as usize]);
            wires.push((a ^ (b | inv)) & !and | a & b & and);
        }
        let outputs = self
            .output_wires()
            .iter()
            .map(|&wire| wires[wire as usize])
            .collect();
        wires.zeroize();
        outputs
    }

    /// Returns the output values for `inputs`, one for each port, in order. Each input is converted
    /// to its port's type if [`Value::convert`] can do so.
    ///
    /// # Errors
    ///
    /// [`CircuitError::ValueCount`] if the number of values is not the number of input ports,
    /// [`CircuitError::Value`] if a value does not fit its port.
    pub fn evaluate_values(&self, inputs: &[Value]) -> Result<Vec<Value>, CircuitError> {
        let bits = self.encode_inputs(inputs)?;
        let outputs = Zeroizing::new(self.evaluate(&bits));
        Ok(self.decode_outputs(&outputs))
    }

    /// Returns the input bits of `inputs`, one value for each port, in order. See
    /// [`Circuit::evaluate_values`].
    ///
    /// # Errors
    ///
    /// As [`Circuit::evaluate_values`].
    pub fn encode_inputs(&self, inputs: &[Value]) -> Result<Zeroizing<Vec<bool>>, CircuitError> {
        encode_values(self.inputs().iter(), inputs)
    }

    /// Returns the values of the output ports, given all output bits.
    ///
    /// # Panics
    ///
    /// If the number of `bits` is not the number of output bits.
    pub fn decode_outputs(&self, bits: &[bool]) -> Vec<Value> {
        assert_eq!(bits.len(), self.output_bits(), "output bits");
        decode_values(self.outputs().iter(), bits)
    }
}

/// Returns the bits of `values`, one for each port, each converted to its port's type.
///
/// # Errors
///
/// [`CircuitError::ValueCount`] if the number of values is not the number of ports,
/// [`CircuitError::Value`] if a value does not fit its port.
pub fn encode_values<'p>(
    ports: impl Iterator<Item = &'p Port> + Clone,
    values: &[Value],
) -> Result<Zeroizing<Vec<bool>>, CircuitError> {
    let (expected, found) = (ports.clone().count(), values.len());
    if found != expected {
        return Err(CircuitError::ValueCount { expected, found });
    }
    let width = ports.clone().map(|port| port.ty.width()).sum();
    let mut bits = Zeroizing::new(Vec::with_capacity(width));
    for (port, value) in ports.zip(values) {
        bits.extend_from_slice(&port.convert_value(value)?.to_bits());
    }
    Ok(bits)
}

/// Returns the values of `ports`, given all their bits.
///
/// # Panics
///
/// If `bits` has fewer bits than the ports.
pub fn decode_values<'p>(ports: impl Iterator<Item = &'p Port>, mut bits: &[bool]) -> Vec<Value> {
    let value = |port: &Port| {
        let (own, after) = bits.split_at(port.ty.width());
        bits = after;
        Value::from_bits(&port.ty, own).expect("as many bits as the type is wide")
    };
    ports.map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gate, Type};

    /// Returns a circuit that maps (a, b, carry in) to (sum, carry out, a, NOT a).
    fn full_adder() -> Circuit {
        let gates = [
            Gate::Xor(0, 2),
            Gate::Xor(1, 2),
            Gate::And(3, 4),
            Gate::Xor(5, 2),
            Gate::Xor(3, 1),
            Gate::Inv(0),
        ];
        let ports = |name: &str, bits| vec![Port::new(name, Type::bits(bits))];
        Circuit::new(ports("in0", 3), ports("out0", 4), gates, vec![7, 6, 0, 8]).unwrap()
    }

    fn expected([a, b, c]: [bool; 3]) -> Vec<bool> {
        vec![a ^ b ^ c, (a & b) | (a & c) | (b & c), a, !a]
    }

    #[test]
    fn every_input_of_a_full_adder() {
        for n in 0..8 {
            let inputs = [n & 1 == 1, n & 2 == 2, n & 4 == 4];
            assert_eq!(
                full_adder().evaluate(&inputs),
                expected(inputs),
                "{inputs:?}"
            );
        }
    }

    #[test]
    fn batches_of_every_size_around_a_pass_agree_with_single_evaluations() {
        for size in [0, 1, 63, 64, 65, 128, 130] {
            let inputs: Vec<[bool; 3]> = (0..size)
                .map(|n| [n % 2 == 0, n % 3 == 0, n % 5 == 0])
                .collect();
            let outputs = full_adder().evaluate_batch(&inputs);
            assert_eq!(
                outputs,
                inputs.into_iter().map(expected).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn values_go_in_and_come_out_by_port() {
        let inputs = vec![
            Port::new("a", Type::BIT),
            Port::new("rest", Type::unsigned(2)),
        ];
        let outputs = vec![
            Port::new("sum", Type::unsigned(2)),
            Port::new("as", Type::bits(2)),
        ];
        let circuit = full_adder().with_ports(inputs, outputs).unwrap();
        let results = circuit
            .evaluate_values(&[Value::from(true), Value::from(2_u64)])
            .unwrap();
        let texts: Vec<String> = results.iter().map(Value::to_text).collect();
        assert_eq!(texts, ["2", "10"]);
        let error = circuit.evaluate_values(&[Value::from(true)]).unwrap_err();
        assert_eq!(
            error,
            CircuitError::ValueCount {
                expected: 2,
                found: 1
            }
        );
        let error = circuit
            .evaluate_values(&[Value::from(true), Value::from(4_u64)])
            .unwrap_err();
        assert!(
            error.to_string().starts_with("rest is of type u2"),
            "{error}"
        );
    }

    #[test]
    #[should_panic(expected = "input bits")]
    fn a_wrong_number_of_inputs_panics() {
        let _ = full_adder().evaluate(&[true]);
    }
}
