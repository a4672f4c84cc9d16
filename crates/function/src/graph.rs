//! A function's graph, to be shown: which call reads what from whom.
//!
//! The calls are walked with values that say where each bit comes from, so that assignments
//! without a call and loops leave no trace but the loops' counters.

use std::collections::HashSet;

use tacit_circuit::{Kind, Port, Type};
use zeroize::Zeroize;

use crate::{Function, Values};

/// Where a part of an argument or result comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GraphSource {
    /// A constant bit, or several.
    Constant,
    /// An input or loaded value, by its number among inputs first and loaded values after, and the
    /// element, as `x[3]`.
    Input(usize, String),
    /// A call, by its number, and the element of its output, as `round_keys[3]`.
    Call(u32, String),
}

/// A call of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphCall {
    /// The component's number.
    pub component: usize,
    /// The counters of the loops around it, outermost first.
    pub counters: Vec<(String, i64)>,
    /// What it reads, without repetitions, in the order of its input ports.
    pub reads: Vec<GraphSource>,
}

/// A function's calls, and what its results and then its saved values are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// The calls, in order.
    pub calls: Vec<GraphCall>,
    /// For each element of each result, as `digests[3]`, and then of each saved value, where it
    /// comes from.
    pub results: Vec<(String, Vec<GraphSource>)>,
}

/// The origin of one bit: 0 is a constant; else the source's number plus one, inputs first and
/// then calls, above the bit's number within it.
#[derive(Clone, Copy, Debug, Default)]
struct Bit(u64);

impl Zeroize for Bit {
    fn zeroize(&mut self) {
        self.0 = 0;
    }
}

impl Bit {
    const SHIFT: u32 = 30;

    fn of(source: usize, bit: usize) -> Self {
        Self((source as u64 + 1) << Self::SHIFT | bit as u64)
    }
}

impl Function {
    /// The function's graph, call by call, or nothing where it has more than `most_calls` calls.
    /// Takes time and memory for each bit that a call reads.
    #[must_use]
    pub fn graph(&self, most_calls: u32) -> Option<Graph> {
        if self.call_count() > most_calls {
            return None;
        }
        let given = self.inputs.len() + self.loads.len();
        let mut next = vec![0; given];
        let input = |number: usize| {
            next[number] += 1;
            Ok::<_, core::convert::Infallible>(Bit::of(number, next[number] - 1))
        };
        let mut values = match Values::<Bit>::new(self, input) {
            Ok(values) => values,
            Err(never) => match never {},
        };
        let mut calls: Vec<GraphCall> = Vec::new();
        while let Some(call) = values.next_call(|_| Bit::default()) {
            let reads = self.origins(&calls, values.arguments());
            let component = call.component_index;
            let counters = values.counters();
            let outputs = call.component.circuit().output_bits();
            let source = given + calls.len();
            calls.push(GraphCall {
                component,
                counters,
                reads,
            });
            let results: Vec<Bit> = (0..outputs).map(|bit| Bit::of(source, bit)).collect();
            values.finish_call(&results);
        }
        let bits = values.outputs(|_| Bit::default());
        let mut rest = bits.all();
        let ports = self.outputs.iter().map(|output| &output.port);
        let mut results = Vec::new();
        for port in ports.chain(&self.saves) {
            let (bits, after) = rest.split_at(port.ty.width());
            rest = after;
            let width = innermost(&port.ty).width();
            for (number, bits) in bits.chunks(width).enumerate() {
                let name = element(std::slice::from_ref(port), number * width);
                results.push((name, self.origins(&calls, bits)));
            }
        }
        Some(Graph { calls, results })
    }

    /// Where bits come from, one origin for each element.
    fn origins(&self, calls: &[GraphCall], bits: &[Bit]) -> Vec<GraphSource> {
        let given = self.inputs.len() + self.loads.len();
        let mut origins: Vec<GraphSource> = Vec::new();
        let mut seen = HashSet::new();
        for &Bit(bit) in bits {
            let number = bit & ((1 << Bit::SHIFT) - 1);
            let origin = match (bit >> Bit::SHIFT).checked_sub(1) {
                None => GraphSource::Constant,
                Some(source) if (source as usize) < given => {
                    let source = source as usize;
                    let port = match self.inputs.get(source) {
                        Some(input) => &input.port,
                        None => &self.loads[source - self.inputs.len()],
                    };
                    GraphSource::Input(source, element(std::slice::from_ref(port), number as usize))
                }
                Some(source) => {
                    let call = source as usize - given;
                    let component = &self.components[calls[call].component];
                    let outputs = component.circuit().outputs();
                    GraphSource::Call(call as u32, element(outputs, number as usize))
                }
            };
            // Elements are read as a whole, so that neighbours are mostly the same.
            if origins.last() != Some(&origin) && seen.insert(origin.clone()) {
                origins.push(origin);
            }
        }
        origins
    }
}

/// The type that an array, perhaps of arrays, is made of.
fn innermost(ty: &Type) -> &Type {
    match ty.kind() {
        Kind::Array(of, _) => innermost(of),
        _ => ty,
    }
}

/// The element of the ports in which a bit is: `x[3]`, or the port's name where it is no array.
fn element(ports: &[Port], mut bit: usize) -> String {
    for port in ports {
        let width = port.ty.width();
        if bit >= width {
            bit -= width;
            continue;
        }
        let mut name = port.name.clone();
        let mut ty = &port.ty;
        while let Kind::Array(of, _) = ty.kind() {
            name.push_str(&format!("[{}]", bit / of.width()));
            bit %= of.width();
            ty = of;
        }
        return name;
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FunctionBuilder, Recipient, Role};

    #[test]
    fn each_call_has_what_it_reads_and_each_result_where_it_comes_from() {
        let mut builder = FunctionBuilder::new("sums");
        builder
            .library("add", "adder", &[("bits", 8)])
            .input("x", "u8[3]", Role::Garbler)
            .value("partial", "u8[3]")
            .value("result", "u8[4]")
            .step("partial[0] = 0")
            .repeat("i in 0..2", |each| {
                each.step("partial[i+1] = add(partial[i], x[i+1])");
                each.step("result[i] = partial[i+1]");
            })
            .step("result[2] = x[0]")
            .step("result[3] = 7")
            .output("result", "u8[4]", Recipient::Both, "result");
        let function = builder.finish().unwrap();
        assert_eq!(function.graph(1), None);
        let graph = function.graph(2).unwrap();
        let input = |name: &str| GraphSource::Input(0, name.to_owned());
        let sum = |call| GraphSource::Call(call, "sum".to_owned());
        let call = |turn, reads: [GraphSource; 2]| GraphCall {
            component: 0,
            counters: vec![("i".to_owned(), turn)],
            reads: reads.to_vec(),
        };
        assert_eq!(
            graph.calls,
            [
                call(0, [GraphSource::Constant, input("x[1]")]),
                call(1, [sum(0), input("x[2]")]),
            ]
        );
        let sources = [sum(0), sum(1), input("x[0]"), GraphSource::Constant];
        let results = (0..4).map(|i| format!("result[{i}]"));
        let results: Vec<_> = results.zip(sources.map(|source| vec![source])).collect();
        assert_eq!(graph.results, results);
    }
}
