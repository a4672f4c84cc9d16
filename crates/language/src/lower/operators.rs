//! Operators over wires. The circuit builder documents the costs of its operations.

use std::ops::{Add, Div, Mul, Rem, Sub};

use tacit_circuit::builder::{Bit, Builder, Bus, Fixed, Int, UInt};

use crate::program::{BinaryOperator, Intrinsic, TypeId, TypeKind, TypeTable, UnaryOperator};

/// The wires of a value, in the order of its bits.
pub(super) type Bits<'b> = Vec<Bit<'b>>;

/// The operators of one builder, over one program's types.
#[derive(Clone, Copy)]
pub(super) struct Operators<'b, 'p> {
    pub(super) builder: &'b Builder,
    pub(super) types: &'p TypeTable,
}

/// Applies an operator to integers of either kind.
fn integer<T>(operator: BinaryOperator, a: T, b: T) -> T
where
    T: Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T> + Rem<Output = T>,
{
    match operator {
        BinaryOperator::Add => a + b,
        BinaryOperator::Subtract => a - b,
        BinaryOperator::Multiply => a * b,
        BinaryOperator::Divide => a / b,
        _ => a % b,
    }
}

fn bits_of(bus: &Bus<'_>) -> usize {
    bus.width()
}

impl<'b> Operators<'b, '_> {
    fn bus(self, bits: &[Bit<'b>]) -> Bus<'b> {
        Bus::from_bits(self.builder, bits.iter().copied())
    }

    fn uint(self, bits: &[Bit<'b>]) -> UInt<'b> {
        UInt::new(self.bus(bits))
    }

    fn int(self, bits: &[Bit<'b>]) -> Int<'b> {
        Int::new(self.bus(bits))
    }

    fn fixed(self, bits: &[Bit<'b>], fraction: u32) -> Fixed<'b> {
        Fixed::new(self.int(bits), fraction as usize)
    }

    fn of(self, bus: &Bus<'b>) -> Bits<'b> {
        debug_assert!(bits_of(bus) > 0);
        bus.bits().collect()
    }

    pub(super) fn constant(self, bit: bool) -> Bit<'b> {
        self.builder.constant(bit)
    }

    /// Returns `a` if the condition holds and `b` otherwise, wire by wire.
    pub(super) fn select(self, condition: Bit<'b>, a: &[Bit<'b>], b: &[Bit<'b>]) -> Bits<'b> {
        let pairs = a.iter().zip(b);
        pairs.map(|(&a, &b)| b ^ (condition & (a ^ b))).collect()
    }

    pub(super) fn equals(self, a: &[Bit<'b>], b: &[Bit<'b>]) -> Bit<'b> {
        self.bus(a).equals(&self.bus(b))
    }

    /// Returns wires whose order as an unsigned number is the order of a type's values.
    fn key(self, ty: TypeId, bits: &[Bit<'b>]) -> Bits<'b> {
        match self.types.kind(ty) {
            TypeKind::Signed(_) | TypeKind::Fixed(..) => {
                let mut key = bits.to_vec();
                if let Some(sign) = key.last_mut() {
                    *sign = !*sign;
                }
                key
            }
            TypeKind::Bytes(_) | TypeKind::Text(_) => {
                bits.chunks(8).rev().flatten().copied().collect()
            }
            TypeKind::Tuple(parts) => {
                let mut keys = Vec::with_capacity(parts.len());
                let mut start = 0;
                for &part in parts {
                    let end = start + self.types.width(part) as usize;
                    keys.push(self.key(part, &bits[start..end]));
                    start = end;
                }
                keys.into_iter().rev().flatten().collect()
            }
            _ => bits.to_vec(),
        }
    }

    fn at_least(self, ty: TypeId, a: &[Bit<'b>], b: &[Bit<'b>]) -> Bit<'b> {
        let (a, b) = (self.key(ty, a), self.key(ty, b));
        self.uint(&a).at_least(&self.uint(&b))
    }

    pub(super) fn binary(
        self,
        operator: BinaryOperator,
        ty: TypeId,
        a: &[Bit<'b>],
        b: &[Bit<'b>],
    ) -> Bits<'b> {
        use BinaryOperator as B;
        let pairs = || a.iter().copied().zip(b.iter().copied());
        match operator {
            B::And | B::LogicalAnd => pairs().map(|(a, b)| a & b).collect(),
            B::Or | B::LogicalOr => pairs().map(|(a, b)| a | b).collect(),
            B::Xor => pairs().map(|(a, b)| a ^ b).collect(),
            B::Equal => vec![self.equals(a, b)],
            B::NotEqual => vec![!self.equals(a, b)],
            B::GreaterEqual => vec![self.at_least(ty, a, b)],
            B::LessEqual => vec![self.at_least(ty, b, a)],
            B::Less => vec![!self.at_least(ty, a, b)],
            B::Greater => vec![!self.at_least(ty, b, a)],
            B::ShiftLeft | B::ShiftRight => self.shift_by(operator, ty, a, b),
            B::Add | B::Subtract | B::Multiply | B::Divide | B::Remainder => {
                self.arithmetic(operator, ty, a, b)
            }
        }
    }

    /// Returns a lower bound on the operator's gates, or 0 if a bound is not worthwhile. Only
    /// products and quotients take more than a few gates a bit.
    pub(super) fn least_gates(
        self,
        operator: BinaryOperator,
        a: &[Bit<'b>],
        b: &[Bit<'b>],
    ) -> usize {
        use BinaryOperator as B;
        let bits = |of: &[Bit<'b>]| of.iter().filter(|bit| bit.as_constant().is_none()).count();
        match operator {
            // 3n² gates for n bits, and half as many for a square, in which each pair of bits
            // occurs twice.
            B::Multiply | B::Divide | B::Remainder => bits(a).saturating_mul(bits(b)) / 4 * 5,
            _ => 0,
        }
    }

    fn arithmetic(
        self,
        operator: BinaryOperator,
        ty: TypeId,
        a: &[Bit<'b>],
        b: &[Bit<'b>],
    ) -> Bits<'b> {
        use BinaryOperator as B;
        match *self.types.kind(ty) {
            TypeKind::Fixed(_, fraction) => {
                let (a, b) = (self.fixed(a, fraction), self.fixed(b, fraction));
                let result = match operator {
                    B::Add => a + b,
                    B::Subtract => a - b,
                    B::Multiply => a * b,
                    _ => a / b,
                };
                self.of(result.scaled().bus())
            }
            TypeKind::Signed(_) => self.of(integer(operator, self.int(a), self.int(b)).bus()),
            _ => self.of(integer(operator, self.uint(a), self.uint(b)).bus()),
        }
    }

    fn shift_by(
        self,
        operator: BinaryOperator,
        ty: TypeId,
        a: &[Bit<'b>],
        amount: &[Bit<'b>],
    ) -> Bits<'b> {
        let amount = self.uint(amount);
        let is_unsigned = matches!(self.types.kind(ty), TypeKind::Unsigned(_));
        let shifted = match (operator, is_unsigned) {
            (BinaryOperator::ShiftLeft, _) => self.uint(a).shift_left_by(&amount).bus().clone(),
            (_, true) => self.uint(a).shift_right_by(&amount).bus().clone(),
            (_, false) => self.int(a).shift_right_by(&amount).bus().clone(),
        };
        self.of(&shifted)
    }

    /// Shifts by a number that is not secret.
    pub(super) fn shift(
        self,
        operator: BinaryOperator,
        ty: TypeId,
        a: &[Bit<'b>],
        amount: u128,
    ) -> Bits<'b> {
        let by = usize::try_from(amount).unwrap_or(usize::MAX).min(a.len());
        let zero = self.constant(false);
        let fill = match self.types.kind(ty) {
            TypeKind::Unsigned(_) => zero,
            _ => *a.last().unwrap_or(&zero),
        };
        match operator {
            BinaryOperator::ShiftLeft => {
                let zeros = std::iter::repeat_n(zero, by);
                zeros.chain(a.iter().copied()).take(a.len()).collect()
            }
            _ => {
                let fill = std::iter::repeat_n(fill, by);
                a[by..].iter().copied().chain(fill).collect()
            }
        }
    }

    pub(super) fn unary(self, operator: UnaryOperator, a: &[Bit<'b>]) -> Bits<'b> {
        match operator {
            UnaryOperator::Not => a.iter().map(|&bit| !bit).collect(),
            UnaryOperator::Negate => self.of((-self.int(a)).bus()),
        }
    }

    pub(super) fn cast(self, from: TypeId, to: TypeId, a: &[Bit<'b>]) -> Bits<'b> {
        let width = self.types.width(to) as usize;
        let fraction = |ty: TypeId| match *self.types.kind(ty) {
            TypeKind::Fixed(_, fraction) => fraction as usize,
            _ => 0,
        };
        match (self.types.kind(from), self.types.kind(to)) {
            (_, TypeKind::Enum(_)) => {
                let code = self.uint(a).resize(width);
                let past = self.bus(&a[width.min(a.len())..]).any();
                let ones = vec![self.constant(true); width];
                let code = self.select(past, &ones, &self.of(code.bus()));
                self.canonical(to, &code)
            }
            (TypeKind::Signed(_) | TypeKind::Fixed(..), _) => self.of(self
                .rescaled(self.int(a), (fraction(from), fraction(to)), width)
                .bus()),
            (TypeKind::Unsigned(_) | TypeKind::Bool | TypeKind::Enum(_), to_kind)
                if !matches!(to_kind, TypeKind::Array(..)) =>
            {
                // A zero on top makes it a signed number.
                let number = self.uint(a).resize(a.len() + 1).as_signed();
                self.of(self.rescaled(number, (0, fraction(to)), width).bus())
            }
            // The bits stay the same under the new type.
            _ => a.to_vec(),
        }
    }

    /// Changes the fraction and width of a number, rounding down.
    fn rescaled(self, number: Int<'b>, (from, to): (usize, usize), width: usize) -> Int<'b> {
        if from >= to {
            number.shift_right(from - to).resize(width)
        } else {
            number
                .resize(width.max(number.width()) + to - from)
                .shift_left(to - from)
                .resize(width)
        }
    }

    /// Makes random bits, or bits from a peer, a valid value: a variant past the last becomes the
    /// last, and a length past the greatest becomes the greatest.
    pub(super) fn canonical(self, ty: TypeId, bits: &[Bit<'b>]) -> Bits<'b> {
        let at_most = |bits: &[Bit<'b>], last: u128| {
            let last = UInt::constant(self.builder, bits.len(), last);
            let number = self.uint(bits);
            let past = !last.at_least(&number);
            self.select(past, &last.bus().bits().collect::<Vec<_>>(), bits)
        };
        match self.types.kind(ty) {
            TypeKind::Enum(number) => {
                let count = self.types.enum_type(*number).variants.len() as u128;
                if count.is_power_of_two() && bits.len() as u32 == count.trailing_zeros() {
                    bits.to_vec()
                } else {
                    at_most(bits, count - 1)
                }
            }
            &TypeKind::Table(element, size) => {
                let items = self.types.width(element) as usize * size as usize;
                let (length, items) = bits.split_at(bits.len() - items);
                let mut all = at_most(length, size.into());
                all.extend(self.parts(&vec![element; size as usize], items, Self::canonical));
                all
            }
            TypeKind::Tuple(_) | TypeKind::Struct(_) => {
                self.parts(&self.types.fields(ty), bits, Self::canonical)
            }
            &TypeKind::Array(element, n) => {
                self.parts(&vec![element; n as usize], bits, Self::canonical)
            }
            _ => bits.to_vec(),
        }
    }

    /// Changes each part of a value by `change`.
    fn parts(
        self,
        types: &[TypeId],
        bits: &[Bit<'b>],
        change: fn(Self, TypeId, &[Bit<'b>]) -> Bits<'b>,
    ) -> Bits<'b> {
        let mut all = Vec::with_capacity(bits.len());
        let mut rest = bits;
        for &ty in types {
            let (part, after) = rest.split_at(self.types.width(ty) as usize);
            rest = after;
            all.extend(change(self, ty, part));
        }
        all
    }

    /// Returns for each number below `length` whether it is the index.
    pub(super) fn one_hot(self, index: &[Bit<'b>], length: usize) -> Bits<'b> {
        let mut level = vec![self.constant(true)];
        for place in (0..index.len()).rev() {
            let bit = index[place];
            // The numbers with these upper bits start at multiples of 2^place.
            let reached = (length - 1).checked_shr(place as u32).unwrap_or(0) + 1;
            let split = level.iter().flat_map(|&prefix| {
                let one = prefix & bit;
                [prefix ^ one, one]
            });
            level = split.take(reached).collect();
        }
        level.resize(length, self.constant(false));
        level
    }

    /// Returns the element at an index, or the last element past the end. Uses a tree of
    /// selections.
    pub(super) fn lookup(self, elements: &[&[Bit<'b>]], index: &[Bit<'b>]) -> Bits<'b> {
        let reachable = 1_usize
            .checked_shl(index.len() as u32)
            .unwrap_or(usize::MAX);
        let elements = &elements[..elements.len().min(reachable)];
        let last = elements[elements.len() - 1];
        let needed = (usize::BITS - (elements.len() - 1).leading_zeros()) as usize;
        let mut level: Vec<Bits<'b>> = elements.iter().map(|element| element.to_vec()).collect();
        for &bit in &index[..needed] {
            let pairs = level.chunks(2);
            level = pairs
                .map(|pair| self.select(bit, pair.get(1).map_or(last, |one| one), &pair[0]))
                .collect();
        }
        let past = self.bus(&index[needed..]).any();
        self.select(past, last, &level[0])
    }

    pub(super) fn intrinsic(
        self,
        intrinsic: Intrinsic,
        ty: TypeId,
        argument_types: &[TypeId],
        arguments: &[Bits<'b>],
    ) -> Bits<'b> {
        let argument_type = argument_types[0];
        let is_signed = !matches!(self.types.kind(argument_type), TypeKind::Unsigned(_));
        match (intrinsic, arguments) {
            (Intrinsic::Min, [a, b]) => self.select(self.at_least(ty, b, a), a, b),
            (Intrinsic::Max, [a, b]) => self.select(self.at_least(ty, a, b), a, b),
            (Intrinsic::Abs, [a]) => {
                let number = self.int(a);
                self.of(number.negated_if(number.sign()).bus())
            }
            (Intrinsic::WideMul, [a, b]) => {
                if is_signed {
                    self.of(self.int(a).mul_widening(&self.int(b)).bus())
                } else {
                    self.of(self.uint(a).mul_widening(&self.uint(b)).bus())
                }
            }
            (Intrinsic::WideDot, [a, b]) => self.wide_dot(ty, argument_type, [a, b]),
            (Intrinsic::AddSat, [a, b]) => self.add_sat(is_signed, a, b),
            (Intrinsic::OneHot, [index]) => {
                let length = self.types.element(ty).map_or(1, |(_, n)| n as usize);
                self.one_hot(index, length)
            }
            (Intrinsic::GetOr, [array, index, other]) => {
                let (element, _) = self.types.element(argument_type).unwrap_or((ty, 0));
                let width = self.types.width(element).max(1) as usize;
                let elements: Vec<&[Bit<'b>]> = array.chunks(width).chain([&other[..]]).collect();
                self.lookup(&elements, index)
            }
            (Intrinsic::LeadingOnes, [a]) => self.leading_ones(a, ty),
            (Intrinsic::CountOnes, [a]) => {
                let count = self.bus(a).count_ones();
                self.of(count.resize(self.types.width(ty) as usize).bus())
            }
            (Intrinsic::Opened, [a]) => self.opened(ty, a),
            _ => unreachable!("the checker gives an intrinsic its arguments"),
        }
    }

    /// Returns a value with zero in each `Maybe` that holds no value.
    fn opened(self, ty: TypeId, bits: &[Bit<'b>]) -> Bits<'b> {
        if !self.types.has_maybe(ty) {
            return bits.to_vec();
        }
        let part_types = match self.types.element(ty) {
            Some((element, n)) => vec![element; n as usize],
            None => self.types.fields(ty),
        };
        let mut all = self.parts(&part_types, bits, Self::opened);
        if self.types.is_maybe(ty) {
            let some = all[0];
            all.iter_mut().skip(1).for_each(|bit| *bit = some & *bit);
        }
        all
    }

    /// Returns the sum of the products, none of which is resolved separately.
    fn wide_dot(self, ty: TypeId, arrays: TypeId, [a, b]: [&[Bit<'b>]; 2]) -> Bits<'b> {
        let width = self.types.width(ty) as usize;
        let (element, _) = self.types.element(arrays).unwrap_or((arrays, 0));
        let each = self.types.width(element).max(1) as usize;
        let (a, b) = (a.chunks(each), b.chunks(each));
        match self.types.kind(element) {
            TypeKind::Signed(_) => {
                let [a, b] = [a, b].map(|of| of.map(|bits| self.int(bits)).collect::<Vec<_>>());
                let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
                self.of(Int::dot_product_widening(&a, &b).resize(width).bus())
            }
            _ => {
                let [a, b] = [a, b].map(|of| of.map(|bits| self.uint(bits)).collect::<Vec<_>>());
                let (a, b): (Vec<_>, Vec<_>) = (a.iter().collect(), b.iter().collect());
                self.of(UInt::dot_product_widening(&a, &b).resize(width).bus())
            }
        }
    }

    fn add_sat(self, is_signed: bool, a: &[Bit<'b>], b: &[Bit<'b>]) -> Bits<'b> {
        let width = a.len();
        if !is_signed {
            let sum = self.uint(a).add_widening(&self.uint(b));
            let carry = sum.bus().bit(width);
            return sum
                .bus()
                .bits()
                .take(width)
                .map(|bit| bit | carry)
                .collect();
        }
        let sum = self.int(a).resize(width + 1) + self.int(b).resize(width + 1);
        let sign = sum.bus().bit(width);
        let overflows = sign ^ sum.bus().bit(width - 1);
        // The greatest number is a zero followed by ones, and the least is a one followed by zeros.
        let mut bound = vec![!sign; width - 1];
        bound.push(sign);
        let sum: Bits<'b> = sum.bus().bits().take(width).collect();
        self.select(overflows, &bound, &sum)
    }

    /// Returns the number of leading ones. The bits that tell whether the first k bits are ones
    /// form a unary number. Bit j of the count is the sum of its bits at multiples of 2^j.
    fn leading_ones(self, a: &[Bit<'b>], ty: TypeId) -> Bits<'b> {
        let unary: Bits<'b> = self.bus(a).reversed().prefix_ands().bits().collect();
        let count = (0..self.types.width(ty)).map(|bit| {
            let every = 1_usize << bit;
            let at = unary.iter().skip(every - 1).step_by(every);
            at.fold(self.constant(false), |sum, &bit| sum ^ bit)
        });
        count.collect()
    }
}
