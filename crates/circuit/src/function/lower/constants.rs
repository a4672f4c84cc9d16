//! Constants: digits and numbers to bits of the type where they stand.

use super::super::expression::Affine;
use super::super::plan::Operation;
use super::super::plan::{MAX_CONSTANT_BITS, Piece};
use super::super::syntax::Constant;
use super::{FunctionError, Lowering};
use crate::{Kind, Type};

impl Lowering<'_> {
    pub(super) fn number(
        &self,
        number: &Affine,
        ty: Option<&Type>,
        text: &str,
        operation: &mut Operation,
    ) -> Result<u64, FunctionError> {
        let ty = ty.ok_or_else(|| self.constant(text, "say its type, such as 0:u8"))?;
        let width = ty.width() as u64;
        self.count_constant(width)?;
        match (number.as_constant(), ty.kind()) {
            (Some(0), _) => {
                operation
                    .arguments
                    .push(Piece::Constant(vec![false; ty.width()]));
                Ok(width)
            }
            (_, Kind::Bytes(_)) => {
                Err(self.constant(text, "write a byte string as 0x and all its digits"))
            }
            (_, Kind::Array(..)) => Err(self.constant(text, "write an array as a list: [0, 1, 2]")),
            (Some(number), _) => self.digits(&number.to_string(), Some(ty), operation),
            (None, Kind::Fixed { .. }) => {
                Err(self.constant(text, "a fixed-point constant cannot depend on counters"))
            }
            (None, kind) => {
                operation.arguments.push(Piece::Number {
                    value: number.clone(),
                    width: ty.width() as u32,
                    signed: matches!(kind, Kind::Signed(_)),
                });
                Ok(width)
            }
        }
    }

    pub(super) fn digits(
        &self,
        digits: &str,
        ty: Option<&Type>,
        operation: &mut Operation,
    ) -> Result<u64, FunctionError> {
        let ty = ty.ok_or_else(|| self.constant(digits, "say its type, such as 0x0f:u8"))?;
        self.count_constant(ty.width() as u64)?;
        // Bit strings are written as the numbers of which they are the bits.
        let read_as = match ty.kind() {
            Kind::Bit | Kind::Bits(_) => Type::new(Kind::Unsigned(ty.width() as u32)),
            _ => Ok(ty.clone()),
        };
        let value = read_as.and_then(|ty| crate::Value::parse(&ty, digits));
        let value = value.map_err(|error| self.constant(digits, &error.to_string()))?;
        operation
            .arguments
            .push(Piece::Constant(value.to_bits().to_vec()));
        Ok(ty.width() as u64)
    }

    /// Whether a constant is zero, which is a value of every type.
    pub(super) fn is_zero(&self, constant: &Constant) -> bool {
        match constant {
            Constant::Hex(digits) => digits.trim_start_matches("0x").bytes().all(|c| c == b'0'),
            Constant::Number(number) => number
                .affine(self)
                .is_ok_and(|number| number.as_constant() == Some(0)),
        }
    }

    /// Bounds what constants take before it is taken.
    pub(super) fn count_constant(&self, bits: u64) -> Result<(), FunctionError> {
        self.constant_bits
            .set(self.constant_bits.get().saturating_add(bits));
        if self.constant_bits.get() <= MAX_CONSTANT_BITS {
            return Ok(());
        }
        Err(FunctionError::TooMany {
            place: self.place.clone(),
            what: "the bits of all constants together",
            limit: MAX_CONSTANT_BITS,
        })
    }

    pub(super) fn constant(&self, constant: &str, message: &str) -> FunctionError {
        FunctionError::Constant {
            place: self.place.clone(),
            constant: constant.to_owned(),
            message: message.to_owned(),
        }
    }
}
