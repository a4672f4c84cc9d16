"""Jobs over tables whose rows belong together by ids."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from .._session import Session
from ..errors import InputError, UsageError
from . import _size
from ._job import Job, Result, sound
from ._noise import Noise, Noised, plan


class Intersection(Job):
    """How many ids two parties have in common, and the sum of the amounts under them."""

    def __init__(
        self, params: Mapping[str, int], at_least: int | None, noise: Noise | None
    ) -> None:
        most = _greatest(params["AMOUNT_BITS"])
        noised = {"count": Noised(sensitivity=1), "total": Noised(sensitivity=most)}
        planned = plan(noise, at_least, "one id, in one table or in both", noised)
        params = {"AT_LEAST": planned.at_least, **params, **planned.params}
        ids, amounts = params["ID_BITS"], params["AMOUNT_BITS"]

        def values(rows: int) -> int:
            sums = 1 + amounts + amounts + 2 * rows.bit_length()
            of_rows = 2 * sums + 2 * (2 * ids + amounts)
            drawn = _size.noise(params, {"COUNT_NOISE": 1, "TOTAL_NOISE": 1})
            return _size.merged(rows, rows, ids + 1 + amounts) + rows * of_rows + drawn

        _size.check(params["ROWS"], f"rows of {ids} id_bits and {amounts} amount_bits", values)
        super().__init__("intersection", params, planned.public, planned.budget)

    def run(
        self,
        session: Session,
        /,
        frame: Any,
        *,
        party: str,
        id: str,
        amount: str = "",
        **options: Any,
    ) -> Result:
        """Runs the job as `party`: `left` has ids alone, `right` also amounts, whole and not
        negative. Both learn `count`, and `total` where `at_least` ids are common, else None. With
        noise also `budget`; a count or total may then be negative."""
        ids = self._ids(frame, id, distinct=True)
        inputs: dict[str, Any] = {"ids": ids}
        if self._party(party) == "right":
            amounts = self._amounts(frame, amount) if amount else [0] * len(ids)
            inputs = {"rows": {"id": ids, "amount": amounts}}
        outcome = sound(session.run(self.function, inputs, **options))
        few = self.budget is None and outcome["count"] < self._params["AT_LEAST"]
        total = None if few else outcome["total"]
        return self._result({"count": outcome["count"], "total": total}, outcome)


class GroupSums(Job):
    """A join of the left party's groups and the right one's amounts, added up by group."""

    def __init__(
        self,
        groups: Sequence[str],
        params: Mapping[str, int],
        at_least: int | None,
        noise: Noise | None,
    ) -> None:
        if isinstance(groups, str):
            raise UsageError(f"groups is {groups!r}; give a list of the groups' names")
        groups = list(groups)
        if len(set(groups)) < len(groups):
            raise UsageError(f"groups has a name more than once: {groups}")
        digest = sha256(json.dumps([str(group) for group in groups]).encode()).digest()
        greatest = _greatest(params["AMOUNT_BITS"])
        noised = {
            "counts": Noised(sensitivity=1, values=len(groups)),
            "totals": Noised(sensitivity=greatest, values=len(groups)),
        }
        planned = plan(noise, at_least, "one id, in one table or in both", noised)
        params = {
            "GROUPS": len(groups),
            "GROUP_NAMES": int.from_bytes(digest[:6], "big"),
            "AT_LEAST": planned.at_least,
            **params,
            **planned.params,
        }
        ids, width = params["ID_BITS"], params["AMOUNT_BITS"]
        group = max(len(groups) - 1, 1).bit_length()

        def values(rows: int) -> int:
            left, right = (-(-rows * params[side] // most) for side in ("ROWS", "AMOUNTS"))
            row = ids + 1 + group + width + 1
            found = row + 1 + group + width + 1
            sums = len(groups) * (2 + width + 3 * (left + right).bit_length())
            of_inputs = 2 * (left * (ids + group) + right * (ids + width))
            drawn = {f"{name}_NOISE": len(groups) for name in ("COUNTS", "TOTALS")}
            of_rows = (left + right) * (found + sums)
            return _size.merged(left, right, row) + of_rows + of_inputs + _size.noise(params, drawn)

        most = max(params["ROWS"], params["AMOUNTS"], 1)
        what = f"rows and amounts of {ids} id_bits, {width} amount_bits and {len(groups)} groups"
        _size.check(most, what, values)
        super().__init__("group_sums", params, planned.public, planned.budget)
        self.groups = groups

    def run(
        self,
        session: Session,
        /,
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
        which fewer than `at_least` ids have amounts has None. With noise also `budget`; `right`
        then has each `id` once, and a count or total may be negative."""
        once = self._party(party) == "left" or self.budget is not None
        ids = self._ids(frame, id, distinct=once)
        if party == "left":
            codes = {name: code for code, name in enumerate(self.groups)}
            names = self._column(frame, group, "group")
            unknown = [name for name in names if name not in codes]
            if unknown:
                raise InputError(f"{group} has {unknown[0]!r}, which is none of {self.groups}")
            inputs = {"members": {"id": ids, "group": [codes[name] for name in names]}}
        else:
            inputs = {"amounts": {"id": ids, "amount": self._amounts(frame, amount)}}
        outcome = sound(session.run(self.function, inputs, **options))

        def by_group(name: str) -> dict[str, int | None]:
            values = zip(self.groups, outcome["counts"], outcome[name])
            least = self._params["AT_LEAST"] if self.budget is None else -math.inf
            return {group: int(v) if count >= least else None for group, count, v in values}

        return self._result({name: by_group(name) for name in ("counts", "totals")}, outcome)


def intersection(
    rows: int = 1024,
    *,
    id_bits: int = 64,
    amount_bits: int = 32,
    at_least: int | None = None,
    noise: Noise | None = None,
) -> Intersection:
    """Intersection with count and sum of up to `rows` rows a party.

    Whoever chooses its ids can ask about them: a party that gives one id learns from the count
    whether the other has it, and one that makes up amounts learns from the total which of dozens
    of ids the other has. `at_least`, which is 5 unless told otherwise, hides the total of few, not
    the count. `noise` hides single ids, and takes its place. The noise on the total is as large as
    amounts may be, so give no more `amount_bits` than they need.
    """
    params = {"ROWS": rows, "ID_BITS": id_bits, "AMOUNT_BITS": amount_bits}
    return Intersection(params, at_least, noise)


def group_sums(
    groups: Sequence[str],
    rows: int = 1024,
    amounts: int = 1024,
    *,
    id_bits: int = 64,
    amount_bits: int = 32,
    at_least: int | None = None,
    noise: Noise | None = None,
) -> GroupSums:
    """Join and group-by sums: up to `rows` ids of the left party, `amounts` rows of the right one.

    `groups` are the names of the groups, of which both give the same list. A count says how many
    amounts a group has; the right party may have several under one id, but not with `noise`.
    `at_least` and `noise` are as for `intersection`.
    """
    params = {
        "ROWS": rows,
        "AMOUNTS": amounts,
        "ID_BITS": id_bits,
        "AMOUNT_BITS": amount_bits,
    }
    return GroupSums(groups, params, at_least, noise)


def _greatest(bits: int) -> int:
    """The greatest amount of so many bits; the program refuses other numbers of bits."""
    return 2**bits - 1 if 1 <= bits <= 64 else 1
