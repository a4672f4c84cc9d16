"""Jobs in which one party has a model and the other a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Union

import numpy as np

from .._session import Outcome, Session
from ..errors import InputError
from ._job import Job, listed


class Score(Job):
    """The score of a client's row under a linear or logistic model; the client alone learns it."""

    def run_model(
        self, session: Session, /, weights: Iterable[float], bias: float, **options: Any
    ) -> Outcome:
        """The owner of the model, who learns nothing."""
        inputs = {"weights": listed(weights, "weights"), "bias": bias}
        return session.run(self.function, inputs, **options)

    def run_client(self, session: Session, /, row: Iterable[float], **options: Any) -> float:
        """The client, who learns the score. Numbers are rounded to the nearest 2^-16."""
        score: float = session.run(self.function, {"row": listed(row, "row")}, **options)["score"]
        return score


Tree = Union[float, "tuple[int, float, Tree, Tree]"]
"""A leaf's number, or `(feature, threshold, below, above)`; see `DecisionTree.run_model`."""


class DecisionTree(Job):
    """The leaf of a decision tree that a client's row reaches; the client alone learns it."""

    def run_model(self, session: Session, /, tree: Tree, **options: Any) -> Outcome:
        """The owner of the tree, who learns nothing. A tree is the number of its leaf, or
        `(feature, threshold, below, above)`: rows go to `above` where the feature is greater."""
        depth = self._params["DEPTH"]
        level: list[Tree] = [tree]
        nodes = []
        for _ in range(depth):
            split = [_split(tree, self._params["FEATURES"]) for tree in level]
            nodes += [{"feature": feature, "threshold": at} for feature, at, _, _ in split]
            level = [side for node in split for side in node[2:]]
        if any(isinstance(tree, tuple) for tree in level):
            raise InputError(f"the tree is deeper than {depth}; give both parties a greater depth")
        inputs = {"nodes": nodes, "leaves": level}
        return session.run(self.function, inputs, **options)

    def run_client(self, session: Session, /, row: Iterable[float], **options: Any) -> float:
        """The client, who learns the leaf's number. Numbers are rounded to the nearest 2^-16."""
        leaf: float = session.run(self.function, {"row": listed(row, "row")}, **options)["leaf"]
        return leaf


def score(features: int, *, logistic: bool = True) -> Score:
    """The score of a row of `features` numbers under a logistic model, or a linear one.

    Numbers are fixed point with 16 bits before the point, the sign among them, and 16 behind it. A
    logistic score is off by at most 0.019 and what is rounded.
    """
    return Score("score", {"FEATURES": features, "LOGISTIC": int(logistic)})


def decision_tree(depth: int, features: int) -> DecisionTree:
    """The leaf that a row of `features` numbers reaches in a tree of at most `depth` decisions.

    Thresholds, features and leaves are fixed point with 16 bits before the point, the sign among
    them, and 16 behind it. The depth is known to both; which nodes a tree really has is not.
    """
    return DecisionTree("tree", {"DEPTH": depth, "FEATURES": features})


def _split(tree: Tree, features: int) -> tuple[int, float, Tree, Tree]:
    """The tree as a decision; a leaf is one of which both sides are that leaf."""
    if not isinstance(tree, tuple):
        return 0, 0.0, tree, tree
    if len(tree) != 4:
        raise InputError(
            f"the tree has a decision of {len(tree)} parts; give (feature, threshold, below, above)"
        )
    is_whole = isinstance(tree[0], (int, np.integer)) and not isinstance(tree[0], bool)
    if not (is_whole and 0 <= tree[0] < features):
        raise InputError(f"the tree reads feature {tree[0]!r}; rows have 0 to {features - 1}")
    return tree
