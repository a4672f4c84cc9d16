//! The conversion between a party's values and the bits of its function's ports.

use std::collections::BTreeMap;

use tacit_circuit::Value;
use tacit_function::{Function, FunctionInput, Role};
use zeroize::Zeroizing;

use crate::Error;

/// Returns the input bits of `role` in port order, without the inputs named in `made`, which the
/// run makes.
pub(crate) fn input_bits(
    function: &Function,
    role: Role,
    values: &BTreeMap<String, Value>,
    made: &[&str],
) -> Result<Zeroizing<Vec<bool>>, Error> {
    let ports = function.inputs();
    for name in values.keys() {
        match ports.iter().find(|input| input.port.name == *name) {
            None => return Err(Error::Input(unknown(function, role, name))),
            Some(input) if input.owner != role => {
                let (owner, role) = (input.owner.name(), role.name());
                return Err(Error::Input(format!(
                    "input {name:?} is the {owner}'s and this party is the {role}; leave it out"
                )));
            }
            Some(_) => (),
        }
    }
    let given = |input: &&FunctionInput| input.owner == role && !made.contains(&&*input.port.name);
    let given = ports.iter().filter(given);
    let width = given.clone().map(|input| input.port.ty.width()).sum();
    // Room for no more: all of it is wiped in the end.
    let mut bits = Zeroizing::new(Vec::with_capacity(width));
    for input in given {
        let (name, ty) = (&input.port.name, &input.port.ty);
        let value = values.get(name).ok_or_else(|| {
            Error::Input(format!(
                "input {name:?} of type {ty} has no value; give it one"
            ))
        })?;
        bits.extend_from_slice(&input.port.convert_value(value)?.to_bits());
    }
    Ok(bits)
}

/// Returns the number of input bits of `role` before the input of this name.
pub(crate) fn bits_before(function: &Function, role: Role, name: &str) -> usize {
    let own = function.inputs().iter().filter(|input| input.owner == role);
    let before = own.take_while(|input| input.port.name != name);
    before.map(|input| input.port.ty.width()).sum()
}

/// Decodes the results of `role` by name, from its output bits.
pub(crate) fn outputs(
    function: &Function,
    role: Role,
    mut bits: &[bool],
) -> Result<BTreeMap<String, Value>, Error> {
    let mut outputs = BTreeMap::new();
    let mine = function.outputs().iter();
    for output in mine.filter(|output| output.recipient.includes(role)) {
        let (value, rest) =
            bits.split_at_checked(output.port.ty.width())
                .ok_or(Error::ApiMisuse(
                    "a run gives as many bits as the function says",
                ))?;
        let value = Value::from_bits(&output.port.ty, value)?;
        outputs.insert(output.port.name.clone(), value);
        bits = rest;
    }
    Ok(outputs)
}

fn unknown(function: &Function, role: Role, name: &str) -> String {
    let mine = function.inputs().iter().filter(|input| input.owner == role);
    let mine: Vec<_> = mine
        .map(|input| format!("{} ({})", input.port.name, input.port.ty))
        .collect();
    let mine = if mine.is_empty() {
        "none".to_owned()
    } else {
        mine.join(", ")
    };
    let role = role.name();
    format!("there is no input {name:?}; inputs of the {role}: {mine}")
}
