"""Statistics of columns of which each party has a part, or one of two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from .._ids import Normalize
from .._session import Outcome, Session
from ..errors import InputError, UsageError
from . import _size
from ._job import Job, Result, is_number, listed, scaled, sound
from ._noise import Budget, Noise, Noised, plan
from ._of_ids import Keep, OfIds, Sizes


class _OfColumn(Job):
    """A job over one column, of which each party has some rows."""

    def __init__(
        self,
        name: str,
        decimals: int,
        params: Mapping[str, int],
        public: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
    ) -> None:
        super().__init__(name, {**params, "DECIMALS": decimals}, public, budget)
        self._decimals = decimals

    def _values(self, frame: Any, column: str) -> list[int]:
        values = self._column(frame, column, "column")
        self._fits(values, column)
        return self._numbers(dict(enumerate(values)), column, self._decimals)

    def _run_columns(
        self, session: Session, frame: Any, party: str, column: str, options: dict[str, Any]
    ) -> Outcome:
        name = "a" if self._party(party) == "left" else "b"
        inputs = {name: self._values(frame, column)}
        return session.run(self.function, inputs, **options)


class MeanVariance(_OfColumn):
    """Mean and variance of a column, of which each party has some rows."""

    def run(
        self, session: Session, /, frame: Any, *, party: str, column: str, **options: Any
    ) -> Result:
        """Runs the job as `party`, `left` or `right`. Both learn `count`, `mean` and `variance` (of
        a sample, as pandas computes it), or None for each if a party has fewer than `at_least`
        values."""
        outcome = self._run_columns(session, frame, party, column, options)
        count, total, squares = (outcome[name] for name in ("count", "sum", "squares"))
        if not count:
            return Result({"count": None, "mean": None, "variance": None}, outcome)
        mean, variance = _moments(count, total, squares, self._decimals)
        return Result({"count": count, "mean": mean, "variance": variance}, outcome)


class Histogram(_OfColumn):
    """How many values lie in each bin, of a column of which each party has some rows."""

    def __init__(
        self,
        edges: Sequence[float],
        decimals: int,
        params: Mapping[str, int],
        at_least: int | None,
        noise: Noise | None,
    ) -> None:
        edges = _given(edges, "edges")
        if not 1 <= len(edges) <= 256:
            raise UsageError(f"edges has {len(edges)} numbers; give 1 to 256")
        rounded = [scaled(edge, decimals, 2**64) for edge in edges]
        known = [edge for edge in rounded if edge is not None]
        if len(known) < len(edges) or any(a >= b for a, b in zip(known, known[1:])):
            raise UsageError(
                f"edges {edges} are not in ascending order at {decimals} decimals, or too large"
            )
        counts = {"counts": Noised(sensitivity=1, values=len(known) + 1)}
        planned = plan(noise, at_least, "one row of one party", counts)
        params = {
            "EDGES": len(known),
            "AT_LEAST": planned.at_least,
            **params,
            **planned.params,
        }
        bits, drawn = params["BITS"], _size.noise(params, {"COUNTS_NOISE": len(known) + 1})

        def values(rows: int) -> int:
            # There may be 2^26. Each of two values is compared with each edge, in 16.0 to 16.3 steps
            # together, by how the counts split.
            steps = 33 * rows * len(known) // 2
            return max(4 * rows * (bits + len(known)) + drawn, steps // 2)

        what = f"rows of {bits} value_bits with {len(known)} edges"
        _size.check(params["ROWS"], what, values)
        public = {"edges": known, **planned.public}
        super().__init__("histogram", decimals, params, public, planned.budget)
        self.edges = edges

    def run(
        self, session: Session, /, frame: Any, *, party: str, column: str, **options: Any
    ) -> Result:
        """Runs the job as `party`, `left` or `right`. Both learn `counts`: of values below the
        first edge, from each edge up to the next, and from the last edge on; a bin in which a party
        has fewer than `at_least` values has None. With noise also `budget`; a count may then be
        negative."""
        outcome = self._run_columns(session, frame, party, column, options)
        hides = self.budget is None and self._params["AT_LEAST"] > 0
        counts = [None if hides and not count else int(count) for count in outcome["counts"]]
        return self._result({"counts": counts}, outcome)


class Quantiles(_OfColumn):
    """Quantiles of a column, of which each party has some rows."""

    def __init__(
        self, percents: Sequence[int], decimals: int, params: Mapping[str, int]
    ) -> None:
        percents = _given(percents, "percents")
        if not 1 <= len(percents) <= 99:
            raise UsageError(f"percents has {len(percents)} numbers; give 1 to 99")
        if any(not 0 <= percent <= 100 or percent % 1 for percent in percents):
            raise UsageError(f"percents {percents} are not all whole numbers from 0 to 100")
        percents = [int(percent) for percent in percents]
        params = {"QUANTILES": len(percents), **params}
        width = params["BITS"] + 1

        def values(rows: int) -> int:
            of_rows = 2 * (width + 1 + params["BITS"] * len(percents)) + 16
            return _size.merged(rows, rows, width) + rows * of_rows

        what = f"rows of {params['BITS']} value_bits with {len(percents)} percents"
        _size.check(params["ROWS"], what, values)
        super().__init__("quantiles", decimals, params, {"percents": percents})
        self.percents = percents

    def run(
        self, session: Session, /, frame: Any, *, party: str, column: str, **options: Any
    ) -> Result:
        """Runs the job as `party`, `left` or `right`. Both learn `count`, and `quantiles` by
        percent: of n values in order the one at place (n - 1) percent / 100, rounded down. If a
        party has fewer than `at_least` values, these are None."""
        values = sorted(self._values(frame, column))
        rows = [{"missing": False, "value": value} for value in values]
        rows += [{"missing": True, "value": 0}] * (self._params["ROWS"] - len(rows))
        name = "a" if self._party(party) == "left" else "b"
        outcome = sound(session.run(self.function, {name: rows}, **options))
        scale = 10**self._decimals
        found = [int(v) / scale if outcome["count"] else None for v in outcome["values"]]
        quantiles = dict(zip(self.percents, found))
        return Result({"count": outcome["count"] or None, "quantiles": quantiles}, outcome)


class Correlation(OfIds):
    """The correlation of two columns, one of each party, over the ids that both have."""

    _less = "fewer value_bits"

    def __init__(
        self,
        rows: int | None,
        decimals: int,
        params: Mapping[str, int],
        id_bits: int,
        normalize: Normalize,
    ) -> None:
        bits = params["BITS"]
        row = id_bits + 1 + 2 * bits

        def values(rows: int) -> int:
            sums = 8 * bits + 6 * rows.bit_length()
            of_rows = 2 * (row + 1 + 2 * bits + sums) + 4 * (id_bits + bits)
            return _size.merged(rows, rows, row) + rows * of_rows

        params = {**params, "DECIMALS": decimals}
        sizes = Sizes({"ROWS": rows}, id_bits, values)
        super().__init__("correlation", params, sizes, normalize)
        self._decimals = decimals

    def run(
        self,
        session: Session,
        /,
        frame: Any,
        *,
        party: str,
        id: str | Sequence[str],
        column: str,
        drop_missing: bool = False,
        keep: Keep = None,
        **options: Any,
    ) -> Result:
        """Runs the job as `party`: both have `id`, each once, and a number in `column`. Both learn
        `count`, and the means, variances, covariance and correlation of the two columns over the
        ids in common, or None if these are fewer than `at_least`.

        `drop_missing` leaves out rows that lack an id or number, and `keep="first"` all rows of an
        id but the first."""
        if options.get("shard") is not None:
            raise UsageError(
                "shard: the correlations of parts are not that of the whole; leave it out"
            )
        table = "a" if self._party(party) == "left" else "b"
        columns = {"column": column}
        cleaned = self._cleaned(
            frame, id, columns, distinct=True, drop_missing=drop_missing, keep=keep
        )
        numbers = self._numbers(cleaned.values["column"], column, self._decimals)
        given = {"value": numbers}
        if self._joins:
            given["square"] = [number * number for number in numbers]
        outcome = self._run(session, table, cleaned, given, options)
        sums = outcome["sums"]
        n = sums["count"]
        names = ("count", "means", "variances", "covariance", "correlation")
        if not n:
            return Result(dict.fromkeys(names), outcome)
        x = _moments(n, sums["x"], sums["xx"], self._decimals)
        y = _moments(n, sums["y"], sums["yy"], self._decimals)
        values: dict[str, Any] = {
            "count": n,
            "means": (x[0], y[0]),
            "variances": (x[1], y[1]),
            "covariance": None,
            "correlation": None,
        }
        if n > 1:
            product = n * sums["xy"] - sums["x"] * sums["y"]
            values["covariance"] = float(Fraction(product, n * (n - 1) * 100**self._decimals))
            spread = (n * sums["xx"] - sums["x"] ** 2) * (n * sums["yy"] - sums["y"] ** 2)
            values["correlation"] = product / math.sqrt(spread) if spread else None
        return Result(values, outcome)


def mean_variance(
    rows: int = 1024, *, decimals: int = 2, value_bits: int = 32, at_least: int = 5
) -> MeanVariance:
    """Mean and variance of a column of up to `rows` rows a party.

    Values are rounded to `decimals`, and times 10 to that they have `value_bits`, the sign among
    them. A party takes its own rows off the result, so what it learns is the other's count, sum and
    sum of squares; `at_least` is how many rows each must have.
    """
    params = {"ROWS": rows, "BITS": value_bits, "AT_LEAST": at_least}
    return MeanVariance("statistics", decimals, params)


def histogram(
    edges: Sequence[float],
    rows: int = 1024,
    *,
    decimals: int = 2,
    value_bits: int = 32,
    at_least: int | None = None,
    noise: Noise | None = None,
) -> Histogram:
    """How many values lie between `edges`, of a column of up to `rows` rows a party.

    Numbers are as for `mean_variance`. `at_least` is 5 unless told otherwise or there is `noise`.
    """
    return Histogram(edges, decimals, {"ROWS": rows, "BITS": value_bits}, at_least, noise)


def quantiles(
    percents: Sequence[int] = (25, 50, 75),
    rows: int = 1024,
    *,
    decimals: int = 2,
    value_bits: int = 32,
    at_least: int = 5,
) -> Quantiles:
    """Quantiles of a column of up to `rows` rows a party, such as quartiles and the median.

    Numbers are as for `mean_variance`. A quantile is somebody's value, and both learn it.
    """
    params = {"ROWS": rows, "BITS": value_bits, "AT_LEAST": at_least}
    return Quantiles(percents, decimals, params)


def correlation(
    rows: int | None = None,
    *,
    id_bits: int = 64,
    decimals: int = 2,
    value_bits: int = 32,
    normalize: Normalize = "none",
    at_least: int = 5,
) -> Correlation:
    """The correlation of a column of each party, over ids in common.

    Ids and `rows` are as for `intersection`, numbers as for `mean_variance`. Whoever makes up its
    numbers can read single values of the other party, and which of dozens of its ids the other has:
    run it with parties whose tables are what they say.
    """
    params = {"BITS": value_bits, "AT_LEAST": at_least}
    return Correlation(rows, decimals, params, id_bits, normalize)


def _given(numbers: Any, name: str) -> list[Any]:
    """The numbers that an argument of a job has."""
    try:
        found = listed(numbers, name)
    except InputError as error:
        raise UsageError(str(error)) from None
    wrong = [number for number in found if not is_number(number)]
    if wrong:
        raise UsageError(f"{name} has {wrong[0]!r}, which is not a finite number")
    return found


def _moments(
    count: int, total: int, squares: int, decimals: int
) -> tuple[float, float | None]:
    """Mean and variance of a sample of scaled numbers, computed exactly and rounded once."""
    scale = 10**decimals
    mean = float(Fraction(total, count * scale))
    if count < 2:
        return mean, None
    spread = count * squares - total * total
    return mean, float(Fraction(spread, count * (count - 1) * scale * scale))
