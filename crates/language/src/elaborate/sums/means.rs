//! Sums that are divided. If the sum wraps, the quotient is not a mean.

use num_bigint::BigInt;
use num_traits::Zero;

use super::{Range, SumCheck};
use crate::diagnostic::Diagnostic;
use crate::elaborate::narrow::ends;
use crate::program::{BinaryOperator, Expression, ExpressionKind as K, TypeId, TypeKind};
use crate::source::Span;

impl<'p> SumCheck<'p> {
    /// Warns about a sum that may wrap before it is divided, by `/` or by a shift that halves it
    /// once for each doubling of its summands.
    pub(super) fn mean(&mut self, dividend: &'p Expression, shift: Option<i128>) {
        let types = &self.program.types;
        let mut sum = dividend;
        loop {
            sum = match &sum.kind {
                K::Cast(of) if types.is_number(of.ty) => of,
                K::Block(block) => &block.value,
                K::Read(place) => match place.whole_local().and_then(|of| self.known.get(&of)) {
                    Some((value, _)) => value,
                    None => return,
                },
                K::Binary(BinaryOperator::Add, ..) => break,
                _ => return,
            };
        }
        let mut summands = Vec::new();
        summands_of(sum, &mut summands);
        let is_mean = match shift {
            None => true,
            Some(by @ 0..=63) => summands.len() as u128 == 1 << by,
            Some(_) => false,
        };
        let mut range = (BigInt::zero(), BigInt::zero());
        for summand in summands {
            let Some((least, greatest)) = self.range(summand) else {
                return;
            };
            range = (range.0 + least, range.1 + greatest);
        }
        let (Some(of_type), true) = (types.range(sum.ty), is_mean) else {
            return;
        };
        if of_type.0 <= range.0 && range.1 <= of_type.1 {
            return;
        }
        let (wide, end) = self.wide_enough(sum.ty, &range);
        let message = format!("this sum may wrap before it is divided: it may be {end}");
        let warning = self.too_wide(sum.ty, sum.span, message);
        self.means.push(warning.help(format!(
            "convert what is added first: `{wide}` is wide enough; where the sum is to wrap or \
             never gets that far, write `add_wrap(…, …)`"
        )));
    }

    /// Creates a warning with the range of a sum's type.
    pub(super) fn too_wide(&self, ty: TypeId, span: Span, message: String) -> Diagnostic {
        let types = &self.program.types;
        let (least, greatest) = ends(types, ty);
        let label = format!("`{}` holds {least} to {greatest}", types.name(ty));
        Diagnostic::warning(span, message).label(label)
    }

    /// Returns the type that holds such a sum, and the end of the sum's range that `ty` does not
    /// hold.
    pub(super) fn wide_enough(&self, ty: TypeId, (least, greatest): &Range) -> (String, BigInt) {
        let types = &self.program.types;
        let is_above = types.range(ty).is_some_and(|(_, most)| *greatest > most);
        let end = if is_above { greatest } else { least };
        let bits = greatest.bits().max(least.bits()) + 1;
        match types.kind(ty) {
            TypeKind::Unsigned(_) => (format!("u{}", greatest.bits()), end.clone()),
            TypeKind::Fixed(_, fraction) => {
                let wide = format!("fixed<{}, {fraction}>", bits - u64::from(*fraction));
                (wide, end >> *fraction)
            }
            _ => (format!("i{bits}"), end.clone()),
        }
    }
}

/// Collects the summands of a sum.
fn summands_of<'e>(sum: &'e Expression, found: &mut Vec<&'e Expression>) {
    match &sum.kind {
        K::Binary(BinaryOperator::Add, a, b) => {
            summands_of(a, found);
            summands_of(b, found);
        }
        _ => found.push(sum),
    }
}
