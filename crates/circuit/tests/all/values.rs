//! Properties of types and values: they read back as they were written.

use proptest::prelude::*;
use tacit_circuit::{Kind, Type, Value};

/// Generates types of every kind, up to a few thousand bits.
fn types() -> impl Strategy<Value = Type> {
    let n = || 1_u32..140;
    let leaf = prop_oneof![
        Just(Kind::Bit),
        n().prop_map(Kind::Bits),
        n().prop_map(Kind::Unsigned),
        n().prop_map(Kind::Signed),
        (1_u32..80, 0_u32..80).prop_map(|(integer, fraction)| Kind::Fixed { integer, fraction }),
        (1_u32..40).prop_map(Kind::Bytes),
    ];
    leaf.prop_map(|kind| Type::new(kind).unwrap())
        .prop_recursive(2, 4, 1, |inner| {
            (inner, 1_usize..5).prop_map(|(of, n)| of.array(n))
        })
}

/// Generates a value of any type. Runs of equal bits occur often, for the ends of ranges.
fn values() -> impl Strategy<Value = Value> {
    (types(), any::<u64>(), 0_u32..6).prop_map(|(ty, seed, runs)| {
        let mut state = seed | 1;
        let mut bit = seed >> 63 == 1;
        let bits: Vec<bool> = (0..ty.width())
            .map(|_| {
                state = state
                    .wrapping_mul(0x5851_f42d_4c95_7f2d)
                    .wrapping_add(0x1405_7b7e_f767_814f);
                bit ^= state >> 33 & ((1 << runs) - 1) == 0;
                bit
            })
            .collect();
        Value::from_bits(&ty, &bits).unwrap()
    })
}

proptest! {
    #[test]
    fn types_are_read_as_they_are_shown(ty in types()) {
        prop_assert_eq!(ty.to_string().parse::<Type>(), Ok(ty));
    }

    #[test]
    fn values_are_read_as_they_are_shown(value in values()) {
        let ty = value.ty();
        prop_assert_eq!(&Value::parse(ty, &value.to_text()).unwrap(), &value);
        prop_assert_eq!(&Value::from_json(ty, &value.to_json()).unwrap(), &value);
        // JSON may also pass as text through another program, which reads its numbers.
        let json = serde_json::from_str(&value.to_json().to_string()).unwrap();
        prop_assert_eq!(&Value::from_json(ty, &json).unwrap(), &value);
        prop_assert_eq!(&Value::from_bits(ty, &value.to_bits()).unwrap(), &value);
        prop_assert_eq!(&value.convert(ty).unwrap(), &value);
    }

    #[test]
    fn wide_numbers_agree_with_the_machines(n in any::<i128>(), shift in 0_u32..127) {
        let n = n >> shift;
        let value = Value::from(n);
        prop_assert_eq!(value.to_text(), n.to_string());
        let hex = format!("{}0x{:x}", if n < 0 { "-" } else { "" }, n.unsigned_abs());
        prop_assert_eq!(&Value::parse(value.ty(), &hex).unwrap(), &value);
        prop_assert_eq!(i64::try_from(&value).ok(), i64::try_from(n).ok());
        prop_assert_eq!(u16::try_from(&value).ok(), u16::try_from(n).ok());
    }

    #[test]
    fn any_text_is_a_value_or_an_error_that_does_not_quote_it(ty in types(), text in ".{0,40}") {
        if let Err(error) = Value::parse(&ty, &text) {
            prop_assert!(text.len() < 12 || !error.to_string().contains(&text));
        }
        let _ = text.parse::<Type>();
    }
}
