//! Classification of one party's sample by the other party's model.
//!
//! The three classifiers of Bost, Popa, Tu and Goldwasser, "Machine learning classification over
//! encrypted data", NDSS 2015: hyperplane decision, naive Bayes, decision trees. The model's shape
//! (numbers of features, classes and values, depth) is public. All its numbers are inputs. Scores
//! have as many bits as they can need, so they never wrap around.

use std::collections::VecDeque;

use tacit_circuit::builder::{Array, Bit, Builder, Int, UInt};
use tacit_circuit::{Promise, Type};

/// Whether the sample lies on the positive side of the plane: Σ weightᵢ·featureᵢ + bias ≥ 0.
///
/// # Panics
///
/// If the numbers of weights and features differ, or widths differ.
pub fn linear_classifier<'b>(
    features: &Array<Int<'b>>,
    weights: &Array<Int<'b>>,
    bias: &Int<'b>,
) -> Bit<'b> {
    let (features, weights): (Vec<_>, Vec<_>) =
        (features.iter().collect(), weights.iter().collect());
    let score = Int::dot_product_widening(&features, &weights);
    let width = score.width() + 1;
    !(score.resize(width) + bias.resize(width)).sign()
}

/// Returns the most probable class of a sample, or the first of them if there are several: the one
/// with the greatest log P(class) + Σ log P(featureᵢ = valueᵢ | class).
///
/// `likelihoods[class][feature][value]` and `priors` are logarithms. A value past the last one
/// counts as the last one.
///
/// # Panics
///
/// If the numbers of priors and classes, or of likelihoods and features, differ, or widths differ,
/// or a value has too few bits for its table.
pub fn naive_bayes<'b>(
    sample: &Array<UInt<'b>>,
    priors: &Array<Int<'b>>,
    likelihoods: &Array<Array<Array<Int<'b>>>>,
) -> UInt<'b> {
    assert_eq!(
        priors.len(),
        likelihoods.len(),
        "classes of priors and likelihoods"
    );
    assert_eq!(
        sample.len(),
        likelihoods[0].len(),
        "features of sample and likelihoods"
    );
    let width = priors[0].width() + sample.len().ilog2() as usize + 1;
    let scores = priors.iter().zip(likelihoods).map(|(prior, tables)| {
        let terms = tables
            .iter()
            .zip(sample)
            .map(|(table, value)| table.lookup(value));
        let terms: Vec<UInt<'b>> = [prior.clone()]
            .into_iter()
            .chain(terms)
            .map(|term| term.resize(width).as_unsigned())
            .collect();
        UInt::sum(&terms.iter().collect::<Vec<_>>()).as_signed()
    });
    Array::new(scores.collect()).arg_max().0
}

/// A node of a decision tree, which compares one feature with a threshold.
#[derive(Clone, Debug)]
pub struct DecisionNode<'b> {
    /// The feature's index. An index past the last one means the last feature.
    pub feature: UInt<'b>,
    /// The threshold. A greater feature leads to the second child, and any other to the first.
    pub threshold: Int<'b>,
}

/// Returns the label of the leaf that the sample reaches in a complete binary tree. `nodes` are in
/// level order from the root, with the children of node k at 2k + 1 and 2k + 2. `labels` are those
/// of the leaves, from left to right.
///
/// All nodes are evaluated, so that the path stays hidden. Each node selects its feature and
/// compares it, and the labels are selected from the leaves to the root.
///
/// # Panics
///
/// If the number of labels is not one more than that of nodes and a power of two, or widths differ,
/// or an index has too few bits.
pub fn decision_tree<'b>(
    sample: &Array<Int<'b>>,
    nodes: &[DecisionNode<'b>],
    labels: &Array<UInt<'b>>,
) -> UInt<'b> {
    assert!(
        labels.len() == nodes.len() + 1 && labels.len().is_power_of_two(),
        "the labels of a complete tree of {} nodes",
        nodes.len()
    );
    let mut reached: VecDeque<UInt<'b>> = labels.iter().cloned().collect();
    for node in nodes.iter().rev() {
        let second = sample.lookup(&node.feature).greater_than(&node.threshold);
        // In reverse level order, the nodes meet their subtrees from right to left.
        let (right, left) = (reached.pop_back(), reached.pop_back());
        let (right, left) = (right.expect("a right child"), left.expect("a left child"));
        reached.push_front(second.select(&right, &left));
    }
    reached.pop_back().expect("the root's label")
}

/// Returns the bits of an index into `len` values, at least one.
fn index_bits(len: usize) -> usize {
    (len - 1).max(1).ilog2() as usize + 1
}

/// Returns the promise of an index into `len` values.
fn index_below(len: usize) -> Promise {
    Promise::Within {
        least: 0,
        greatest: len as i64 - 1,
    }
}

pub(super) fn circuit_of_linear_classifier(builder: &Builder, features: usize, bits: usize) {
    let ty = Type::signed(bits).array(features);
    let (sample, weights) = (
        builder.input("sample", ty.clone()),
        builder.input("weights", ty),
    );
    let bias = builder.int("bias", bits);
    builder.output("is_positive", &linear_classifier(&sample, &weights, &bias));
}

pub(super) fn circuit_of_naive_bayes(
    builder: &Builder,
    classes: usize,
    features: usize,
    values: usize,
    bits: usize,
) {
    let value = Type::unsigned(index_bits(values));
    let sample = builder.input("sample", value.array(features));
    builder.promise("sample", index_below(values));
    let logarithm = Type::signed(bits);
    let priors = builder.input("priors", logarithm.clone().array(classes));
    let likelihoods = logarithm.array(values).array(features).array(classes);
    let likelihoods = builder.input("likelihoods", likelihoods);
    builder.output("class", &naive_bayes(&sample, &priors, &likelihoods));
}

pub(super) fn circuit_of_decision_tree(
    builder: &Builder,
    depth: usize,
    features: usize,
    bits: usize,
) {
    let leaves = 1 << depth;
    let sample = builder.input("sample", Type::signed(bits).array(features));
    let index = Type::unsigned(index_bits(features));
    let indices: Array<UInt<'_>> = builder.input("features", index.array(leaves - 1));
    builder.promise("features", index_below(features));
    let thresholds: Array<Int<'_>> =
        builder.input("thresholds", Type::signed(bits).array(leaves - 1));
    let labels = builder.input("labels", Type::unsigned(8).array(leaves));
    let nodes: Vec<DecisionNode<'_>> = indices
        .iter()
        .cloned()
        .zip(thresholds.iter().cloned())
        .map(|(feature, threshold)| DecisionNode { feature, threshold })
        .collect();
    builder.output("label", &decision_tree(&sample, &nodes, &labels));
}
