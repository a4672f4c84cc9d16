"""Jobs that join tables of any length, next to what pandas says of the same dirty tables."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tacit
from tacit.errors import InputError, PeerIncompatible, UsageError
from tacit.jobs import Noise

from conftest import Parties

GROUPS = ["N", "S", "W"]


def dirty(seed: int, rows: int, column: str, values: Any) -> pd.DataFrame:
    """Addresses in mixed case, with spaces, some missing and some twice."""
    chosen = random.Random(seed)
    addresses: list[Any] = []
    for _ in range(rows):
        name = f"Jos\u00e9.{chosen.randrange(2 * rows)}@Example.org"
        spelled = [name, name.upper(), f" {name}\t", name.replace("\u00e9", "e\u0301"), None, " "]
        addresses.append(chosen.choices(spelled, [9, 3, 3, 3, 1, 1])[0])
    cells = [values(chosen) if chosen.random() > 0.03 else None for _ in range(rows)]
    return pd.DataFrame({"email": addresses, column: pd.Series(cells, dtype=object)})


def cleaned(frame: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """What the two flags leave, by pandas."""
    key = frame["email"].str.strip().str.lower().str.normalize("NFC")
    frame = frame.assign(key=key.replace("", None))
    return frame.dropna(subset=["key", *([column] * bool(column))]).drop_duplicates("key")


FLAGS: dict[str, Any] = {"id": "email", "drop_missing": True, "keep": "first"}
LEFT = dirty(1, 3000, "group", lambda chosen: chosen.choice(GROUPS))
RIGHT = dirty(2, 2500, "cents", lambda chosen: chosen.randrange(10**6))


def both(parties: Parties, job: Any, left: Any, right: Any) -> Any:
    """The result of both, who get the same."""
    alice, bob = parties.meet(
        lambda session: job.run(session, left[0], party="left", **left[1]),
        lambda session: job.run(session, right[0], party="right", **right[1]),
    )
    assert dict(alice) == dict(bob)
    assert alice.outcome.protocol == "gmw"
    return alice


def test_an_intersection_is_that_of_pandas(parties: Parties) -> None:
    job = tacit.jobs.intersection(normalize="email")
    right = pl.from_pandas(RIGHT.astype({"cents": "Int64"}))
    found = both(parties, job, (LEFT, FLAGS), (right, {**FLAGS, "amount": "cents"}))
    joined = cleaned(LEFT, None).merge(cleaned(RIGHT, "cents"), on="key")
    assert len(joined) > 100
    assert dict(found) == {"count": len(joined), "total": int(joined["cents"].sum())}


def test_group_sums_are_those_of_pandas(parties: Parties) -> None:
    """With several amounts under an id, and ids of two columns."""
    chosen = np.random.default_rng(3)
    people = pd.DataFrame(
        {"name": [f"n{i % 40}" for i in range(200)], "born": [1950 + i // 40 for i in range(200)]}
    )
    people["region"] = chosen.choice(GROUPS, len(people))
    sales = people.sample(700, replace=True, random_state=4)[["name", "born"]]
    sales["born"] += chosen.choice([0, 0, 0, 50], len(sales))
    sales["cents"] = chosen.integers(0, 1000, len(sales))
    job = tacit.jobs.group_sums(GROUPS, at_least=1)
    ids = ["name", "born"]
    found = both(
        parties,
        job,
        (pa.Table.from_pandas(people), {"id": ids, "group": "region"}),
        (sales, {"id": ids, "amount": "cents"}),
    )
    joined = people.merge(sales, on=ids).groupby("region")["cents"]
    assert found["counts"] == joined.count().to_dict()
    assert found["totals"] == joined.sum().to_dict()


def test_a_correlation_is_that_of_pandas(parties: Parties) -> None:
    left = dirty(5, 2100, "x", lambda chosen: round(chosen.gauss(0, 300), 2))
    right = dirty(6, 2100, "y", lambda chosen: round(chosen.gauss(50, 20), 2))
    job = tacit.jobs.correlation(normalize="email")
    flags = [{**FLAGS, "column": column} for column in "xy"]
    found = both(parties, job, (left, flags[0]), (right, flags[1]))
    joined = cleaned(left, "x").merge(cleaned(right, "y"), on="key")
    x, y = joined["x"].astype(float), joined["y"].astype(float)
    assert found["count"] == len(joined) > 100
    assert found["means"] == pytest.approx((x.mean(), y.mean()))
    assert found["variances"] == pytest.approx((x.var(), y.var()))
    assert found["covariance"] == pytest.approx(x.cov(y))
    assert found["correlation"] == pytest.approx(x.corr(y))


@pytest.mark.parametrize(
    "ids, others",
    [
        ([-5, 2**70, 3, 0], [3, 2**70]),
        ([b"\0", b"a", b"a\0"], [b"a\0", b"b", b"\0"]),
        ([("a", 1, b"x"), ("a", 2, b"x")], [("a", 2, b"x"), ("a", 2, b"")]),
    ],
    ids=["integers", "bytes", "tuples"],
)
def test_ids_of_any_kind_are_joined(parties: Parties, ids: list[Any], others: list[Any]) -> None:
    def columns(ids: list[Any]) -> tuple[dict[str, Any], Any]:
        if not isinstance(ids[0], tuple):
            return {"id": ids}, "id"
        names = ["k0", "k1", "k2"]
        return {name: list(column) for name, column in zip(names, zip(*ids))}, names

    (left, id), (right, _) = columns(ids), columns(others)
    job = tacit.jobs.intersection(at_least=0)
    right["cents"] = [10**n for n in range(len(others))]
    found = both(parties, job, (left, {"id": id}), (right, {"id": id, "amount": "cents"}))
    common = [10**n for n, id in enumerate(others) if id in ids]
    assert dict(found) == {"count": len(common), "total": sum(common)}


def test_a_job_of_too_many_ids_says_what_to_give() -> None:
    groups = tacit.jobs.group_sums([str(n) for n in range(8)])
    for job, ids, words in [
        (groups, (67_000_000, 67_000_000), "more ids than one run .* fewer groups, or split"),
        (tacit.jobs.correlation(), (67_000_000, 67_000_000), "fewer value_bits"),
    ]:
        with pytest.raises(UsageError, match=words):
            job.cost(ids=ids)


def test_tables_of_no_rows_have_nothing_in_common(parties: Parties) -> None:
    none: dict[str, Any] = {"id": [], "cents": []}
    some = {"id": ["a", "b"], "cents": [1, 2]}
    job = tacit.jobs.intersection(at_least=0)
    for left, right in ((none, some), (some, none), (none, none)):
        found = both(parties, job, (left, {"id": "id"}), (right, {"id": "id", "amount": "cents"}))
        assert dict(found) == {"count": 0, "total": 0}


def test_what_is_dirty_is_named_before_anybody_is_met() -> None:
    job = tacit.jobs.intersection(normalize="email")
    frame = {"id": ["A@x", "b@x", " a@X", None, "", "a@x "], "cents": [1, 2, 3, 4, math.nan, 6]}
    named = {"party": "right", "id": "id", "amount": "cents"}
    with pytest.raises(InputError, match=r"^id has no valid value in \[3\], \[4\]; .*drop_"):
        job.check(frame, **named)
    with pytest.raises(InputError, match=r"\[2\] has the key of \[0\], \[5\] has .*keep="):
        job.check(frame, **named, drop_missing=True)
    job.check(frame, **named, drop_missing=True, keep="first")
    with pytest.raises(InputError, match=r"^id has no valid value in \[4\] of cents"):
        job.check({**frame, "id": list("abcdef")}, **named)
    with pytest.raises(InputError, match=r"^cents\[5\] is -6, .*cents"):
        given = {**frame, "cents": [1, 2, 3, 4, 5, -6]}
        job.check({**given, "id": ["a", None, "b", "c", "d", "e"]}, **named, drop_missing=True)
    for wrong, words in [
        ({"keep": "last"}, "keep is 'last'"),
        ({"security": "malicious"}, "give both parties rows="),
    ]:
        with pytest.raises(UsageError, match=words):
            job.check({"id": ["a"], "cents": [1]}, **named, **wrong)
    for ids, words in [
        ([1.0, 2.0], r"^id\[0\] is of the class float, .*astype\('Int64'\)"),
        (["a", 1], r"^id\[1\] is of integers, and earlier ids are of texts"),
        ([2**127], "id"),
    ]:
        with pytest.raises(InputError, match=words):
            tacit.jobs.intersection().check({"id": ids}, party="left", id="id")
    with pytest.raises(InputError, match="columns of 2 and of 1 values"):
        job.check({"id": ["a", "b"], "cents": [1]}, **named)
    with pytest.raises(InputError, match="more in all than amount_bits hold"):
        sums = tacit.jobs.group_sums(GROUPS, amount_bits=8)
        sums.check({"id": ["a", "a"], "cents": [200, 100]}, **named)
    with pytest.raises(UsageError, match="rows and amounts together"):
        tacit.jobs.group_sums(GROUPS, rows=5)
    with pytest.raises(UsageError, match="normalize is 'name'"):
        tacit.jobs.intersection(normalize="name")  # type: ignore[arg-type]


def test_ids_that_are_not_alike_are_told(parties: Parties) -> None:
    def refused(ids: list[Any], party: str, **given: Any) -> Any:
        def run(session: tacit.Session) -> None:
            with pytest.raises(PeerIncompatible, match="this party's ids are .* to be alike"):
                job = tacit.jobs.intersection(**given)
                job.run(session, {"id": ids}, party=party, id="id")

        return run

    parties.meet(refused(["7"], "left"), refused([7], "right"))
    parties.meet(refused(["a"], "left", normalize="email"), refused(["a"], "right"))


def test_rows_hide_how_many_there_are(parties: Parties) -> None:
    job = tacit.jobs.intersection(rows=20_000, at_least=0)
    found = both(parties, job, ({"id": [1, 2, 3]}, {"id": "id"}), ({"id": [2, 9]}, {"id": "id"}))
    assert found["count"] == 1
    with pytest.raises(InputError, match="20000"):
        job.check({"id": range(20_001)}, party="left", id="id")


def test_noise_is_drawn_in_a_join(parties: Parties) -> None:
    job = tacit.jobs.group_sums(["N", "S"], amount_bits=3, noise=Noise("1/50"))
    left = {"id": ["a", "b", "c"], "group": ["N", "S", "S"]}
    right = {"id": ["b", "c", "d"], "cents": [1, 2, 4]}
    named = [{"id": "id", "group": "group"}, {"id": "id", "amount": "cents"}]
    first = both(parties, job, (left, named[0]), (right, named[1]))
    second = both(parties, job, (left, named[0]), (right, named[1]))
    assert dict(first) != dict(second)
    assert first["budget"] == job.budget
    with pytest.raises(InputError, match="in several rows"):
        job.check({"id": ["a", "a"], "cents": [1, 2]}, party="right", **named[1])
