"""Ready jobs over DataFrames: programs of the language that come with the package.

A job is made by both parties with the same numbers, says its cost, and runs over a session:

>>> job = tacit.jobs.intersection(rows=1000)
>>> job.cost(security="malicious")
>>> job.run(session, frame, party="left", id="customer", security="malicious")

How many rows a party has stays hidden: tables are filled up to the size that both agreed on. What
is computed is the program `job.program`, a page that can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from .._function import Function, function
from .._session import Outcome, Session
from .._table import Table
from ..errors import InputError, PeerMisbehaved, UsageError

__all__ = ["GroupSums", "Intersection", "Score", "group_sums", "intersection", "score"]


class Job:
    """A program of the package with its numbers."""

    def __init__(self, name: str, **params: Any) -> None:
        self.program = (files(__name__) / f"{name}.tacit").read_text()
        """The source, which both parties can read before they agree."""
        self.function: Function = function(self.program, **params)
        self._params = params

    def cost(self, link: str = "500us,1gbit", **options: Any) -> Table:
        """What a run costs; see `tacit.Function.cost`."""
        return self.function.cost(link, **options)

    def _party(self, party: str) -> str:
        if party not in self.function.parties:
            known = " or ".join(map(repr, self.function.parties))
            raise UsageError(f"party is {party!r}; give {known}")
        return party

    def _column(self, frame: Any, name: str) -> list[Any]:
        try:
            column = frame[name]
        except Exception:
            raise InputError(f"the frame has no column {name!r}") from None
        for method in ("tolist", "to_list"):
            if hasattr(column, method):
                return list(getattr(column, method)())
        return list(column)

    def _ids(self, frame: Any, name: str, *, distinct: bool) -> list[int]:
        """Ids as numbers above 0: an integer plus one, or the bytes of a text behind a 1."""
        bits = self._params["ID_BITS"]
        ids = [_number(name, id) for id in self._column(frame, name)]
        widest = max(ids, default=0).bit_length()
        if widest > bits:
            raise InputError(
                f"{name} has an id of {widest} bits and the job takes {bits}; give both parties "
                f"id_bits={8 * -(-widest // 8)}"
            )
        if distinct and len(set(ids)) < len(ids):
            raise InputError(f"{name} has an id more than once; add such rows up before")
        return ids


class Result(Mapping[str, Any]):
    """The results of a job by name, and the `outcome` of the run."""

    def __init__(self, values: Mapping[str, Any], outcome: Outcome) -> None:
        self._values = dict(values)
        self.outcome = outcome

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        lines = [f"{name} = {value!r}" for name, value in self.items()]
        return "\n".join([*lines, f"({self.outcome._secure()})"])


class Intersection(Job):
    """How many ids two parties have in common, and the sum of the amounts under them."""

    def run(
        self, session: Session, frame: Any, *, party: str, id: str, amount: str = "", **options: Any
    ) -> Result:
        """Runs the job as `party`: `left` has ids alone, `right` also amounts, whole and not
        negative. Both learn `count`, and `total` where `at_least` ids are common, else None."""
        ids = self._ids(frame, id, distinct=True)
        inputs: dict[str, Any] = {"ids": ids}
        if self._party(party) == "right":
            amounts = self._column(frame, amount) if amount else [0] * len(ids)
            inputs = {"rows": {"id": ids, "amount": amounts}}
        outcome = _sound(session.run(self.function, inputs, **options))
        few = outcome["count"] < self._params["AT_LEAST"]
        total = None if few else outcome["total"]
        return Result({"count": outcome["count"], "total": total}, outcome)


class GroupSums(Job):
    """A join of the left party's groups and the right one's amounts, added up by group."""

    def __init__(self, groups: Sequence[str], **params: int) -> None:
        super().__init__("group_sums", GROUPS=len(groups), **params)
        self.groups = list(groups)

    def run(
        self,
        session: Session,
        frame: Any,
        *,
        party: str,
        id: str,
        group: str = "",
        amount: str = "",
        **options: Any,
    ) -> Result:
        """Runs the job as `party`: `left` has `id`, each once, and `group`, `right` has `id` and
        `amount`, whole and not negative. Both learn `counts` and `totals` by group; a group of
        fewer than `at_least` amounts has None."""
        ids = self._ids(frame, id, distinct=self._party(party) == "left")
        if party == "left":
            codes = {name: code for code, name in enumerate(self.groups)}
            names = self._column(frame, group)
            unknown = [name for name in names if name not in codes]
            if unknown:
                raise InputError(f"{group} has {unknown[0]!r}, which is none of {self.groups}")
            inputs = {"members": {"id": ids, "group": [codes[name] for name in names]}}
        else:
            inputs = {"amounts": {"id": ids, "amount": self._column(frame, amount)}}
        outcome = _sound(session.run(self.function, inputs, **options))

        def by_group(name: str) -> dict[str, int | None]:
            values = zip(self.groups, outcome["counts"], outcome[name])
            least = self._params["AT_LEAST"]
            return {group: int(v) if count >= least else None for group, count, v in values}

        return Result({name: by_group(name) for name in ("counts", "totals")}, outcome)


class Score(Job):
    """The score of a client's row under a linear or logistic model; the client alone learns it."""

    def run_model(
        self, session: Session, weights: Iterable[float], bias: float, **options: Any
    ) -> Outcome:
        """The owner of the model, who learns nothing."""
        inputs = {"weights": list(weights), "bias": bias}
        return session.run(self.function, inputs, **options)

    def run_client(self, session: Session, row: Iterable[float], **options: Any) -> float:
        """The client, who learns the score. Numbers are rounded to the nearest 2^-16."""
        score: float = session.run(self.function, {"row": list(row)}, **options)["score"]
        return score


def intersection(
    rows: int = 1024, *, id_bits: int = 64, amount_bits: int = 32, at_least: int = 5
) -> Intersection:
    """Intersection with count and sum of up to `rows` rows a party.

    Whoever chooses its ids can ask about them: a party that gives one id learns from the count
    whether the other has it. `at_least` hides the total of few, not the count.
    """
    params = {"ROWS": rows, "ID_BITS": id_bits, "AMOUNT_BITS": amount_bits, "AT_LEAST": at_least}
    return Intersection("intersection", **params)


def group_sums(
    groups: Sequence[str],
    rows: int = 1024,
    amounts: int = 1024,
    *,
    id_bits: int = 64,
    amount_bits: int = 32,
    at_least: int = 5,
) -> GroupSums:
    """Join and group-by sums: up to `rows` ids of the left party, `amounts` rows of the right one.

    `groups` are the names of the groups, of which both give the same list. A count says how many
    amounts a group has; the right party may have several under one id.
    """
    params = {"ROWS": rows, "AMOUNTS": amounts, "ID_BITS": id_bits, "AMOUNT_BITS": amount_bits}
    return GroupSums(groups, AT_LEAST=at_least, **params)


def score(features: int, *, logistic: bool = True) -> Score:
    """The score of a row of `features` numbers under a logistic model, or a linear one.

    Numbers are fixed point with 16 bits before the point, the sign among them, and 16 behind it. A
    logistic score is off by at most 0.019 and what is rounded.
    """
    return Score("score", FEATURES=features, LOGISTIC=int(logistic))


def _number(column: str, id: object) -> int:
    if isinstance(id, str):
        return int.from_bytes(b"\1" + id.encode(), "big")
    if isinstance(id, int) and not isinstance(id, bool) and id >= 0:
        return id + 1
    raise InputError(
        f"{column} has an id of the class {type(id).__name__}; ids are texts, or integers from 0"
    )


def _sound(outcome: Outcome) -> Outcome:
    if not outcome["sound"]:
        raise PeerMisbehaved(
            "the other party gave ids that are not distinct or not in their order, which this "
            "package never does; nothing was computed"
        )
    return outcome
