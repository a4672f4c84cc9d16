"""Differential privacy of jobs: what noise is drawn, how far one person moves a result, and what is
said of it. That bits of one party alone do not decide is tested where they are XORed, in
`crates/language/src/border/tests.rs`."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
import tacit
from tacit.errors import InputError, PeerIncompatible, PeerMisbehaved, UsageError
from tacit.jobs import Budget, Noise
from tacit.jobs._noise import statistical_distance, thresholds

from conftest import Parties

DRAW = "random::<[[u64; NOISE_BITS]; 2]>()"


def exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on e^x, by its series: past n = 2x the terms at least halve."""
    term, total, n = Fraction(1), Fraction(1), 0
    while n <= 2 * x or term > Fraction(1, 2**100):
        n += 1
        term = term * x / n
        total += term
    return total, total + term


@pytest.mark.parametrize(
    "rate", [Fraction(1, 2), Fraction(10), Fraction(7, 9), Fraction(1, 3 * 2**31)], ids=str
)
def test_thresholds_are_the_formula_rounded_down(rate: Fraction) -> None:
    found = thresholds(rate)
    for bit, threshold in enumerate(found):
        least, most = exponential(rate * 2**bit)
        assert least <= most < least * (1 + Fraction(1, 2**90))
        assert threshold * (1 + most) <= 2**64 < (threshold + 1) * (1 + least)
    # What is cut off, and what is rounded, of both numbers.
    assert exponential(rate * 2 ** len(found))[0] > 2**64
    assert statistical_distance(len(found)) == Fraction(2 * len(found) + 2, 2**64)


def drawn(epsilon: str, runs: int) -> Counter[int]:
    """Noise on the counts of an empty histogram, run in the clear."""
    job = tacit.jobs.histogram(range(256), rows=1, noise=Noise(epsilon))
    found: Counter[int] = Counter()
    for seed in range(runs):
        found.update(int(count) for count in job.function.eval([], [], seed=seed))
    return found


def chi_square(found: Counter[int], rate: float) -> float:
    """Of the numbers -9 to 9, and of those on either side, 21 cells in all."""
    q = math.exp(-rate)
    cells = {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-9, 10)}
    tail = q**10 / (1 + q)
    count = sum(found.values())
    seen = [(found[x], chance) for x, chance in cells.items()]
    seen += [(sum(n for x, n in found.items() if x * side > 9), tail) for side in (-1, 1)]
    return sum((n - count * chance) ** 2 / (count * chance) for n, chance in seen)


def test_noise_has_the_distribution_of_its_epsilon() -> None:
    found = drawn("1/2", 40)
    assert sum(found.values()) == 40 * 257
    # Of 20 degrees of freedom 63 is passed once in two million times.
    assert chi_square(found, 0.5) < 63
    assert chi_square(found, 0.55) > 63 and chi_square(found, 0.45) > 63


def test_the_greatest_noise_does_not_wrap() -> None:
    """Draws of zeros set all bits of a number, draws of ones none."""
    bits = thresholds(Fraction(1, 2))
    job = tacit.jobs.histogram([0], rows=3, value_bits=8, noise=Noise("1/2"))
    text = job.program.replace(DRAW, "drawn")
    a = "a: Column of left"
    text = text.replace(a, f"{a}, drawn: [[u64; NOISE_BITS]; 2] of left")
    for noise in (bits, bits[:1], [2**63] * 60):
        params: dict[str, Any] = {**job._params, "COUNTS_NOISE": len(noise)}
        public = {"edges": [0], "counts_noise": noise}
        program = tacit.function(text, public=public, **params)
        zeros, ones = [0] * len(noise), [2**64 - 1] * len(noise)
        most = 2 ** len(noise) - 1
        for rows, count in (([], 0), ([1, 1, 1], 6)):
            for draws, move in (([zeros, ones], most), ([ones, zeros], -most), ([ones, ones], 0)):
                counts = program.eval(a=rows, b=rows, drawn=draws)
                assert [int(n) for n in counts] == [move, count + move]


def without_draws(job: Any, **public: Any) -> tacit.Function:
    """The program of a job with noise, of which all thresholds are 0, so that none is added."""
    noise = {name.lower(): 1 for name in job._params if name.endswith("_NOISE")}
    params = {**job._params, **{name.upper(): 1 for name in noise}}
    return tacit.function(job.program, public={**public, **{n: [0] for n in noise}}, **params)


def test_one_row_moves_one_count_of_a_histogram_by_one() -> None:
    job = tacit.jobs.histogram([-1, 2], rows=4, decimals=0, value_bits=4, noise=Noise(1))
    program = without_draws(job, edges=[-1, 2])
    chosen = random.Random(1)
    for _ in range(50):
        a, b = ([chosen.randrange(-8, 8) for _ in range(chosen.randrange(1, 5))] for _ in "ab")
        move = program.eval(a=a, b=b) - program.eval(a=a[1:], b=b)
        assert sorted(map(int, move)) == [0, 0, 1]


def test_one_id_moves_counts_by_one_and_totals_by_one_amount() -> None:
    shapes: dict[str, Any] = {"rows": 4, "id_bits": 8, "amount_bits": 3, "noise": Noise(1)}
    joined = tacit.jobs.intersection(**shapes)
    grouped = tacit.jobs.group_sums(["N", "S", "W"], amounts=4, **shapes)
    intersection, sums = without_draws(joined), without_draws(grouped)
    chosen = random.Random(2)
    moved = 0
    for _ in range(60):
        left, right = (chosen.sample(range(1, 7), 4) for _ in "ab")
        groups = {id: chosen.randrange(3) for id in range(1, 7)}
        amounts = {id: chosen.randrange(8) for id in range(1, 7)}
        gone = chosen.choice(left + right)

        def results(lefts: list[int], rights: list[int]) -> list[int]:
            rows = [{"id": id, "amount": amounts[id]} for id in rights]
            members = [{"id": id, "group": groups[id]} for id in lefts]
            one = intersection.eval(ids=[{"id": id} for id in lefts], rows=rows)
            many = sums.eval(members=members, amounts=rows)
            assert one["sound"] and many["sound"]
            values = [one["count"], *many["counts"], one["total"], *many["totals"]]
            return [int(value) for value in values]

        before = results(left, right)
        for sides in ((True, False), (False, True), (True, True)):
            lefts = [id for id in left if not (sides[0] and id == gone)]
            rights = [id for id in right if not (sides[1] and id == gone)]
            moves = [abs(a - b) for a, b in zip(before, results(lefts, rights))]
            assert moves[0] <= 1 and sum(moves[1:4]) <= 1
            assert moves[4] <= 7 and sum(moves[5:]) <= 7
            moved += moves[0]
    assert moved > 20


def test_both_learn_one_noised_result_and_its_budget(parties: Parties) -> None:
    left = pd.DataFrame({"id": [1, 2, 3], "group": ["N", "S", "S"]})
    right = pd.DataFrame({"id": [2, 3, 4], "cents": [1, 2, 4]})
    sizes: dict[str, Any] = {"rows": 4, "id_bits": 8, "amount_bits": 3, "noise": Noise("1/50")}
    joined = tacit.jobs.intersection(**sizes)
    grouped = tacit.jobs.group_sums(["N", "S"], amounts=4, **sizes)
    person = "one id, in one table or in both"
    for security in ("semi-honest", "malicious"):

        def run(session: tacit.Session, side: str) -> list[Any]:
            group: dict[str, Any] = {"group": "group"} if side == "left" else {}
            amount: dict[str, Any] = {"amount": "cents"} if side == "right" else {}
            frame = left if side == "left" else right
            options: dict[str, Any] = {"party": side, "id": "id", "security": security}
            first, second = (joined.run(session, frame, **amount, **options) for _ in range(2))
            sums = grouped.run(session, frame, **amount, **group, **options)
            return [first, second, sums]

        alice, bob = parties.meet(lambda s: run(s, "left"), lambda s: run(s, "right"))
        assert [dict(result) for result in alice] == [dict(result) for result in bob]
        assert dict(alice[0]) != dict(alice[1])
        for result, names in zip(alice, (["count", "total"],) * 2 + (["counts", "totals"],)):
            budget = result["budget"]
            assert isinstance(budget, Budget) and "Budget(epsilon=0.02, delta=" in repr(result)
            assert budget.epsilon == 0.02 and 0 < budget.delta < 2**-50
            assert budget.person == person and list(budget.deviation) == names
            # Two results at half of epsilon each: the second's amounts are 7 at most.
            assert list(budget.deviation.values()) == pytest.approx([141.4, 989.9], rel=1e-3)
        assert alice[2]["counts"].keys() == {"N", "S"} and None not in alice[2]["totals"].values()
    assert joined.budget == alice[0]["budget"]
    assert tacit.jobs.intersection(rows=4).budget is None


def test_parties_with_unlike_noise_do_not_run(parties: Parties) -> None:
    frame = pd.DataFrame({"x": [1.0]})

    def refused(session: tacit.Session, side: str, noise: Noise | None) -> None:
        job = tacit.jobs.histogram([0], rows=2, at_least=0, noise=noise)
        with pytest.raises(PeerIncompatible):
            job.run(session, frame, party=side, column="x")

    for other in (Noise("1/2"), None):
        parties.meet(
            lambda session: refused(session, "left", Noise("1/3")),
            lambda session: refused(session, "right", other),
        )


def test_an_id_with_many_amounts_is_found_under_noise(parties: Parties) -> None:
    """It would move a count by more than the noise hides."""
    sizes: dict[str, Any] = {"rows": 2, "amounts": 2, "id_bits": 16, "noise": Noise(1)}
    job = tacit.jobs.group_sums(["N", "S"], **sizes)
    people = pd.DataFrame({"id": [1], "region": ["N"]})
    twins = [{"id": 2, "amount": 5}, {"id": 2, "amount": 6}]

    def honest(session: tacit.Session) -> None:
        with pytest.raises(PeerMisbehaved, match="not distinct"):
            job.run(session, people, party="left", id="id", group="region")

    parties.meet(honest, lambda session: session.run(job.function, amounts=twins))
    session: Any = None
    frame = pd.DataFrame({"id": [1, 1], "cents": [5, 6]})
    with pytest.raises(InputError, match="in several rows"):
        job.run(session, frame, party="right", id="id", amount="cents")


def test_what_is_wrong_with_noise_is_told() -> None:
    wrong: list[Any] = [0, -1, 10.5, float("nan"), float("inf"), "x", "1/0", None, True]
    for epsilon in wrong:
        with pytest.raises(UsageError, match="from 0.000001 to 10"):
            Noise(epsilon)
    with pytest.raises(UsageError, match="leave at_least out"):
        tacit.jobs.intersection(rows=2, at_least=5, noise=Noise(1))
    assert Noise(0.1)._exactly() == Noise("1/10")._exactly() == Fraction(1, 10)
