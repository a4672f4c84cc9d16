"""Ready jobs over DataFrames: programs of the language that come with the package.

A job is made by both parties with the same numbers, says its cost, and runs over a session:

>>> job = tacit.jobs.intersection(rows=1000)
>>> job.cost(security="malicious")
>>> job.run(session, frame, party="left", id="customer", security="malicious")

How many rows a party has stays hidden, but where a job says otherwise: tables are filled up to the
size that both agreed on. What is computed is the program `job.program`, a page that can be read.
"""

from ._auction import Auction, auction
from ._job import Job, Result
from ._models import DecisionTree, Score, Tree, decision_tree, score
from ._noise import Budget, Noise
from ._statistics import (
    Correlation,
    Histogram,
    MeanVariance,
    Quantiles,
    correlation,
    histogram,
    mean_variance,
    quantiles,
)
from ._tables import GroupSums, Intersection, group_sums, intersection

__all__ = [
    "Auction",
    "Budget",
    "Correlation",
    "DecisionTree",
    "GroupSums",
    "Histogram",
    "Intersection",
    "Job",
    "MeanVariance",
    "Noise",
    "Quantiles",
    "Result",
    "Score",
    "Tree",
    "auction",
    "correlation",
    "decision_tree",
    "group_sums",
    "histogram",
    "intersection",
    "mean_variance",
    "quantiles",
    "score",
]
