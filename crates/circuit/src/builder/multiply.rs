//! Products.
//!
//! The textbook method takes one AND gate for each pair of bits and one more to add the pair up:
//! 2n² − n for n by n bits. Here a pair of bits costs no gate. For bits x and y,
//!
//! > 2xy = ¬(x ⊕ y) + x + y − 1,
//!
//! so that twice the product of A = Σ wᵢaᵢ and B = Σ vⱼbⱼ is, with W = Σ wᵢ and V = Σ vⱼ,
//!
//! > 2AB = Σ wᵢvⱼ·¬(aᵢ ⊕ bⱼ) + V·A + W·B − V·W.
//!
//! XOR gates make the n² bits of the first sum. The other terms are a few rows: in two's complement
//! W = V = −1, and for unsigned numbers W = 2^n − 1. All terms are added up at once, at one AND
//! gate a bit (`Columns`). The products of one sum also share the rows.
//!
//! From [`KARATSUBA_BITS`] on, a full product is split in halves after Karatsuba and Ofman,
//! "Multiplication of multidigit numbers on automata", Soviet Physics Doklady 7 (1963), in the form
//! with differences: (a₀ + a₁h)(b₀ + b₁h) = z₀ + (z₀ + z₂ − (a₀ − a₁)(b₀ − b₁))h + z₂h². The upper
//! half of z₀ and the lower half of z₂ meet twice, and are added once.
//!
//! Cost in AND gates:
//!
//! | bits | full | textbook | wrapping | textbook |
//! |---|---|---|---|---|
//! | 32 | 1042 | 2016 | 559 | 993 |
//! | 64 | 3535 | 8128 | 2143 | 4033 |

use super::columns::{Columns, Reading, bits_for};
use super::handle::binary_operator;
use super::{Bit, Builder, Bus, Int, UInt};

/// The least width at which splitting a full product costs less. A test checks this value.
const KARATSUBA_BITS: usize = 28;

/// Implements the products for both kinds of integers.
macro_rules! products {
    ($integer:ident, $reading:ident, $widening:literal) => {
        impl<'b> $integer<'b> {
            /// Returns the full product, as wide as both factors together.
            ///
            #[doc = $widening]
            ///
            /// # Panics
            ///
            /// If a factor has no bit.
            pub fn mul_widening(&self, other: &Self) -> Self {
                Self::new(full_product(self.bus(), other.bus(), Reading::$reading))
            }

            /// Returns the wrapping sum of the products of `a` and `b`, index by index. Costs
            /// little more than half an AND gate for each pair of bits, because the n² pairs of
            /// each product are added up together and nothing is resolved before the end.
            ///
            /// # Panics
            ///
            /// If `a` is empty, `a` and `b` have different lengths, or the widths of the factors
            /// differ.
            pub fn dot_product(a: &[&Self], b: &[&Self]) -> Self {
                let width = a.first().expect("a sum of at least one product").width();
                Self::dot_product_of_width(a, b, width)
            }

            /// Returns the same sum at a width at which nothing is lost: twice the width of a
            /// factor, plus the bits that the number of products takes.
            ///
            /// # Panics
            ///
            /// As [`Self::dot_product`] does.
            pub fn dot_product_widening(a: &[&Self], b: &[&Self]) -> Self {
                let width = a.first().expect("a sum of at least one product").width();
                Self::dot_product_of_width(a, b, 2 * width + bits_for(a.len().saturating_sub(1)))
            }

            fn dot_product_of_width(a: &[&Self], b: &[&Self], width: usize) -> Self {
                assert_eq!(
                    a.len(),
                    b.len(),
                    "factors on both sides of a sum of products"
                );
                let builder = a[0].bus().builder();
                let pairs: Vec<_> = a.iter().zip(b).map(|(a, b)| (a.bus(), b.bus())).collect();
                Self::new(sum_of_products(builder, &pairs, Reading::$reading, width))
            }

            fn product(&self, other: &Self) -> Self {
                assert_eq!(
                    self.width(),
                    other.width(),
                    "widths of two integers in one operation"
                );
                Self::dot_product(&[self], &[other])
            }
        }

        binary_operator!($integer, Mul, mul, product);
    };
}

impl<'b> UInt<'b> {
    /// Computes [`Self::dot_product`] from the known sums of `a` and of `b`, each modulo 2^(width +
    /// 1). Products that share factors can thus share these sums.
    ///
    /// # Panics
    ///
    /// As [`Self::dot_product`] does, or if a sum is not one bit wider than a factor.
    pub fn dot_product_of_summed(a: &[&Self], b: &[&Self], sums: [&Self; 2]) -> Self {
        let width = a.first().expect("a sum of at least one product").width();
        assert_eq!(
            a.len(),
            b.len(),
            "factors on both sides of a sum of products"
        );
        let builder = a[0].bus().builder();
        if builder.is_shallow() {
            return Self::dot_product(a, b);
        }
        let mut doubled = Columns::new(builder, width + 1);
        for (a, b) in a.iter().zip(b) {
            assert_eq!([a.width(), b.width()], [width; 2], "widths of factors");
            add_pairs_of_bits(&mut doubled, (a.bus(), b.bus()), Reading::Unsigned, equal);
        }
        for sum in sums {
            assert_eq!(sum.width(), width + 1, "width of a sum of factors");
        }
        let widths = (width, width);
        add_sums(&mut doubled, sums, a.len(), widths, Reading::Unsigned);
        Self::new(doubled.sum().slice(1..width + 1))
    }
}

products!(UInt, Unsigned, "Costs 1042 AND gates for 32 by 32 bits.");
products!(Int, Signed, "Costs 1082 AND gates for 32 by 32 bits.");

/// Returns the product of `a` and `b`, as wide as both together.
fn full_product<'b>(a: &Bus<'b>, b: &Bus<'b>, reading: Reading) -> Bus<'b> {
    let builder = a.builder();
    let width = a.width() + b.width();
    assert!(
        a.width() > 0 && b.width() > 0,
        "a factor has at least one bit"
    );
    for (constant, other) in [(a, b), (b, a)] {
        if let Some(constant) = as_constant(constant) {
            return product_with_constant(builder, &constant, other, reading, width);
        }
    }
    if a.width() == b.width() && a.width() >= KARATSUBA_BITS && !builder.is_shallow() {
        karatsuba(a, b, reading)
    } else {
        sum_of_products(builder, &[(a, b)], reading, width)
    }
}

/// Computes one level of Karatsuba's recursion. The names are those of the module's header.
fn karatsuba<'b>(a: &Bus<'b>, b: &Bus<'b>, reading: Reading) -> Bus<'b> {
    let builder = a.builder();
    let n = a.width();
    let half = n.div_ceil(2);
    let split = |x: &Bus<'b>| (x.slice(0..half), x.slice(half..n));
    let ((a_0, a_1), (b_0, b_1)) = (split(a), split(b));
    let z_0 = full_product(&a_0, &b_0, Reading::Unsigned);
    let z_2 = full_product(&a_1, &b_1, reading);
    let difference = |x_0: &Bus<'b>, x_1: &Bus<'b>| {
        // |x₀ − x₁| < 2^half if both are unsigned, and < 2^(half + 1) otherwise.
        let width = half + if reading == Reading::Signed { 2 } else { 1 };
        let x_1 = match reading {
            Reading::Unsigned => UInt::new(x_1.clone()).resize(width),
            Reading::Signed => Int::new(x_1.clone()).resize(width).as_unsigned(),
        };
        UInt::new(x_0.clone()).resize(width) - x_1
    };
    let (d_a, d_b) = (difference(&a_0, &a_1), difference(&b_0, &b_1));
    let middle = full_product(d_a.bus(), d_b.bus(), Reading::Signed);
    let (z_0_low, z_0_high) = (z_0.slice(0..half), UInt::new(z_0.slice(half..2 * half)));
    let (z_2_low, z_2_high) = (UInt::new(z_2.slice(0..half)), z_2.slice(half..z_2.width()));
    let shared = z_0_high.add_widening(&z_2_low);
    let mut sum = Columns::new(builder, 2 * n);
    sum.add(0, &z_0_low, Reading::Unsigned);
    sum.add(half, &z_0_low, Reading::Unsigned);
    sum.add(half, shared.bus(), Reading::Unsigned);
    sum.add(2 * half, shared.bus(), Reading::Unsigned);
    sum.add(2 * half, &z_2_high, reading);
    sum.add(3 * half, &z_2_high, reading);
    sum.subtract(half, &middle, Reading::Signed);
    sum.sum()
}

/// Returns the sum of the products of `pairs` modulo 2^`width`. All first factors have one width,
/// and all second factors have one width.
fn sum_of_products<'b>(
    builder: &'b Builder,
    pairs: &[(&Bus<'b>, &Bus<'b>)],
    reading: Reading,
    width: usize,
) -> Bus<'b> {
    if builder.is_shallow() {
        return shallow_sum_of_products(builder, pairs, reading, width);
    }
    let (n, m) = (pairs[0].0.width(), pairs[0].1.width());
    // `doubled` adds up twice the sum. Its lowest bit is zero and is left out at the end.
    let mut doubled = Columns::new(builder, width + 1);
    let mut general = Vec::with_capacity(pairs.len());
    for &(a, b) in pairs {
        assert_eq!(
            (a.width(), b.width()),
            (n, m),
            "widths in a sum of products"
        );
        let constant = [(a, b), (b, a)].into_iter();
        match constant
            .filter_map(|(a, b)| as_constant(a).map(|a| (a, b)))
            .next()
        {
            Some((constant, other)) => {
                let product = product_with_constant(builder, &constant, other, reading, width);
                doubled.add(1, &product, Reading::Unsigned);
            }
            None => {
                add_pairs_of_bits(&mut doubled, (a, b), reading, equal);
                general.push((a, b));
            }
        }
    }
    if !general.is_empty() {
        add_rows(&mut doubled, &general, reading, width);
    }
    let doubled = doubled.sum();
    doubled.slice(1..width + 1)
}

/// Returns the same sum by the textbook method: one AND gate for each pair of bits, all in one
/// layer.
fn shallow_sum_of_products<'b>(
    builder: &'b Builder,
    pairs: &[(&Bus<'b>, &Bus<'b>)],
    reading: Reading,
    width: usize,
) -> Bus<'b> {
    let mut sum = Columns::new(builder, width);
    for &(a, b) in pairs {
        match (as_constant(a), as_constant(b)) {
            (Some(constant), _) => add_multiple(&mut sum, &constant, b, reading),
            (None, Some(constant)) => add_multiple(&mut sum, &constant, a, reading),
            (None, None) => add_pairs_of_bits(&mut sum, (a, b), reading, |a, b| a & b),
        }
    }
    sum.sum()
}

/// Returns the contribution of a pair of bits to twice the product.
fn equal<'b>(a: Bit<'b>, b: Bit<'b>) -> Bit<'b> {
    !(a ^ b)
}

/// Adds Σ wᵢvⱼ·pair(aᵢ, bⱼ), where the weight of a sign bit is negative.
fn add_pairs_of_bits<'b>(
    sum: &mut Columns<'b>,
    (a, b): (&Bus<'b>, &Bus<'b>),
    reading: Reading,
    pair: impl Fn(Bit<'b>, Bit<'b>) -> Bit<'b>,
) {
    let is_sign = |bus: &Bus<'b>, index| reading == Reading::Signed && index + 1 == bus.width();
    for (i, a_i) in a.bits().enumerate().take(sum.width()) {
        for (j, b_j) in b.bits().enumerate().take(sum.width() - i) {
            let pair = pair(a_i, b_j);
            if is_sign(a, i) != is_sign(b, j) {
                sum.subtract_bit(i + j, pair);
            } else {
                sum.add_bit(i + j, pair);
            }
        }
    }
}

/// Adds V·ΣA + W·ΣB − k·V·W for the k pairs.
fn add_rows<'b>(
    doubled: &mut Columns<'b>,
    pairs: &[(&Bus<'b>, &Bus<'b>)],
    reading: Reading,
    width: usize,
) {
    let (n, m) = (pairs[0].0.width(), pairs[0].1.width());
    // Wide enough for any sum, and no wider than the result needs.
    let sum_width = (n.max(m) + bits_for(2 * pairs.len() - 1)).min(width + 1);
    let extended = |bus: &Bus<'b>| match reading {
        Reading::Unsigned => UInt::new(bus.clone()).resize(sum_width),
        Reading::Signed => Int::new(bus.clone()).resize(sum_width).as_unsigned(),
    };
    let sum = |factors: Vec<UInt<'b>>| UInt::sum(&factors.iter().collect::<Vec<_>>());
    let a = sum(pairs.iter().map(|(a, _)| extended(a)).collect());
    let b = sum(pairs.iter().map(|(_, b)| extended(b)).collect());
    add_sums(doubled, [&a, &b], pairs.len(), (n, m), reading);
}

/// Adds V·A + W·B − k·V·W for the sums A and B of the factors of k pairs, n and m bits wide.
fn add_sums<'b>(
    doubled: &mut Columns<'b>,
    [a, b]: [&UInt<'b>; 2],
    pairs: usize,
    (n, m): (usize, usize),
    reading: Reading,
) {
    let both = a + b;
    doubled.subtract(0, both.bus(), reading);
    let minus_products_of_weights: &[(usize, bool)] = match reading {
        Reading::Signed => &[(0, false)],
        Reading::Unsigned => {
            if n == m {
                doubled.add(n, both.bus(), reading);
            } else {
                doubled.add(m, a.bus(), reading);
                doubled.add(n, b.bus(), reading);
            }
            &[(n + m, false), (n, true), (m, true), (0, false)]
        }
    };
    for &(place, is_added) in minus_products_of_weights {
        for bit in (0..usize::BITS as usize).filter(|bit| pairs >> bit & 1 == 1) {
            if is_added {
                doubled.add_constant(place + bit);
            } else {
                doubled.subtract_constant(place + bit);
            }
        }
    }
}

/// Returns the value of a bus that is constant.
fn as_constant(bus: &Bus<'_>) -> Option<Vec<bool>> {
    bus.bits().map(Bit::as_constant).collect()
}

/// Returns the product with a constant modulo 2^`width`.
fn product_with_constant<'b>(
    builder: &'b Builder,
    constant: &[bool],
    other: &Bus<'b>,
    reading: Reading,
    width: usize,
) -> Bus<'b> {
    let mut sum = Columns::new(builder, width);
    add_multiple(&mut sum, constant, other, reading);
    sum.sum()
}

/// Adds the product with a constant: one row for each nonzero digit in the constant's non-adjacent
/// form (Reitwiesner, "Binary arithmetic", Advances in Computers 1, 1960).
fn add_multiple<'b>(sum: &mut Columns<'b>, constant: &[bool], other: &Bus<'b>, reading: Reading) {
    // In two's complement, the digits need only the sign once more above the top.
    let fill = reading == Reading::Signed && constant.last().copied().unwrap_or(false);
    let bit = |index: usize| constant.get(index).copied().unwrap_or(fill);
    let mut carry = false;
    for place in 0..constant.len().max(1) + 1 {
        let odd = bit(place) != carry;
        let next = if odd {
            bit(place + 1)
        } else {
            bit(place) && carry
        };
        if odd && next {
            sum.subtract(place, other, reading);
        } else if odd {
            sum.add(place, other, reading);
        }
        carry = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ands(width: usize, split: bool) -> usize {
        let builder = Builder::new();
        let (a, b) = (builder.bus("a", width), builder.bus("b", width));
        let product = if split {
            karatsuba(&a, &b, Reading::Unsigned)
        } else {
            sum_of_products(&builder, &[(&a, &b)], Reading::Unsigned, 2 * width)
        };
        builder.output("product", &product);
        builder.finish().unwrap().statistics().and
    }

    #[test]
    fn splitting_pays_from_its_limit_on_and_not_before() {
        for width in [16, 20, 24, 27, 28, 29, 32, 40, 64] {
            let pays = ands(width, true) < ands(width, false);
            assert_eq!(pays, width >= KARATSUBA_BITS, "{width} bits");
        }
    }
}
