"""Differential privacy: noise that both parties draw inside the circuit, and its budget.

The noise on a result is two-sided geometric, that is discrete Laplace: x has probability in
proportion to exp(-rate |x|), with rate = epsilon / sensitivity (Ghosh, Roughgarden and Sundararajan
2009). It is the difference of two geometric numbers, whose bits are independent (Dwork, Kenthapadi,
McSherry, Mironov and Naor, "Our Data, Ourselves", 2006, section 5): bit i is 1 with probability
1 / (1 + exp(rate 2^i)). The circuit compares 64 random bits with that probability as an integer, so
nothing that is drawn is in floating point, of which Mironov ("On significance of the least
significant bits for differential privacy", 2012) shows that it may give the exact result away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import NamedTuple

from ..errors import UsageError

LEAST, MOST = Fraction(1, 10**6), 10


@dataclass(frozen=True)
class Noise:
    """Noise that makes all results of a run together `epsilon`-differentially private.

    `epsilon` is from 0.000001 to 10, and 0.1 means one tenth, as does "1/10". Half as much makes
    the noise twice as large. Both parties give the same, or the job does not run.
    """

    epsilon: float | str | Decimal | Fraction

    def __post_init__(self) -> None:
        try:
            fits = LEAST <= self._exactly() <= MOST
        except (ValueError, ZeroDivisionError):
            fits = False
        if not fits:
            raise UsageError(f"epsilon is {self.epsilon!r}; give a number from 0.000001 to {MOST}")

    def _exactly(self) -> Fraction:
        return Fraction(str(self.epsilon))


@dataclass(frozen=True)
class Budget:
    """What a run of a job with noise spends. Runs add up: of two over the same people both
    `epsilon` and `delta` are the sums, and a run that broke off counts as well."""

    epsilon: float
    """How much all results of the run together say of one person at most, to whoever knows all
    others: a result is at most e^epsilon times as likely with that person as without."""
    delta: float
    """The chance left over: the results are (epsilon, delta)-differentially private."""
    person: str
    """What counts as one person."""
    deviation: Mapping[str, float]
    """The standard deviation of the noise on each value of a result."""


class Noised(NamedTuple):
    """A result to which noise is added."""

    sensitivity: int
    """How far one person moves the sum of all its values at most."""
    values: int = 1


class Plan(NamedTuple):
    """What a job's program needs for noise, or for none."""

    params: dict[str, int]
    public: dict[str, list[int]]
    budget: Budget | None
    at_least: int


def plan(
    noise: Noise | None, at_least: int | None, person: str, results: Mapping[str, Noised]
) -> Plan:
    """Noise on `results` by name, each with the same part of epsilon. There is no bound `at_least`
    under noise: whether so many rows are there depends on single persons and has no noise."""
    names = [f"{name}_noise" for name in results]
    if noise is None:
        params = {name.upper(): 0 for name in names}
        none = {name: [0] for name in names}
        return Plan(params, none, None, 5 if at_least is None else at_least)
    if at_least:
        raise UsageError(
            f"at_least is {at_least} and noise is given; leave at_least out, since what it hides "
            "depends on single persons"
        )
    epsilon = noise._exactly()
    rates = [epsilon / len(results) / result.sensitivity for result in results.values()]
    public = {name: thresholds(rate) for name, rate in zip(names, rates)}
    draws = [(len(public[name]), r.values) for name, r in zip(names, results.values())]
    distance = sum(values * statistical_distance(bits) for bits, values in draws)
    # From (M, M') at that distance of an epsilon-private M to (epsilon, delta) of M'; e < 3.
    delta = (1 + 3 ** math.ceil(epsilon)) * distance
    budget = Budget(
        float(epsilon),
        math.ldexp(1.0, (math.ceil(delta * 2**63) - 1).bit_length() - 63),
        person,
        {name: 1 / (math.sqrt(2) * math.sinh(rate / 2)) for name, rate in zip(results, rates)},
    )
    return Plan({name.upper(): len(public[name]) for name in names}, public, budget, 0)


def thresholds(rate: Fraction) -> list[int]:
    """For each bit of a geometric number how many of 2^64 draws set it: 2^64 / (1 + exp(rate 2^i)),
    rounded down. There are as many bits as it takes to make numbers past them rarer than 2^-64.

    `Decimal` rounds correctly on every machine, so both parties have the same integers.
    """
    bits = 1
    while rate * 2**bits < 45:  # exp(-45) < 2^-64
        bits += 1
    context = Context(prec=60, rounding=ROUND_HALF_EVEN)
    found = []
    for bit in range(bits):
        power = rate * 2**bit
        exponent = context.divide(Decimal(power.numerator), Decimal(power.denominator))
        above = context.add(1, context.exp(exponent))
        found.append(int(context.divide(Decimal(2**64), above)))
    return found


def statistical_distance(bits: int) -> Fraction:
    """How far at most what is drawn is from the two-sided geometric distribution: each bit of two
    numbers is off by less than 2^-64, and each number is cut off where less than 2^-64 is left."""
    return Fraction(2 * (bits + 1), 2**64)
