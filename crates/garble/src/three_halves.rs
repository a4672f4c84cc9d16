//! `three-halves`: free XOR, and AND in one and a half ciphertexts, in the ideal-cipher model.
//!
//! Rosulek and Roy, "Three halves make a whole? Beating the half-gates lower bound for garbled
//! circuits" (CRYPTO 2021): labels are *sliced* into halves, and the choice of the input labels'
//! halves that go into the output label is *diced*: the garbler draws it for each gate, and the
//! evaluator learns it from control bits that are encrypted in the same way as the halves.
//!
//! **Assumption.** AES is an ideal cipher, under the two-call hash of [`tacit_kernels::hash`]:
//! about 116 bits. A gate of half-gates adds 0 or Δ to a hash; one of three halves adds other
//! linear functions of Δ.
//!
//! **Notation.** A label is (L, R), its low and high 64 bits, an element of GF(4)⊗GF(2)^64: ω takes
//! (L, R) to (L ⊕ R, L), and ω² to (R, L ⊕ R), which is
//! [`Simd::sigma`](tacit_kernels::Simd::sigma). `A_i`, `B_j` are the inputs' labels of select bits
//! i and j, and `S_k` = A_0 ⊕ B_0 ⊕ kΔ the labels' sums; p_a and p_b the permute bits; t_ij = (i ⊕
//! p_a)(j ⊕ p_b). Hashes of a gate have the tweaks (AND, g, 0) for A, 1 for B and 2 for S. The dice
//! of a gate are λ = uω ⊕ v, two random bits. With P = p_a ⊕ ω² p_b and λ_ij = λ ⊕ (i ⊕ ω² j)P,
//! which alone is uniform for every P, the output's label for select bits i and j is
//!
//! L: H(A_i) ⊕ H(S_{i⊕j}) ⊕ i G_0 ⊕ (i ⊕ j) G_2 ⊕ i B_j ⊕ λ_ij(A_i ⊕ ω² B_j),
//! R: H(B_j) ⊕ H(S_{i⊕j}) ⊕ j G_1 ⊕ (i ⊕ j) G_2 ⊕ j A_i ⊕ λ_ij(A_i ⊕ ω² B_j),
//!
//! L takes the low half of each label and of H(A), R the high half of each label and of H(B), and
//! both take the high half of H(S). These eight halves are those of C^0 ⊕ t_ij Δ, which gives eight
//! equations in C^0 and the three G; by the choice of λ_ij, three of them follow from the others.
//! The control bits obey the same equations: with α, β, σ bit 127 of H(A), bit 63 of H(B), bit 63
//! of H(S), and λ_ij = u_ij ω ⊕ v_ij,
//! u_ij = α_i ⊕ σ_{i⊕j} ⊕ i z_0 ⊕ (i ⊕ j) z_2 ⊕ c_u, v_ij = β_j ⊕ σ_{i⊕j} ⊕ j z_1 ⊕ (i ⊕ j) z_2 ⊕
//! c_v.
//!
//! **Tables**, in the program's order: for each AND gate G_0 and G_1, 8 bytes each; a byte with
//! z_2, c_u, z_0, c_v, z_1 from bit 0 on, whose high bits are zero and ignored; G_2, 8 bytes.
//! **Dice**: v and u of gate g are bit g mod 64 of the low and high half of the random block number
//! ⌊g / 64⌋, from AES in counter mode under the seed. **Decoding** is that of half-gates.
//!
//! **Cost** of an AND: 197 ciphertext bits in 25 bytes; 12 cipher calls for the garbler and 1/64 of
//! a call for its dice, 6 for the evaluator. A XOR is free.

use tacit_circuit::AndGate;
use tacit_kernels::{Block, Construction, Cpu, MAX_LANES, Simd, SlotView};
use zeroize::Zeroizing;

use crate::SchemeId;
use crate::free_xor::{Ands, FreeXor, FreeXorEvaluator, FreeXorGarbler, Secrets, Segment};
use crate::hashing::{GatesInLanes, Hashing, TwoCall};
use crate::scheme::compiled_here;
use crate::walk::{AndRule, walk};

/// The bytes of an AND gate's table.
const AND_BYTES: usize = 25;

/// The number of hashed inputs of a gate: A, B and their sum S.
const INPUTS: usize = 3;
/// The vectors of inputs in one step of the garbler: two labels each, so 12 in flight.
const GARBLED: usize = 6;
/// The vectors of inputs in one step of the evaluator: one label each, so 12 in flight.
const EVALUATED: usize = 12;

/// The number of gates whose dice are one block.
const DICE_PER_BLOCK: u64 = 64;

/// The place of the control byte in a gate's table.
const CONTROL_AT: usize = 16;
/// The start of the 16 bytes that end with the control byte and `G_2`.
const SECOND_AT: usize = 9;
/// The place in the control byte.
const Z_2: u32 = 0;
/// See [`Z_2`].
const C_U: u32 = 1;
/// See [`Z_2`].
const Z_0: u32 = 2;
/// See [`Z_2`].
const C_V: u32 = 3;
/// See [`Z_2`].
const Z_1: u32 = 4;

/// The AND gates of three halves.
#[derive(Clone, Copy, Debug)]
pub struct ThreeHalvesAnds;

/// The scheme `three-halves`. See the module's header.
pub type ThreeHalves = FreeXor<ThreeHalvesAnds>;

impl ThreeHalves {
    /// Returns the scheme, on this CPU's fastest backend.
    pub fn new() -> Self {
        Self::on(Cpu::detect())
    }

    /// Returns the scheme on a given backend. All backends compute the same bits.
    pub const fn on(cpu: Cpu) -> Self {
        let ands = ThreeHalvesAnds;
        Self { cpu, ands }
    }
}

impl Default for ThreeHalves {
    fn default() -> Self {
        Self::new()
    }
}

impl Ands for ThreeHalvesAnds {
    const BYTES: usize = AND_BYTES;
    const GATES_A_COIN: u64 = DICE_PER_BLOCK;

    fn id(self) -> SchemeId {
        SchemeId::THREE_HALVES
    }

    fn construction(self) -> Construction {
        Construction::TwoCall
    }

    fn wide_from(self) -> [usize; 2] {
        [4, 64]
    }

    #[inline(always)]
    fn garble<S: Simd>(self, simd: S, mut of: Segment<'_>, with: Secrets<'_>, tables: &mut [u8]) {
        const STEP: usize = GARBLED / INPUTS * MAX_LANES;
        let rows = tables.as_chunks_mut::<AND_BYTES>().0;
        let rule = &mut Garble {
            offset: Offset::new(simd, *with.delta),
            hashing: TwoCall::new(simd, [simd.splat(of.start)], of.instance),
            coins: with.coins,
            first_block: of.gates.first_and / DICE_PER_BLOCK,
            block: None,
            dice: Zeroizing::new([Block::ZERO; DICE]),
        };
        walk::<S, _, AND_BYTES, INPUTS, GARBLED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
    }

    #[inline(always)]
    fn evaluate<S: Simd>(self, simd: S, mut of: Segment<'_>, tables: &[u8]) {
        const STEP: usize = EVALUATED / INPUTS * MAX_LANES;
        let rows = tables.as_chunks::<AND_BYTES>().0;
        let hashing = TwoCall::new(simd, [simd.splat(of.start)], of.instance);
        let rule = &mut Evaluate(hashing);
        walk::<S, _, AND_BYTES, INPUTS, EVALUATED, STEP>(simd, rule, of.gates, &mut of.slots, rows);
    }

    compiled_here!(FreeXorGarbler, FreeXorEvaluator);
}

/// The number of dice of a block's gates, plus room for a step that reads beyond them.
const DICE: usize = DICE_PER_BLOCK as usize + GARBLED / INPUTS * MAX_LANES;

/// Writes the dice of a block's gates as masks: v in the low half, u in the high.
#[inline(always)]
fn spread_dice(block: Block, dice: &mut [Block]) {
    let value = block.to_u128();
    let (v, u) = (value as u64, (value >> 64) as u64);
    for (place, dice) in (0..DICE_PER_BLOCK).zip(dice) {
        let (v, u) = (
            (v >> place & 1).wrapping_neg(),
            (u >> place & 1).wrapping_neg(),
        );
        *dice = Block::from_u128(u128::from(v) | u128::from(u) << 64);
    }
}

/// Δ and its multiples.
struct Offset<S: Simd> {
    /// Δ.
    one: S::Vector,
    /// ωΔ.
    omega: S::Vector,
}

impl<S: Simd> Offset<S> {
    #[inline(always)]
    fn new(simd: S, delta: Block) -> Self {
        let one = simd.splat(delta);
        Self {
            one,
            omega: simd.xor(one, simd.sigma(one)),
        }
    }
}

/// The garbler's rule.
struct Garble<'a, S: Simd> {
    offset: Offset<S>,
    hashing: TwoCall<S>,
    /// The segment's dice, from the block of its first AND gate on.
    coins: &'a [Block],
    first_block: u64,
    /// The block whose gates' dice are in `dice`.
    block: Option<u64>,
    dice: Zeroizing<[Block; DICE]>,
}

/// The labels that a step of the garbler hashes.
#[derive(Clone, Copy)]
struct Labels<S: Simd, const N: usize> {
    /// The labels of select bits 0 and 1 of A, B and S of each vector of gates.
    x: [[S::Vector; 2]; N],
    /// The inputs' permute bits as masks; zero for S.
    permute: [S::Vector; N],
    /// The first calls of the hash.
    inner: [[S::Vector; 2]; N],
}

impl<S: Simd> AndRule<S, AND_BYTES> for Garble<'_, S> {
    type Rows<'t> = &'t mut [[u8; AND_BYTES]];
    type Labels<const N: usize> = Labels<S, N>;
    type Hashes<const N: usize> = [[S::Vector; 2]; N];

    const ALIGNED: bool = false;
    const PIPELINED: bool = true;
    const LONE: bool = false;

    /// No series of gates spans two blocks of dice, or two epochs of the hash.
    #[inline(always)]
    fn load_keys(&mut self, simd: S, number: u64) -> usize {
        let (block, first) = (number / DICE_PER_BLOCK, number % DICE_PER_BLOCK);
        if self.block != Some(block) {
            let coin = self.coins[(block - self.first_block) as usize];
            spread_dice(coin, &mut *self.dice);
            self.block = Some(block);
        }
        let keys = self.hashing.keys_for(simd, number);
        keys.min((DICE_PER_BLOCK - first) as usize)
    }

    #[inline(always)]
    fn read<const N: usize>(
        &self,
        simd: S,
        gates: &[AndGate],
        slots: &SlotView<'_>,
    ) -> Labels<S, N> {
        let (zero, delta) = (simd.splat(Block::ZERO), self.offset.one);
        let (mut x, mut permute) = ([[zero; 2]; N], [zero; N]);
        let inputs = x.chunks_exact_mut(INPUTS);
        let inputs = inputs.zip(permute.chunks_exact_mut(INPUTS));
        for ((x, permute), gates) in inputs.zip(gates.chunks_exact(S::LANES)) {
            let side = |pin: fn(&AndGate) -> u32| {
                let label = simd.gather(slots, |lane| pin(&gates[lane]) as usize);
                let select = simd.lsb_mask(label);
                // The label that a wire's negation has at select bit 0 is the same.
                let negated = |lane: usize| (pin(&gates[lane]) >> 31) as usize;
                let permute = simd.xor(select, simd.gather(&NEGATIONS, negated));
                (simd.xor(label, simd.and(select, delta)), permute)
            };
            let (a, b);
            (a, permute[0]) = side(|gate| gate.a);
            (b, permute[1]) = side(|gate| gate.b);
            let sum = simd.xor(a, b);
            x[0] = [a, simd.xor(a, delta)];
            x[1] = [b, simd.xor(b, delta)];
            x[2] = [sum, simd.xor(sum, delta)];
        }
        let inner = self.hashing.first_call(simd, x);
        Labels { x, permute, inner }
    }

    #[inline(always)]
    fn hash<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        labels: &Labels<S, N>,
    ) -> [[S::Vector; 2]; N] {
        let inner = labels.inner;
        self.hashing
            .second_call::<GatesInLanes<INPUTS>, N, 2>(simd, number, inner)
    }

    #[inline(always)]
    fn finish<const N: usize>(
        &self,
        simd: S,
        number: u64,
        labels: &Labels<S, N>,
        hashes: [[S::Vector; 2]; N],
        gates: &[AndGate],
        slots: &mut SlotView<'_>,
        rows: &mut [[u8; AND_BYTES]],
    ) {
        let dice = &self.dice[(number % DICE_PER_BLOCK) as usize..];
        let x = labels.x.as_chunks::<INPUTS>().0.iter();
        let permute = labels.permute.as_chunks::<INPUTS>().0;
        let inputs = x.zip(permute).zip(hashes.as_chunks::<INPUTS>().0);
        for (n, (([[a, _], [b, _], _], [p_a, p_b, _]), hashes)) in inputs.enumerate() {
            let (from, to) = (n * S::LANES, (n + 1) * S::LANES);
            let dice = simd.load(&dice[from..]);
            let [first, second, label] =
                garble_gates(simd, &self.offset, [*p_a, *p_b], dice, [*a, *b], *hashes);
            let (gates, rows) = (&gates[from..to], &mut rows[from..to]);
            simd.scatter(label, slots, |lane| gates[lane].out as usize);
            // The bytes of the second below its control byte end up under the first.
            simd.store_rows(second, rows, SECOND_AT);
            simd.store_rows(first, rows, 0);
        }
    }
}

/// The masks that a pin's negation adds to its permute bit.
const NEGATIONS: [Block; 2] = [Block::ZERO, Block::ONES];

/// Computes, from the permute bits, dice, labels `A_0` and `B_0` and the hashes of `A`, `B` and
/// `S`: `G_0`‖`G_1`, then the control byte below `G_2`, then the output's label of value 0.
///
/// These are the module's equations, solved for the unknowns, with ω² = ω ⊕ 1.
#[inline(always)]
fn garble_gates<S: Simd>(
    simd: S,
    offset: &Offset<S>,
    [p_a, p_b]: [S::Vector; 2],
    dice: S::Vector,
    [a, b]: [S::Vector; 2],
    [[h_a0, h_a1], [h_b0, h_b1], [h_s0, h_s1]]: [[S::Vector; 2]; INPUTS],
) -> [S::Vector; 3] {
    let xor = |a, b| simd.xor(a, b);
    let and = |a, b| simd.and(a, b);
    let xor4 = |a, b, c, d| simd.xor(simd.xor(a, b), simd.xor(c, d));
    let Offset { one, omega } = *offset;
    let halves = |low, high| simd.halves(low, high);
    let (u, v) = (simd.high_twice(dice), simd.low_twice(dice));
    let (p_ab, uv) = (xor(p_a, p_b), xor(u, v));
    let p_ab_uv = xor(p_ab, uv);
    let x = xor(a, simd.sigma(b));
    let x2 = simd.sigma(x);
    let [of_a, of_b, of_s] = [xor(h_a0, h_a1), xor(h_b0, h_b1), xor(h_s0, h_s1)];

    let first = halves(xor(of_a, b), xor(of_b, a));
    let by_p = xor(and(p_ab, x), and(p_a, x2));
    let first = xor4(first, by_p, and(xor(u, p_b), one), and(p_ab_uv, omega));

    let by_p = xor(and(p_b, x), and(p_ab, x2));
    let by_dice = xor(and(p_ab_uv, one), and(xor(v, p_a), omega));
    let second = xor(of_s, simd.low_twice(xor(by_p, by_dice)));

    let label = xor(halves(h_a0, h_b0), simd.high_twice(h_s0));
    let by_dice = xor(and(uv, x), and(u, x2));
    let label = xor(xor(label, by_dice), and(and(p_a, p_b), one));

    // The bits of u are in the high half and those of v in the low, each at its place in the
    // control byte.
    let masks = |a| simd.msb_masks_of_halves(a);
    let bits = |low, high| {
        simd.splat(Block::from_u128(
            1_u128 << (56 + low) | 1_u128 << (120 + high),
        ))
    };
    let constant = xor(halves(h_b0, h_a0), xor(simd.low_twice(h_s0), dice));
    let z_01 = halves(xor(of_b, p_b), xor(of_a, p_a));
    let control = xor(
        and(masks(constant), bits(C_V, C_U)),
        and(masks(z_01), bits(Z_1, Z_0)),
    );
    let z_2 = and(xor(masks(of_s), p_ab), bits(Z_2, Z_2));
    let control = xor(xor(control, simd.swap_halves(control)), z_2);
    [first, halves(control, second), label]
}

/// The evaluator's rule.
struct Evaluate<S: Simd>(TwoCall<S>);

impl<S: Simd> AndRule<S, AND_BYTES> for Evaluate<S> {
    type Rows<'t> = &'t [[u8; AND_BYTES]];
    /// A, B and S of each vector of gates, and the first calls of their hashes.
    type Labels<const N: usize> = [[[S::Vector; 1]; N]; 2];
    type Hashes<const N: usize> = [[S::Vector; 1]; N];

    const ALIGNED: bool = false;
    const PIPELINED: bool = true;
    const LONE: bool = false;

    #[inline(always)]
    fn load_keys(&mut self, simd: S, number: u64) -> usize {
        self.0.keys_for(simd, number)
    }

    #[inline(always)]
    fn read<const N: usize>(
        &self,
        simd: S,
        gates: &[AndGate],
        slots: &SlotView<'_>,
    ) -> [[[S::Vector; 1]; N]; 2] {
        let mut x = [[simd.splat(Block::ZERO)]; N];
        for (x, gates) in x.chunks_exact_mut(INPUTS).zip(gates.chunks_exact(S::LANES)) {
            let a = simd.gather(slots, |lane| gates[lane].a as usize);
            let b = simd.gather(slots, |lane| gates[lane].b as usize);
            (x[0], x[1], x[2]) = ([a], [b], [simd.xor(a, b)]);
        }
        [x, self.0.first_call(simd, x)]
    }

    #[inline(always)]
    fn hash<const N: usize>(
        &mut self,
        simd: S,
        number: u64,
        [_, inner]: &[[[S::Vector; 1]; N]; 2],
    ) -> [[S::Vector; 1]; N] {
        self.0
            .second_call::<GatesInLanes<INPUTS>, N, 1>(simd, number, *inner)
    }

    #[inline(always)]
    fn finish<const N: usize>(
        &self,
        simd: S,
        _number: u64,
        [x, _]: &[[[S::Vector; 1]; N]; 2],
        hashes: [[S::Vector; 1]; N],
        gates: &[AndGate],
        slots: &mut SlotView<'_>,
        rows: &[[u8; AND_BYTES]],
    ) {
        let inputs = x.as_chunks::<INPUTS>().0.iter();
        let inputs = inputs.zip(hashes.as_chunks::<INPUTS>().0);
        for (n, ([[a], [b], _], [[h_a], [h_b], [h_s]])) in inputs.enumerate() {
            let (from, to) = (n * S::LANES, (n + 1) * S::LANES);
            let rows = rows_of(simd, &rows[from..to]);
            let label = evaluate_gates(simd, rows, [*a, *b], [*h_a, *h_b, *h_s]);
            let gates = &gates[from..to];
            simd.scatter(label, slots, |lane| gates[lane].out as usize);
        }
    }
}

/// Splits the tables of a vector of gates into `G_0`‖`G_1`, arbitrary bytes below `G_2`, and the
/// control bits that belong to i, to j, and to neither.
#[inline(always)]
fn rows_of<S: Simd>(simd: S, tables: &[[u8; AND_BYTES]]) -> [S::Vector; 5] {
    let control =
        |part: &[Block; 32]| simd.gather(part, |lane| usize::from(tables[lane][CONTROL_AT] & 31));
    [
        simd.load_rows(tables, 0),
        simd.load_rows(tables, SECOND_AT),
        control(&CONTROL[0]),
        control(&CONTROL[1]),
        control(&CONTROL[2]),
    ]
}

/// For each control byte, the bits that are added to the dice (v at bit 63, u at bit 127) if i is
/// set, if j is set, and always: (z_2, z_0 ⊕ z_2), (z_1 ⊕ z_2, z_2), (c_v, c_u). Tables are public,
/// and so is this index.
const CONTROL: [[Block; 32]; 3] = {
    let mut parts = [[Block::ZERO; 32]; 3];
    let mut byte = 0;
    while byte < 32 {
        let bits = byte as u128;
        let [z_0, z_1, z_2] = [bits >> Z_0 & 1, bits >> Z_1 & 1, bits >> Z_2 & 1];
        let [c_u, c_v] = [bits >> C_U & 1, bits >> C_V & 1];
        parts[0][byte] = Block::from_u128(z_2 << 63 | (z_0 ^ z_2) << 127);
        parts[1][byte] = Block::from_u128((z_1 ^ z_2) << 63 | z_2 << 127);
        parts[2][byte] = Block::from_u128(c_v << 63 | c_u << 127);
        byte += 1;
    }
    parts
};

/// Computes the output labels of gates, from their tables, the labels A and B, and the hashes.
#[inline(always)]
fn evaluate_gates<S: Simd>(
    simd: S,
    [first, second, control_i, control_j, control]: [S::Vector; 5],
    [a, b]: [S::Vector; 2],
    [h_a, h_b, h_s]: [S::Vector; 3],
) -> S::Vector {
    let xor = |a, b| simd.xor(a, b);
    let and = |a, b| simd.and(a, b);
    let zero = simd.splat(Block::ZERO);
    let (i, j) = (simd.lsb_mask(a), simd.lsb_mask(b));
    let halves = |low, high| simd.halves(low, high);

    let hashed = xor(halves(h_b, h_a), simd.low_twice(h_s));
    let told = xor(control, xor(and(i, control_i), and(j, control_j)));
    let dice = simd.msb_masks_of_halves(xor(hashed, told));
    let (u, v) = (simd.high_twice(dice), simd.low_twice(dice));

    let both = simd.high_twice(xor(h_s, and(xor(i, j), second)));
    let label = xor(halves(h_a, h_b), both);
    let label = xor(label, and(halves(i, j), xor(first, halves(b, a))));
    // The dice times x. ω maps x to its halves exchanged, with the low one added to itself.
    let x = xor(a, simd.sigma(b));
    let omega = xor(simd.swap_halves(x), halves(x, zero));
    xor(label, xor(and(u, omega), and(v, x)))
}
