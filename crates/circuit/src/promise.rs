//! Promises: requirements of a component on an input beyond its type.
//!
//! A circuit cannot refuse an input, since a refusal would reveal something about the input. The
//! owner's machine therefore checks the promise before it sends anything: reading a value for a
//! port ([`Port::parse_value`], [`Port::value_from_json`], [`Port::convert_value`]) returns a value
//! that keeps the port's promise, or an error. The peer learns nothing about the check, not even
//! whether it failed, and gets no proof. An owner who breaks a promise on purpose spoils the
//! result, just like one who lies about its input.
//!
//! | promise | action of the owner's machine |
//! |---|---|
//! | [`Within`](Promise::Within) | refuses a number out of the range |
//! | [`RunCounts`](Promise::RunCounts) | refuses a state that no run has |
//!
//! No step branches or indexes on the value until the value is refused.

use subtle::{Choice, ConstantTimeEq, ConstantTimeGreater};

use crate::builder::RunCounter;
use crate::{CircuitError, Kind, Port, Type, Value};

/// A condition on the value of an input port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Promise {
    /// A number, or a nested array of numbers, each in this range.
    Within {
        /// The least number.
        least: i64,
        /// The greatest number.
        greatest: i64,
    },
    /// A state of a [`RunCounter`], or an array of them. Each belongs to a run of at most this
    /// length.
    RunCounts {
        /// The length of the longest run.
        longest: u32,
    },
}

/// A broken promise: the expected and the found value.
struct BrokenPromise {
    /// The index of the element, in an array.
    index: Option<usize>,
    expected: String,
    found: &'static str,
}

impl Promise {
    /// Returns the promise that implies both this one and `other`, if there is one.
    pub fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (
                Self::Within { least, greatest },
                Self::Within {
                    least: other_least,
                    greatest: other_greatest,
                },
            ) => {
                let (least, greatest) = (least.max(other_least), greatest.min(other_greatest));
                (least <= greatest).then_some(Self::Within { least, greatest })
            }
            (Self::RunCounts { longest: a }, Self::RunCounts { longest: b }) => {
                Some(Self::RunCounts { longest: a.min(b) })
            }
            _ => None,
        }
    }

    /// Checks that `value`, of type `ty`, keeps the promise.
    fn check(self, ty: &Type, value: &Value) -> Result<(), BrokenPromise> {
        match self {
            Self::Within { least, greatest } => {
                let is_out = |bits: &[bool], signed| out_of_range(bits, signed, least, greatest);
                each(ty, value, is_out, self, "a number out of range")
            }
            Self::RunCounts { longest } => {
                let is_out = |bits: &[bool], _| is_no_run(bits, longest);
                each(ty, value, is_out, self, "another state")
            }
        }
    }
}

impl core::fmt::Display for Promise {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Within { least, greatest } => write!(f, "a number from {least} to {greatest}"),
            Self::RunCounts { longest } => write!(
                f,
                "the state of a run of 0 to {longest} symbols, as the step before gives it; all \
                 zeros at first"
            ),
        }
    }
}

impl Port {
    /// Returns a value that keeps the port's promise, for rehearsals and measurements. Its numbers
    /// are as close to zero as the promise allows.
    pub fn least_value(&self) -> Value {
        let of = element(&self.ty);
        let number = match self.promise {
            Some(Promise::Within { least, greatest }) => 0.clamp(least, greatest),
            Some(Promise::RunCounts { .. }) | None => 0_i64,
        };
        let bit = |i: usize| number >> (i % of.width()).min(63) & 1 == 1;
        let bits: Vec<bool> = (0..self.ty.width()).map(bit).collect();
        Value::from_bits(&self.ty, &bits).expect("as many bits as the type has")
    }

    /// Returns `value`, which has this port's type, if it keeps the port's promise.
    pub(crate) fn uphold(&self, value: Value) -> Result<Value, CircuitError> {
        let Some(promise) = self.promise else {
            return Ok(value);
        };
        let kept = promise.check(&self.ty, &value).map(|()| value);
        kept.map_err(|broken| {
            let index = broken.index.map(|index| format!("[{index}]"));
            CircuitError::Value {
                at: format!("{}{}", self.name, index.unwrap_or_default()),
                ty: self.ty.to_string(),
                expected: broken.expected,
                found: broken.found.to_owned(),
            }
        })
    }
}

/// Returns the type of the numbers in a nested array.
fn element(mut ty: &Type) -> &Type {
    while let Kind::Array(of, _) = ty.kind() {
        ty = of;
    }
    ty
}

/// Checks that no element is out of range.
fn each(
    ty: &Type,
    value: &Value,
    is_out: impl Fn(&[bool], bool) -> Choice,
    promise: Promise,
    found: &'static str,
) -> Result<(), BrokenPromise> {
    let of = element(ty);
    let signed = matches!(of.kind(), Kind::Signed(_));
    let bits = value.to_bits();
    let elements = || bits.chunks_exact(of.width());
    let any = elements().fold(Choice::from(0), |any, bits| any | is_out(bits, signed));
    if !bool::from(any) {
        return Ok(());
    }
    // The owner learns the index of the element.
    let index = elements().position(|bits| is_out(bits, signed).into());
    Err(BrokenPromise {
        index: index.filter(|_| of != ty),
        expected: promise.to_string(),
        found,
    })
}

/// Whether the number is outside of the range. The range has 64 bits, and the bits of a number past
/// them equal its sign.
fn out_of_range(bits: &[bool], signed: bool, least: i64, greatest: i64) -> Choice {
    let width = bits.len().min(if signed { 64 } else { 63 });
    let (low, rest) = bits.split_at(width);
    let sign = u8::from(signed & low[width - 1]);
    let extension = (-i64::from(sign)).checked_shl(width as u32).unwrap_or(0);
    let low = low.iter().enumerate();
    let number = low.fold(extension, |number, (i, bit)| number | i64::from(*bit) << i);
    let beyond = rest.iter().fold(Choice::from(0), |any, bit| {
        any | Choice::from(u8::from(*bit) ^ sign)
    });
    let offset = number.wrapping_sub(least) as u64;
    beyond | offset.ct_gt(&(greatest.wrapping_sub(least) as u64))
}

fn is_no_run(bits: &[bool], longest: u32) -> Choice {
    let state = (0..bits.len()).fold(0_u32, |state, i| state | u32::from(bits[i]) << i);
    let states = RunCounter::up_to(longest as usize).states(longest as usize);
    let known = states.fold(Choice::from(0), |known, run| known | run.ct_eq(&state));
    !known
}
