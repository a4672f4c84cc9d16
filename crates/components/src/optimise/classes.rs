//! Functions of up to four inputs with the fewest AND gates.
//!
//! Two functions take the same number of AND gates if their difference is a sum of inputs and a
//! constant. So a function is looked up by the nonlinear part of its algebraic normal form: 11
//! monomials, 2048 classes. A recipe for each class is found by trying all circuits of one, two and
//! three AND gates whose factors are sums of inputs and earlier products. Three are enough for four
//! inputs (Turan, Peralta, "The Multiplicative Complexity of Boolean Functions on Four and Five
//! Variables", 2014). The table takes some milliseconds and is made once for each circuit.

/// A function of four inputs. Bit i is its value when input j is bit j of i.
pub(super) type Table = u16;

/// The four inputs.
pub(super) const INPUTS: [Table; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];

/// The number of inputs and products of a recipe.
const VALUES: usize = 7;

/// The least number of recipes of two gates that are tried with a third one.
const LEAST_TRIED: usize = 200;

/// A circuit for a class, up to a sum of inputs.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    /// The two factors of each AND gate, each a set of values: bits 0 to 3 are the inputs, and bits
    /// 4 to 6 the earlier gates.
    factors: [[u8; 2]; 3],
    ands: u8,
    /// The gates that are added up.
    sum: u8,
}

/// A circuit for a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    factors: [[u8; 2]; 3],
    ands: u8,
    sum: u8,
    /// The negated factors: bit 2i for the first factor of gate i, and bit 2i + 1 for the second.
    negated: u8,
    /// The inputs that are added at the end.
    rest: u8,
    constant: bool,
}

impl Plan {
    /// Returns the number of AND gates.
    pub(super) fn ands(&self) -> usize {
        usize::from(self.ands)
    }

    /// Returns the number of XOR gates, if none is shared.
    pub(super) fn xors(&self) -> usize {
        let sum = (self.sum.count_ones() + self.rest.count_ones()).saturating_sub(1);
        (sum + weight(&self.factors[..self.ands()])) as usize
    }

    /// Computes the function's value from those of the inputs.
    pub(super) fn build<V: Copy>(
        &self,
        inputs: [V; 4],
        zero: V,
        negate: impl Fn(V) -> V,
        mut xor: impl FnMut(V, V) -> V,
        mut and: impl FnMut(V, V) -> V,
    ) -> V {
        let mut values = [zero; VALUES];
        values[..4].copy_from_slice(&inputs);
        let mut sum_of = |values: &[V; VALUES], set: u8| {
            let mut terms = (0..VALUES).filter(|i| set >> i & 1 == 1).map(|i| values[i]);
            let first = terms.next().unwrap_or(zero);
            terms.fold(first, &mut xor)
        };
        for (gate, factors) in self.factors[..self.ands()].iter().enumerate() {
            let [a, b] = [0, 1].map(|side| {
                let sum = sum_of(&values, factors[side]);
                match self.negated >> (2 * gate + side) & 1 {
                    0 => sum,
                    _ => negate(sum),
                }
            });
            values[4 + gate] = and(a, b);
        }
        let sum = sum_of(&values, self.rest | self.sum << 4);
        if self.constant { negate(sum) } else { sum }
    }
}

/// Returns the number of XORs that add up all factors.
fn weight(factors: &[[u8; 2]]) -> u32 {
    let xors = |set: u8| set.count_ones().saturating_sub(1);
    factors.iter().flatten().map(|&set| xors(set)).sum()
}

/// The plans of all functions of four inputs. Each is made on first use.
pub(super) struct Classes {
    recipes: Vec<Option<Recipe>>,
    plans: Vec<Option<Plan>>,
}

impl Classes {
    pub(super) fn new() -> Self {
        let mut classes = Self {
            recipes: vec![None; 1 << 11],
            plans: vec![None; 1 << 16],
        };
        let empty = Recipe {
            factors: [[0; 2]; 3],
            ands: 0,
            sum: 0,
        };
        classes.recipes[0] = Some(empty);
        let one = classes.extend(empty, &INPUTS);
        let mut two = Vec::new();
        for (recipe, values) in one {
            two.extend(classes.extend(recipe, &values));
        }
        // A few of these are enough for all functions that take three gates. Trying all would take
        // long.
        two.sort_by_key(|(recipe, _)| weight(&recipe.factors));
        for (tried, (recipe, values)) in two.into_iter().enumerate() {
            if tried >= LEAST_TRIED && classes.recipes.iter().all(Option::is_some) {
                break;
            }
            classes.extend(recipe, &values);
        }
        classes
    }

    /// Tries each further AND gate after those of `recipe`, whose values are `values`. Returns the
    /// longer recipes and their values.
    fn extend(&mut self, recipe: Recipe, values: &[Table]) -> Vec<(Recipe, Vec<Table>)> {
        let sums = sums_of(values);
        let ands = usize::from(recipe.ands);
        let mut all = Vec::new();
        for a in 1..sums.len() {
            // Of three sums with the same span, a and b are the least.
            for b in (a + 1..sums.len()).filter(|b| a ^ b > *b) {
                let mut factors = [a as u8, b as u8, (a ^ b) as u8];
                factors.sort_unstable_by_key(|set| set.count_ones());
                let mut longer = recipe;
                longer.factors[ands] = [factors[0], factors[1]];
                longer.ands += 1;
                let [x, y] = longer.factors[ands].map(|set| sums[usize::from(set)]);
                self.note(&mut longer, x & y, values);
                if longer.ands < 3 {
                    all.push((longer, [values, &[x & y]].concat()));
                }
            }
        }
        all
    }

    /// Stores the classes of the last product and of its sums with earlier ones.
    fn note(&mut self, recipe: &mut Recipe, product: Table, values: &[Table]) {
        let last = usize::from(recipe.ands) - 1;
        for others in 0..1_u8 << last {
            let earlier = (0..last).filter(|i| others >> i & 1 == 1);
            let table = earlier.fold(product, |table, i| table ^ values[4 + i]);
            recipe.sum = others | 1 << last;
            let known = &mut self.recipes[class_of(table)];
            let cost = |r: &Recipe| (r.ands, weight(&r.factors) + r.sum.count_ones());
            if known.is_none_or(|known| cost(recipe) < cost(&known)) {
                *known = Some(*recipe);
            }
        }
    }

    /// Returns a plan that computes `table`.
    pub(super) fn plan(&mut self, table: Table) -> Option<Plan> {
        if self.plans[usize::from(table)].is_none() {
            let recipe = self.recipes[class_of(table)]?;
            let flips = 0..1_u8 << (2 * recipe.ands);
            let plans = flips.filter_map(|negated| complete(&recipe, negated, table));
            self.plans[usize::from(table)] = plans.min_by_key(|plan| plan.rest.count_ones());
        }
        self.plans[usize::from(table)]
    }
}

/// Returns the recipe with these negations, and with the rest that makes it `table`, or `None` if
/// the rest is not a sum of inputs.
fn complete(recipe: &Recipe, negated: u8, table: Table) -> Option<Plan> {
    let mut plan = Plan {
        factors: recipe.factors,
        ands: recipe.ands,
        sum: recipe.sum,
        negated,
        rest: 0,
        constant: false,
    };
    let value = plan.build(INPUTS, 0, |t: Table| !t, |a, b| a ^ b, |a, b| a & b);
    let form = normal_form(table ^ value);
    plan.rest = (0..4).fold(0, |rest, j| rest | ((form >> (1 << j) & 1) as u8) << j);
    plan.constant = form & 1 == 1;
    (class_of(table ^ value) == 0).then_some(plan)
}

/// Returns the sum of each set of values.
fn sums_of(values: &[Table]) -> Vec<Table> {
    let mut sums = vec![0; 1 << values.len()];
    for set in 1..sums.len() {
        let last = set.trailing_zeros() as usize;
        sums[set] = sums[set & (set - 1)] ^ values[last];
    }
    sums
}

/// Returns the algebraic normal form: bit m says whether the product of the inputs in m is a term.
fn normal_form(table: Table) -> Table {
    let mut form = table;
    for (j, ones) in INPUTS.into_iter().enumerate() {
        form ^= form << (1 << j) & ones;
    }
    form
}

/// Returns the monomials of two or more inputs, packed.
fn class_of(table: Table) -> usize {
    let form = usize::from(normal_form(table));
    form >> 3 & 1 | (form >> 5 & 7) << 1 | (form >> 9 & 0x7f) << 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_four_inputs_has_a_plan_of_at_most_three_gates() {
        let mut classes = Classes::new();
        let mut counts = [0; 4];
        for table in 0..=Table::MAX {
            let plan = classes.plan(table).unwrap();
            let value = plan.build(INPUTS, 0, |t: Table| !t, |a, b| a ^ b, |a, b| a & b);
            assert_eq!(value, table);
            counts[plan.ands()] += 1;
        }
        // There are 32 sums, and a product for each of the 35 planes of sums, plus any sum.
        // Functions of degree 4, which are half of all, take three gates, like every product of
        // four inputs.
        assert_eq!(counts, [32, 35 * 32, 31616, 32768]);
    }

    #[test]
    fn known_functions_take_what_is_known() {
        let mut classes = Classes::new();
        let [a, b, c, d] = INPUTS;
        let mut cost = |table| {
            let plan = classes.plan(table).unwrap();
            (plan.ands(), plan.xors())
        };
        assert_eq!(cost(a & b), (1, 0));
        assert_eq!(cost(a | b), (1, 0));
        assert_eq!(cost(a & b | b & c | a & c), (1, 3), "majority");
        assert_eq!(cost(a & b | !a & c), (1, 2), "selection");
        assert_eq!(cost(a & b & c & d).0, 3);
        assert_eq!(cost((a & b) ^ (c & d)), (2, 1));
        assert_eq!(cost((a & b) ^ (a & c)), (1, 1));
    }
}
