"""Ready jobs over DataFrames, and a party that does not keep to their terms."""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import tacit
from tacit.errors import InputError, PeerIncompatible, PeerMisbehaved, UsageError
from tacit.jobs._of_ids import _number
from tacit.jobs._size import compared

from conftest import Parties

NAMES = ["añn", "bob", "b", "ö", "carol", "dave"]


@pytest.mark.parametrize("ids", [NAMES, [5, 6, 7, 0, 2**40, 9]], ids=["texts", "integers"])
@pytest.mark.parametrize("security", ["semi-honest", "malicious"])
def test_intersection_with_sums(parties: Parties, ids: list[Any], security: str) -> None:
    job = tacit.jobs.intersection(rows=8, id_bits=48, at_least=3)
    left = pd.DataFrame({"id": ids[:4]})
    right = pl.DataFrame({"who": ids[1:], "cents": [1, 20, 300, 4000, 50000], "more": ["x"] * 5})
    alice, bob = parties.meet(
        lambda session: job.run(session, left, party="left", id="id", security=security),
        lambda session: job.run(
            session, right, party="right", id="who", amount="cents", security=security
        ),
    )
    assert dict(alice) == dict(bob) == {"count": 3, "total": 321}
    assert alice.outcome.security == security
    few = left[2:]
    alice, bob = parties.meet(
        lambda session: job.run(session, few, party="left", id="id"),
        lambda session: job.run(session, right, party="right", id="who", amount="cents"),
    )
    assert dict(alice) == dict(bob) == {"count": 2, "total": None}


def test_a_party_that_counts_an_id_twice_is_found(parties: Parties) -> None:
    job = tacit.jobs.intersection(rows=4, id_bits=16, at_least=0)
    frame = pd.DataFrame({"id": [1, 2, 3], "cents": [10, 20, 30]})

    def honest(session: tacit.Session) -> None:
        with pytest.raises(PeerMisbehaved, match="not distinct"):
            job.run(session, frame, party="right", id="id", amount="cents")

    # The same id twice, past the check of the package, as a cheating party's own code gives it.
    parties.meet(lambda session: session.run(job.function, ids={"id": [2, 2, 2, 2]}), honest)


def test_group_sums_of_a_join(parties: Parties) -> None:
    job = tacit.jobs.group_sums(["N", "S", "W"], rows=5, amounts=6, at_least=2)
    people = pd.DataFrame({"id": ["a", "b", "c"], "region": ["S", "N", "S"]})
    sales = pd.DataFrame({"id": ["a", "a", "c", "b", "zz"], "cents": [1, 2, 4, 8, 16]})
    results = parties.meet(
        lambda session: job.run(session, people, party="left", id="id", group="region"),
        lambda session: job.run(session, sales, party="right", id="id", amount="cents"),
    )
    for result in results:
        assert result["counts"] == {"N": None, "S": 3, "W": None}
        assert result["totals"] == {"N": None, "S": 7, "W": None}


def test_twins_on_the_left_of_a_join_are_found(parties: Parties) -> None:
    job = tacit.jobs.group_sums(["N", "S"], rows=2, amounts=2, id_bits=16, at_least=0)
    sales = pd.DataFrame({"id": [1], "cents": [5]})
    twins = [{"id": 2, "group": 0}, {"id": 2, "group": 1}]

    def honest(session: tacit.Session) -> None:
        with pytest.raises(PeerMisbehaved, match="not distinct"):
            job.run(session, sales, party="right", id="id", amount="cents")

    parties.meet(lambda session: session.run(job.function, members=twins), honest)


def test_scores_go_to_the_client(parties: Parties) -> None:
    for logistic, score in [(False, 2.5), (True, 0.921875)]:
        job = tacit.jobs.score(2, logistic=logistic)
        outcome, client = parties.meet(
            lambda session: job.run_model(session, [0.5, -0.25], 3),
            lambda session: job.run_client(session, [1.0, 4.0]),
        )
        assert client == pytest.approx(score, abs=0.02)
        assert dict(outcome) == {}


def test_what_is_wrong_is_found_before_anything_is_sent() -> None:
    job = tacit.jobs.intersection(rows=2, id_bits=16)
    session: Any = None
    for ids, words in [
        ([1, 1], "in several rows"),
        ([1.5], "float"),
        ([True], "bool"),
        ([-1], r"^id\[0\] is -1, and .* integers from 0"),
        ([2**16], "id_bits=24"),
        (["abc"], "id_bits=32"),
        (["longer than sixty-four bits"], "id_bits=64"),
        (["\ud800"], r"^id\[0\] has half of a surrogate pair"),
        ([b"abc"], "bytes"),
        ([None], r"^id has no valid value in \[0\]"),
    ]:
        with pytest.raises(InputError, match=words):
            job.run(session, pd.DataFrame({"id": ids}, dtype=object), party="left", id="id")
    with pytest.raises(InputError, match="no column id='ids'"):
        job.run(session, pd.DataFrame({"id": [1]}), party="left", id="ids")
    few = tacit.jobs.group_sums(["N", "S"], rows=2, amounts=2)
    frame = pd.DataFrame({"id": [1]})
    for table, words in [(frame, "amount is not given"), ("x.csv", "DataFrame")]:
        with pytest.raises(InputError, match=words):
            few.run(session, table, party="right", id="id")
    for amount, words in [
        (12.5, "give cents"),
        (-1, "give cents"),
        (Decimal("0.5"), "give cents"),
        ("12", "a column of numbers"),
        (True, "a column of numbers"),
        (np.True_, "a column of numbers"),
        (math.inf, "a column of numbers"),
        (Decimal("sNaN"), "a column of numbers"),
        (2**32, "amount_bits"),
        (Decimal("1e999999999"), "a column of numbers"),
    ]:
        bought = {"id": [1], "spent": [amount]}
        with pytest.raises(InputError, match=rf"spent\[0\] is .*{words}"):
            job.run(session, bought, party="right", id="id", amount="spent")
    with pytest.raises(UsageError, match="a list of the groups"):
        tacit.jobs.group_sums("North")
    with pytest.raises(InputError, match="tacit.Identity.open"):
        tacit.connect("127.0.0.1:1", identity="nobody.key", peer="tacit:")
    with pytest.raises(UsageError, match="'left' or 'right'"):
        job.run(session, pd.DataFrame({"id": [1]}), party="alice", id="id")
    with pytest.raises(InputError, match="none of"):
        groups = tacit.jobs.group_sums(["N", "S"], rows=2, amounts=2)
        frame = pd.DataFrame({"id": [1], "g": ["W"]})
        groups.run(session, frame, party="left", id="id", group="g")


def test_a_table_is_checked_before_anybody_is_met() -> None:
    job = tacit.jobs.intersection(rows=2, id_bits=16)
    job.check(pd.DataFrame({"id": [1, 2]}), party="left", id="id")
    job.check(pd.DataFrame({"id": [1], "cents": [5]}), party="right", id="id", amount="cents")
    for frame, words in [
        ({"id": [1, 1]}, "in several rows"),
        ({"idd": [1]}, "no column id='id'; it has idd; did you mean 'idd'"),
        ({"id": [1, 2, 3]}, "a list of 3"),
    ]:
        with pytest.raises(InputError, match=words):
            job.check(pd.DataFrame(frame), party="left", id="id")
    tacit.jobs.auction(1).check([9], party="left")
    with pytest.raises(UsageError, match="run_model"):
        tacit.jobs.score(2).check([1.0, 2.0])


LIMITED: list[tuple[Callable[[int], Any], str]] = [
    (lambda rows: tacit.jobs.quantiles(rows=rows), "26,273 rows of 32 value_bits with 3 percents"),
    (lambda rows: tacit.jobs.histogram(range(256), rows), "15,887 rows of 32 value_bits with 256"),
]
"""Jobs with the usual widths, and how many rows they take."""


def test_a_job_that_is_too_large_is_refused_before_it_is_made() -> None:
    begun = time.monotonic()
    for job, most in LIMITED:
        with pytest.raises(InputError, match=f"the job takes at most {most}.*65,536 are asked for"):
            job(65_536)
    assert time.monotonic() - begun < 5


JOINED: list[tuple[Callable[[int], Any], int]] = [
    (lambda rows: tacit.jobs.intersection(rows), 10_475),
    (lambda rows: tacit.jobs.group_sums("N S E W".split(), rows, rows), 8_618),
    (lambda rows: tacit.jobs.correlation(rows), 6_927),
]
"""Jobs with the usual widths, and the most rows that they merge."""


def test_more_rows_than_a_job_merges_are_joined() -> None:
    for job, most in JOINED:
        merged, joined = job(most), job(most + 1)
        assert "sorted by id" in merged.program and "join" not in merged._params
        assert joined._params["N"] == joined._params["M"] == most + 1


def test_as_many_pairs_are_compared_as_a_merge_compares() -> None:
    for rows, others in [(1, 1), (4, 4), (5, 5), (3, 9), (16, 7), (33, 31)]:
        merge = f"""
        parties alice, bob;
        use std::order::merge_by;
        main(x: [u8; {rows}] of alice sorted, y: [u8; {others}] of bob sorted)
            -> (all: [u8; {rows + others}] to both) {{ merge_by(x, y, |v| v) }}
        """
        # A comparison and two selections.
        gates = tacit.function(merge).and_gates
        assert gates == 16 * compared(rows, others)


@pytest.mark.parametrize("noise", [None, tacit.jobs.Noise(epsilon=0.01)])
def test_a_histogram_at_its_limit_is_within_that_of_programs(noise: tacit.jobs.Noise | None) -> None:
    for edges, most in [(1, 65_536), (62, 65_536), (63, 64_558), (200, 20_336), (256, 15_887)]:
        # A program is refused here where it takes more steps than it may.
        tacit.jobs.histogram(range(edges), most, noise=noise)
        if most < 65_536:
            with pytest.raises(InputError, match=f"at most {most:,} rows"):
                tacit.jobs.histogram(range(edges), most + 1, noise=noise)


@pytest.mark.skipif("TACIT_LONG" not in os.environ, reason="takes minutes")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", range(len(LIMITED) + len(JOINED)))
def test_a_job_takes_as_many_rows_as_it_says(number: int) -> None:
    limited = [(job, int(most.split()[0].replace(",", ""))) for job, most in LIMITED]
    job, most = [*limited, *JOINED][number]
    assert job(most).function.and_gates > 0


def test_a_column_is_longer_than_an_integer_has_bits() -> None:
    values = {"x": [float(value) for value in range(5000)]}
    histogram = tacit.jobs.histogram([100, 4999], rows=5000, at_least=0)
    column = histogram._values(values, "x")
    counts = histogram.function.eval(a=column, b=[column[0]])
    assert counts.tolist() == [101, 4899, 1]
    quantiles = tacit.jobs.quantiles([0, 50, 100], rows=5000, at_least=1)
    rows = [{"missing": False, "value": value} for value in column]
    found = quantiles.function.eval(a=rows, b=rows)
    assert found["count"] == 10_000 and found["values"].tolist() == [0, 249_900, 499_900]


def test_a_job_has_as_many_percents_as_there_are() -> None:
    assert tacit.jobs.quantiles(range(1, 100)).function.and_gates > 0


def test_an_id_is_a_number_of_its_own() -> None:
    ids = ["", "a", "a\0", "\0a", "\0", "aa", "é", "b"]
    numbers = ids_of(ids, 64)
    assert len(set(numbers)) == len(ids) and 0 not in numbers


def ids_of(ids: Any, bits: int) -> list[int]:
    return [_number("id", id, bits) for id in ids]


def test_a_long_text_is_an_id_by_its_digest() -> None:
    """The rule depends on the id and the job's `id_bits` alone, and no two kinds of id meet."""
    texts = ["", "a", "sevenby", "eight by", "a@example.com", "b@example.com", "é" * 1000]
    for bits in (64, 66, 72, 74, 256, 300, 1024):
        numbers = ids_of(texts, bits)
        assert len(set(numbers)) == len(texts)
        assert all(number % 2 == 1 and 1 < number < 2**bits for number in numbers)
        literal = [2 * int.from_bytes(b"\1" + text.encode(), "big") + 1 for text in texts]
        for text, number, whole in zip(texts, numbers, literal):
            is_literal = 8 * len(text.encode()) + 2 < bits
            assert (number == whole) == is_literal
            # A digest has the first bit, which no other id has.
            assert (number >> (bits - 1) == 1) == (not is_literal)
        assert [ids_of([text], bits)[0] for text in texts] == numbers
    digest = sha256(b"tacit id v1\0a@example.com").digest()
    expected = 1 << 63 | int.from_bytes(digest[:8], "big") >> 2 << 1 | 1
    assert ids_of(["a@example.com"], 64) == [expected]


def test_parties_meet_by_long_texts(parties: Parties) -> None:
    job = tacit.jobs.intersection(rows=3, at_least=0)
    left = {"id": ["ann@example.com", "short", "ben@example.com"]}
    right = {"id": ["ben@example.com", "short", "cem@example.com"], "cents": [1, 20, 300]}
    for result in parties.meet(
        lambda session: job.run(session, left, party="left", id="id"),
        lambda session: job.run(session, right, party="right", id="id", amount="cents"),
    ):
        assert dict(result) == {"count": 2, "total": 21}


def test_numbers_of_numpy_are_numbers_wherever_they_are() -> None:
    job = tacit.jobs.intersection(rows=2, id_bits=16)
    numbers = [np.int64(5), np.uint8(6)]
    for frame in (
        {"id": numbers, "cents": numbers},
        pd.DataFrame({"id": numbers, "cents": numbers}, dtype=object),
        {"id": tuple(numbers), "cents": np.array(numbers, dtype=object)},
    ):
        cleaned = job._cleaned(
            frame, "id", {"amount": "cents"}, distinct=True, drop_missing=False, keep=None
        )
        assert cleaned.ids == [12, 14]
        assert job._amounts(cleaned.values["amount"], "cents") == [5, 6]
        job.check(frame, party="right", id="id", amount="cents")
    # As numbers of 8 bits these would wrap.
    means = tacit.jobs.mean_variance(rows=2, decimals=2)
    assert means._values({"x": [np.int8(100), np.float32(1.5)]}, "x") == [10_000, 150]
    tacit.jobs.auction(2).check([np.int64(9), 8], party="left")
    tacit.jobs.score(2).function.eval(np.array([1, 2]), np.float32(1), [np.int64(1), 2])


def test_true_and_false_are_no_numbers() -> None:
    session: Any = None
    for given in (True, np.False_):
        frame = {"id": [1], "x": [given]}
        for job, more in [
            (tacit.jobs.mean_variance(rows=2), {}),
            (tacit.jobs.histogram([0, 1], rows=2), {}),
            (tacit.jobs.quantiles(rows=2), {}),
            (tacit.jobs.correlation(rows=2), {"id": "id"}),
        ]:
            with pytest.raises(InputError, match=r"x\[0\] is .*(True|False).*; give 1 or 0"):
                job.check(frame, party="left", column="x", **more)
        with pytest.raises(InputError, match="reads feature"):
            tree: Any = (given, 1.0, 0.0, 1.0)
            tacit.jobs.decision_tree(1, 2).run_model(session, tree)


def test_rows_of_one_id_are_named() -> None:
    intersection = tacit.jobs.intersection(rows=8)
    groups = tacit.jobs.group_sums(["N", "S"], rows=8, amounts=8)
    correlation = tacit.jobs.correlation(rows=8)
    frame = {"id": ["a", "b", "a", "c", "b", "a"], "g": ["N"] * 6, "x": [1] * 6}
    words = r"^id has a key in several rows: \[2\] has the key of \[0\], \[4\] has .* \[1\], \[5\]"
    for job, more in [
        (intersection, {"party": "left"}),
        (intersection, {"party": "right", "amount": "x"}),
        (groups, {"party": "left", "group": "g"}),
        (correlation, {"party": "left", "column": "x"}),
        (correlation, {"party": "right", "column": "x"}),
    ]:
        with pytest.raises(InputError, match=words):
            job.check(frame, id="id", **more)
    groups.check(frame, party="right", id="id", amount="x")


def test_what_a_job_is_made_of_is_checked() -> None:
    nan, inf = math.nan, math.inf
    edges: Any
    percents: Any
    huge = [Decimal("1e999999")]
    for edges in ([nan], [0, inf], ["1"], [None], [0, nan, 1], "01", [1e300], huge, [True]):
        with pytest.raises(UsageError, match="edges"):
            tacit.jobs.histogram(edges)
    for percents in ([nan], [inf], ["5"], [2.5], [101], [None], [True], 50):
        with pytest.raises(UsageError, match="percents"):
            tacit.jobs.quantiles(percents)
    with pytest.raises(InputError, match=r"bids\[0\] is True"):
        tacit.jobs.auction(1).check([True], party="left")
    session: Any = None
    with pytest.raises(InputError, match="^bids is of the class count"):
        tacit.jobs.auction(1).check(itertools.count(), party="left")
    with pytest.raises(InputError, match="^weights is of the class repeat"):
        tacit.jobs.score(2).run_model(session, itertools.repeat(1.0), 1.0)
    with pytest.raises(InputError, match="a decision of 2 parts"):
        tree: Any = (0, 1.0)
        tacit.jobs.decision_tree(1, 2).run_model(session, tree)
    with pytest.raises(InputError, match="the column 'x' is of the class count"):
        tacit.jobs.mean_variance(rows=2).check({"x": itertools.count()}, party="left", column="x")
    with pytest.raises(InputError, match="surrogate"):
        tacit.function("/// \ud800\nparties a, b; main(x: u8 of a) -> (y: u8 to b) { x }")


def test_each_job_says_its_cost() -> None:
    for job in (
        tacit.jobs.intersection(rows=16),
        tacit.jobs.group_sums(["a", "b"], rows=4, amounts=4),
        tacit.jobs.score(3),
        tacit.jobs.mean_variance(rows=4),
        tacit.jobs.histogram([0, 1], rows=4),
        tacit.jobs.quantiles(rows=4),
        tacit.jobs.correlation(rows=4),
        tacit.jobs.auction(2),
        tacit.jobs.decision_tree(2, 3),
    ):
        assert {row["protocol"] for row in job.cost()} == {"direct", "prepared"}
        assert "parties" in job.program


def test_parties_who_read_results_in_other_ways_do_not_run_together(parties: Parties) -> None:
    def means(decimals: int, party: str) -> Any:
        job = tacit.jobs.mean_variance(rows=2, decimals=decimals)
        frame = pd.DataFrame({"x": [1.0]})
        return lambda session: job.run(session, frame, party=party, column="x")

    def groups(names: list[str], party: str) -> Any:
        job = tacit.jobs.group_sums(names, rows=2, amounts=2)
        frame = pd.DataFrame({"id": [1], "region": ["N"], "cents": [1]})
        columns: dict[str, Any] = {"id": "id", "group": "region", "amount": "cents"}
        return lambda session: job.run(session, frame, party=party, **columns)

    def refused(run: Any, param: str) -> Any:
        def party(session: tacit.Session) -> None:
            with pytest.raises(PeerIncompatible, match=param):
                run(session)

        return party

    for left, right, param in [
        (means(2, "left"), means(3, "right"), "DECIMALS"),
        (groups(["N", "S"], "left"), groups(["S", "N"], "right"), "GROUP_NAMES"),
    ]:
        parties.meet(refused(left, param), refused(right, param))
    with pytest.raises(UsageError, match="more than once"):
        tacit.jobs.group_sums(["N", "N"])
    for names in (["N"], [str(number) for number in range(257)]):
        with pytest.raises(UsageError, match=f"groups has {len(names)} of 2 to 256 names"):
            tacit.jobs.group_sums(names)


def test_no_text_is_an_integer(parties: Parties) -> None:
    job = tacit.jobs.intersection(rows=1, at_least=0)
    texts, numbers = [
        pd.DataFrame({"id": ids, "cents": [1]}) for ids in (["7"], [0x137 - 1])
    ]
    for result in parties.meet(
        lambda session: job.run(session, texts, party="left", id="id"),
        lambda session: job.run(session, numbers, party="right", id="id", amount="cents"),
    ):
        assert result["count"] == 0
