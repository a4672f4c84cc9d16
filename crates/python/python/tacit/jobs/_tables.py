"""Jobs over tables whose rows belong together by ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._session import Session
from ..errors import InputError
from ._job import Job, Result, sound


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
        outcome = sound(session.run(self.function, inputs, **options))
        few = outcome["count"] < self._params["AT_LEAST"]
        total = None if few else outcome["total"]
        return Result({"count": outcome["count"], "total": total}, outcome)


class GroupSums(Job):
    """A join of the left party's groups and the right one's amounts, added up by group."""

    def __init__(self, groups: Sequence[str], params: Mapping[str, int]) -> None:
        super().__init__("group_sums", {"GROUPS": len(groups), **params})
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
        outcome = sound(session.run(self.function, inputs, **options))

        def by_group(name: str) -> dict[str, int | None]:
            values = zip(self.groups, outcome["counts"], outcome[name])
            least = self._params["AT_LEAST"]
            return {group: int(v) if count >= least else None for group, count, v in values}

        return Result({name: by_group(name) for name in ("counts", "totals")}, outcome)


def intersection(
    rows: int = 1024, *, id_bits: int = 64, amount_bits: int = 32, at_least: int = 5
) -> Intersection:
    """Intersection with count and sum of up to `rows` rows a party.

    Whoever chooses its ids can ask about them: a party that gives one id learns from the count
    whether the other has it, and one that makes up amounts learns from the total which of dozens
    of ids the other has. `at_least` hides the total of few, not the count.
    """
    params = {"ROWS": rows, "ID_BITS": id_bits, "AMOUNT_BITS": amount_bits, "AT_LEAST": at_least}
    return Intersection("intersection", params)


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
    params = {
        "ROWS": rows,
        "AMOUNTS": amounts,
        "ID_BITS": id_bits,
        "AMOUNT_BITS": amount_bits,
        "AT_LEAST": at_least,
    }
    return GroupSums(groups, params)
