//! Values from and to JSON.

use serde_json::Value as Json;
use zeroize::Zeroize;

use crate::{CircuitError, Kind, Type};

use super::given::HostValue;
use super::text::number_range;
use super::{Reader, Value};

/// The least magnitude of integers that are JSON strings. Many readers of JSON would round such
/// numbers (RFC 8259, section 6).
pub(super) const FIRST_ROUNDED: u64 = 1 << 53;

impl Reader<'_> {
    /// Reads a value that another language gives.
    pub(super) fn given(&mut self, ty: &Type, given: HostValue<'_>) -> Result<(), CircuitError> {
        let Kind::Array(of, n) = ty.kind() else {
            return match given {
                HostValue::Json(json) => self.json(ty, json),
                HostValue::Numbers(numbers) => match numbers.bits(ty) {
                    Some(bits) => {
                        bits.for_each(|bit| self.bits.push(bit));
                        Ok(())
                    }
                    None => {
                        let json = numbers.to_json();
                        let result = self.json(ty, &json);
                        wipe_json(json);
                        result
                    }
                },
                _ => Err(self.error(ty, number_range(ty), kind_of(given).to_owned())),
            };
        };
        let found = match given.length() {
            Some(length) if length == *n as usize => {
                for (index, element) in given.items().enumerate() {
                    self.indices.push(index);
                    self.given(of, element)?;
                    self.indices.pop();
                }
                return Ok(());
            }
            Some(length) => format!("a list of {length}"),
            None => kind_of(given).to_owned(),
        };
        Err(self.error(ty, format!("a list of {n}"), found))
    }

    /// Reads a value that is not an array from JSON.
    fn json(&mut self, ty: &Type, json: &Json) -> Result<(), CircuitError> {
        match (ty.kind(), json) {
            (Kind::Bit, Json::Bool(bit)) => {
                self.bits.push(*bit);
                Ok(())
            }
            (Kind::Unsigned(_) | Kind::Signed(_) | Kind::Bit, Json::Number(number)) => {
                if number
                    .as_f64()
                    .is_none_or(|n| n.abs() >= FIRST_ROUNDED as f64)
                {
                    let expected = format!("{} (from 2^53 on as a string)", number_range(ty));
                    return Err(self.error(ty, expected, "a greater JSON number".to_owned()));
                }
                let text = match number.as_f64() {
                    // This is the form in which -0 is read.
                    Some(zero) if zero == 0.0 && zero.is_sign_negative() => "0".to_owned(),
                    _ => number.to_string(),
                };
                self.json_text(ty, text)
            }
            (Kind::Fixed { .. }, Json::Number(number)) => self.json_text(ty, number.to_string()),
            (_, Json::String(text)) => self.text(ty, text),
            (Kind::Bits(_) | Kind::Bytes(_), _) => Err(self.error(
                ty,
                "a string".to_owned(),
                kind_of(HostValue::Json(json)).to_owned(),
            )),
            _ => Err(self.error(
                ty,
                number_range(ty),
                kind_of(HostValue::Json(json)).to_owned(),
            )),
        }
    }

    fn json_text(&mut self, ty: &Type, mut text: String) -> Result<(), CircuitError> {
        let result = self.text(ty, &text);
        text.zeroize();
        result
    }
}

impl Value {
    /// Returns JSON that [`Value::from_json`] reads back. A `bit` and numbers below 2^53 are
    /// numbers, greater numbers, byte strings and bit strings are strings, and arrays are lists.
    pub fn to_json(&self) -> Json {
        match self.ty.kind() {
            Kind::Array(..) => self.elements().iter().map(Self::to_json).collect(),
            Kind::Bit => Json::from(u8::from(self.bit(0))),
            Kind::Bits(_) | Kind::Bytes(_) => Json::from(self.to_text()),
            Kind::Unsigned(_) | Kind::Signed(_) => self
                .to_text()
                .parse::<i64>()
                .ok()
                .filter(|n| n.unsigned_abs() < FIRST_ROUNDED)
                .map_or_else(|| Json::from(self.to_text()), Json::from),
            Kind::Fixed { fraction, .. } => {
                // A float holds 53 bits and, within its range, scales exactly by powers of two.
                let (_, magnitude) = self.magnitude();
                let is_exact = !magnitude.any_bit_from(53) && *fraction <= 1000;
                let float = serde_json::from_str(&self.to_text()).ok();
                let float = float.filter(|_: &f64| is_exact);
                float.map_or_else(|| Json::from(self.to_text()), Json::from)
            }
        }
    }
}

fn kind_of(given: HostValue<'_>) -> &'static str {
    match given {
        HostValue::Json(Json::Null) => "null",
        HostValue::Json(Json::Bool(_)) => "true or false",
        HostValue::Json(Json::Number(_)) => "a number",
        HostValue::Json(Json::String(_)) => "a string",
        HostValue::Json(Json::Object(_)) | HostValue::Row(..) => "an object",
        HostValue::Numbers(_) if given.length().is_none() => "a number",
        HostValue::Json(Json::Array(_)) | HostValue::Numbers(_) | HostValue::Columns(_) => "a list",
    }
}

/// Drops a JSON tree and wipes its strings, which held secrets.
pub fn wipe_json(json: Json) {
    match json {
        Json::String(mut text) => text.zeroize(),
        Json::Array(elements) => elements.into_iter().for_each(wipe_json),
        Json::Object(fields) => fields.into_iter().for_each(|(_, field)| wipe_json(field)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Port;
    use serde_json::json;

    fn json(ty: &str, json: &Json) -> Result<Json, CircuitError> {
        Value::from_json(&ty.parse().unwrap(), json).map(|value| value.to_json())
    }

    #[test]
    fn json_is_read_and_written() {
        let known = [
            ("bit", json!(true), json!(1)),
            ("bit", json!(0), json!(0)),
            ("bit", json!("1"), json!(1)),
            ("bits[3]", json!("011"), json!("011")),
            ("u8", json!(200), json!(200)),
            ("u8", json!("0xc8"), json!(200)),
            ("i8", json!(-7), json!(-7)),
            ("i8", json!(-0.0), json!(0)),
            ("u64", json!((1_u64 << 53) - 1), json!((1_u64 << 53) - 1)),
            ("u64", json!("9007199254740992"), json!("9007199254740992")),
            (
                "i64",
                json!("-9007199254740992"),
                json!("-9007199254740992"),
            ),
            (
                "i64",
                json!(-9007199254740991_i64),
                json!(-9007199254740991_i64),
            ),
            ("bytes[2]", json!("0x0aFF"), json!("0aff")),
            ("u8[2][2]", json!([[1, 2], [3, 4]]), json!([[1, 2], [3, 4]])),
            ("fixed[8,8]", json!(-1.5), json!(-1.5)),
            (
                "fixed[1,40]",
                json!(9.094947017729282e-13),
                json!(9.094947017729282e-13),
            ),
            (
                "fixed[60,8]",
                json!("576460752303423487.5"),
                json!("576460752303423487.5"),
            ),
        ];
        for (ty, read, written) in known {
            assert_eq!(json(ty, &read).as_ref(), Ok(&written), "{ty} {read}");
        }
    }

    /// Other programs and people write numbers in these forms.
    #[test]
    fn numbers_have_a_plus_sign_or_nothing_before_the_point() {
        for (ty, text, value) in [
            ("u8", "+5", json!(5)),
            ("i8", "+0x7f", json!(127)),
            ("fixed[8,8]", ".5", json!(0.5)),
            ("fixed[8,8]", "-.5", json!(-0.5)),
            ("fixed[8,8]", "+.5e1", json!(5.0)),
            ("fixed[8,8]", "+5", json!(5.0)),
            ("fixed[8,8]", "-0", json!(0.0)),
        ] {
            assert_eq!(json(ty, &json!(text)).as_ref(), Ok(&value), "{text}");
        }
        for text in [
            "", "+", "-", ".", "+-5", "-+5", "++5", "e5", ".e5", "+.", "5.",
        ] {
            assert!(json("fixed[8,8]", &json!(text)).is_err(), "{text}");
            assert!(json("i8", &json!(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn a_fixed_number_is_read_by_its_digits() {
        for (number, text) in [
            (json!(0.1), "0.1"),
            (json!(-1e-5), "-0.00001"),
            (json!(3), "3"),
        ] {
            assert_eq!(
                json("fixed[3,90]", &number),
                json("fixed[3,90]", &json!(text))
            );
        }
    }

    #[test]
    fn numbers_that_other_readers_round_must_be_strings() {
        for number in [
            json!(1_u64 << 53),
            json!(u64::MAX),
            json!(-(1_i64 << 53)),
            json!(1e300),
        ] {
            let error = json("u64", &number).unwrap_err().to_string();
            assert!(error.contains("from 2^53 on as a string"), "{error}");
        }
        assert!(json("u64", &json!(1.5)).is_err());
        assert!(json("u64", &json!(-1)).is_err());
    }

    #[test]
    fn other_kinds_are_refused_by_name() {
        let refused = [
            ("u8", json!(null), "null"),
            ("u8", json!(true), "true or false"),
            ("u8", json!([1]), "a list"),
            ("bytes[1]", json!(12), "a number"),
            ("bits[1]", json!(1), "a number"),
            ("u8[1]", json!("1"), "a string"),
            ("u8[1]", json!({}), "an object"),
        ];
        for (ty, found, name) in refused {
            let error = json(ty, &found).unwrap_err().to_string();
            assert!(
                error.ends_with(&format!(", found {name}")),
                "{ty} {found}: {error}"
            );
        }
    }

    #[test]
    fn a_port_gives_its_name_to_the_error() {
        let port = Port::new("ages", Type::unsigned(8).array(2));
        let error = port
            .value_from_json(&json!([1, 300]))
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "ages[1] is of type u8: expected a number from 0 to 255, in decimal or as 0x…, found \
             a number out of range"
        );
        assert!(
            port.parse_value("[1")
                .unwrap_err()
                .to_string()
                .starts_with("ages is of type u8[2]")
        );
    }
}
