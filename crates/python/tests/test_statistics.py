"""Jobs over columns of numbers, next to what pandas says of the same rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import tacit
from tacit.errors import InputError, PeerMisbehaved, UsageError

from conftest import Parties

LEFT = pd.DataFrame({"id": [1, 2, 3, 4], "x": [1.5, -2.25, 100, 7.01]})
RIGHT = pd.DataFrame({"id": [4, 2, 9, 1], "y": [3.0, -1.0, 55.5, 2.25]})


def both(parties: Parties, job: Any, **options: Any) -> tuple[Any, Any]:
    return parties.meet(
        lambda session: job.run(session, LEFT, party="left", column="x", **options),
        lambda session: job.run(session, RIGHT, party="right", column="y", **options),
    )


def test_mean_and_variance_are_those_of_pandas(parties: Parties) -> None:
    joined = pd.concat([LEFT["x"], RIGHT["y"]])
    for security in ("semi-honest", "malicious"):
        job = tacit.jobs.mean_variance(rows=5, value_bits=16, at_least=4)
        for result in both(parties, job, security=security):
            assert result["count"] == 8
            assert result["mean"] == pytest.approx(joined.mean())
            assert result["variance"] == pytest.approx(joined.var())
    few = tacit.jobs.mean_variance(rows=5, value_bits=16, at_least=5)
    for result in both(parties, few):
        assert dict(result) == {"count": None, "mean": None, "variance": None}


def test_a_correlation_is_that_of_pandas(parties: Parties) -> None:
    job = tacit.jobs.correlation(rows=5, id_bits=8, value_bits=16, at_least=3)
    joined = LEFT.merge(RIGHT, on="id")
    for result in both(parties, job, id="id"):
        assert result["count"] == 3
        assert result["means"] == pytest.approx((joined["x"].mean(), joined["y"].mean()))
        assert result["variances"] == pytest.approx((joined["x"].var(), joined["y"].var()))
        assert result["covariance"] == pytest.approx(joined["x"].cov(joined["y"]))
        assert result["correlation"] == pytest.approx(joined["x"].corr(joined["y"]))


def test_ids_that_stand_twice_are_found_by_a_correlation(parties: Parties) -> None:
    job = tacit.jobs.correlation(rows=4, id_bits=8, value_bits=16, at_least=0)
    twins = [{"id": 2, "value": 5}] * 4

    def honest(session: tacit.Session) -> None:
        with pytest.raises(PeerMisbehaved, match="not distinct"):
            job.run(session, RIGHT, party="right", id="id", column="y")

    parties.meet(lambda session: session.run(job.function, a=twins), honest)


def test_a_histogram_counts_what_lies_between_edges(parties: Parties) -> None:
    job = tacit.jobs.histogram([-1, 2.25, 50], rows=5, value_bits=16, at_least=0)
    for result in both(parties, job):
        assert result["counts"] == [1, 2, 3, 2]
    hidden = tacit.jobs.histogram([-1, 2.25, 50], rows=5, value_bits=16, at_least=1)
    for result in both(parties, hidden):
        assert result["counts"] == [None, 2, 3, 2]


def test_quantiles_are_values_in_order(parties: Parties) -> None:
    joined = pd.concat([LEFT["x"], RIGHT["y"]])
    job = tacit.jobs.quantiles([0, 25, 50, 75, 100], rows=6, value_bits=16, at_least=4)
    for result in both(parties, job):
        assert result["count"] == 8
        for percent, value in result["quantiles"].items():
            assert value == joined.quantile(percent / 100, interpolation="lower")


def test_values_out_of_order_are_found_by_quantiles(parties: Parties) -> None:
    job = tacit.jobs.quantiles([50], rows=4, value_bits=16, at_least=1)
    rows = [{"missing": False, "value": value} for value in (3, 2, 1, 0)]

    def honest(session: tacit.Session) -> None:
        with pytest.raises(PeerMisbehaved, match="not in their order"):
            job.run(session, RIGHT, party="right", column="y")

    parties.meet(lambda session: session.run(job.function, a=rows), honest)


def test_an_auction_is_at_the_second_price(parties: Parties) -> None:
    job = tacit.jobs.auction(lots=3, bid_bits=8)
    results = parties.meet(
        lambda session: job.run(session, [70, 0, 9], party="left", security="malicious"),
        lambda session: job.run(session, [60, 0, 10], party="right", security="malicious"),
    )
    for result in results:
        assert [(lot["winner"], lot["price"]) for lot in result["sold"]] == [
            ("Left", 60),
            ("Nobody", 0),
            ("Right", 9),
        ]


def test_a_tree_gives_the_client_its_leaf(parties: Parties) -> None:
    tree = (1, 0.5, (0, -1.0, 1.0, 2.0), 3.0)
    job = tacit.jobs.decision_tree(3, 2)
    for row, leaf in [([-1, 0.5], 1.0), ([0, 0.5], 2.0), ([0, 0.75], 3.0)]:
        outcome, client = parties.meet(
            lambda session: job.run_model(session, tree),
            lambda session: job.run_client(session, row),
        )
        assert client == leaf and dict(outcome) == {}
    session: Any = None
    with pytest.raises(InputError, match="greater depth"):
        tacit.jobs.decision_tree(1, 2).run_model(session, tree)
    with pytest.raises(InputError, match="feature 2"):
        job.run_model(session, (2, 0.0, 1.0, 2.0))


def test_what_is_wrong_is_found_before_anything_is_sent() -> None:
    job = tacit.jobs.mean_variance(rows=2, value_bits=8)
    session: Any = None
    for values, words in [
        ([1.28], "beyond 8 bits"),
        ([-1.29], "beyond 8 bits"),
        ([float("nan")], r"^x\[0\] is missing"),
        ([None], r"^x\[0\] is missing"),
        (["1"], "is not a number"),
        ([1, 1, 1], "takes 2"),
    ]:
        frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
        with pytest.raises(InputError, match=words):
            job.run(session, frame, party="left", column="x")
    with pytest.raises(UsageError, match="ascending"):
        tacit.jobs.histogram([2, 1])
    for edges in ([], list(range(257))):
        with pytest.raises(UsageError, match=f"edges has {len(edges)} numbers"):
            tacit.jobs.histogram(edges)
    with pytest.raises(UsageError, match="from 0 to 100"):
        tacit.jobs.quantiles([101])
    for percents in ([], [50] * 100):
        with pytest.raises(UsageError, match=f"percents has {len(percents)} numbers"):
            tacit.jobs.quantiles(percents)
    with pytest.raises(InputError, match="not a whole number"):
        tacit.jobs.auction(1).run(session, [9.99], party="left")  # type: ignore[list-item]


def test_rows_of_one_party_alone_show_nothing(parties: Parties) -> None:
    """A party that fills the bound up with rows of its own would read the other's few."""
    many = pd.DataFrame({"x": [0.0] * 5})
    few = pd.DataFrame({"x": [7.7]})
    sizes: dict[str, Any] = {"rows": 5, "value_bits": 16, "at_least": 2}
    jobs: list[tuple[Any, str]] = [
        (tacit.jobs.mean_variance(**sizes), "mean"),
        (tacit.jobs.quantiles([100], **sizes), "count"),
    ]
    for job, shown in jobs:
        for result in parties.meet(
            lambda session: job.run(session, many, party="left", column="x"),
            lambda session: job.run(session, few, party="right", column="x"),
        ):
            assert result[shown] is None
    histogram = tacit.jobs.histogram([5], **sizes)
    for result in parties.meet(
        lambda session: histogram.run(session, many, party="left", column="x"),
        lambda session: histogram.run(session, few, party="right", column="x"),
    ):
        assert result["counts"] == [None, None]
