//! Constants: the conversion of numbers to bits of the type of their destination.

use tacit_circuit::{Kind, Type, Value};

use super::{FunctionError, Lowering};
use crate::plan::MAX_CONSTANT_BITS;

impl Lowering<'_> {
    /// Returns the bits of `number` as a `ty`.
    pub(super) fn constant(
        &self,
        number: i128,
        ty: Option<&Type>,
    ) -> Result<Vec<bool>, FunctionError> {
        let unfit = |message: &str| FunctionError::Constant {
            place: self.place.clone(),
            constant: number.to_string(),
            message: message.to_owned(),
        };
        let ty = ty.ok_or_else(|| unfit("say its type, such as 0:u8"))?;
        self.count_constant(ty.width() as u64)?;
        if number == 0 {
            return Ok(vec![false; ty.width()]);
        }
        // Bit strings are written as unsigned numbers with the same bits.
        let read_as = match ty.kind() {
            Kind::Bytes(_) | Kind::Array(..) => {
                return Err(unfit("write its elements in a row, such as 1:u8 ++ 2:u8"));
            }
            Kind::Bit | Kind::Bits(_) => Type::new(Kind::Unsigned(ty.width() as u32)),
            _ => Ok(ty.clone()),
        };
        let value = read_as.and_then(|ty| Value::parse(&ty, &number.to_string()));
        let value = value.map_err(|error| unfit(&error.to_string()))?;
        Ok(value.to_bits().to_vec())
    }

    /// Counts the bits of a constant before memory is taken for it, and checks the limit.
    fn count_constant(&self, bits: u64) -> Result<(), FunctionError> {
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
}
