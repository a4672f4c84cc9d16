"""Jobs over tables whose rows belong together by ids."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from .._ids import Normalize
from .._session import Session
from ..errors import InputError, UsageError
from . import _size
from ._job import Result
from ._noise import Noise, Noised, plan
from ._of_ids import Cleaned, Keep, OfIds, Sizes


class Intersection(OfIds):
    """How many ids two parties have in common, and the sum of the amounts under them."""

    def __init__(
        self,
        rows: int | None,
        params: Mapping[str, int],
        id_bits: int,
        normalize: Normalize,
        at_least: int | None,
        noise: Noise | None,
    ) -> None:
        amounts = params["AMOUNT_BITS"]
        noised = {
            "count": Noised(sensitivity=1),
            "total": Noised(sensitivity=_greatest(amounts)),
        }
        planned = plan(noise, at_least, "one id, in one table or in both", noised)
        params = {"AT_LEAST": planned.at_least, **params, **planned.params}

        def values(rows: int) -> int:
            sums = 1 + amounts + amounts + 2 * rows.bit_length()
            of_rows = 2 * sums + 2 * (2 * id_bits + amounts)
            drawn = _size.noise(params, {"COUNT_NOISE": 1, "TOTAL_NOISE": 1})
            return _size.merged(rows, rows, id_bits + 1 + amounts) + rows * of_rows + drawn

        sizes = Sizes({"ROWS": rows}, id_bits, values)
        super().__init__("intersection", params, sizes, normalize, planned)

    def run(
        self,
        session: Session,
        /,
        frame: Any,
        *,
        party: str,
        id: str | Sequence[str],
        amount: str = "",
        drop_missing: bool = False,
        keep: Keep = None,
        **options: Any,
    ) -> Result:
        """Runs the job as `party`: `left` has ids alone, `right` also amounts, whole and not
        negative. Both learn `count`, and `total` where `at_least` ids are common, else None. With
        noise also `budget`; a count or total may then be negative.

        `drop_missing` leaves out rows that lack an id or amount, and `keep="first"` all rows of an
        id but the first."""
        is_right = self._party(party) == "right"
        columns = {"amount": amount} if is_right and amount else {}
        cleaned = self._cleaned(
            frame, id, columns, distinct=True, drop_missing=drop_missing, keep=keep
        )
        amounts = dict.fromkeys(range(len(cleaned.ids)), 0)
        amounts = cleaned.values.get("amount", amounts)
        given = {"amount": self._amounts(amounts, amount)} if is_right else {}
        outcome = self._run(session, "rows" if is_right else "ids", cleaned, given, options)
        few = self.budget is None and outcome["count"] < self._params["AT_LEAST"]
        total = None if few else outcome["total"]
        return self._result({"count": outcome["count"], "total": total}, outcome)


class GroupSums(OfIds):
    """A join of the left party's groups and the right one's amounts, added up by group."""

    _less = "fewer groups"

    def __init__(
        self,
        groups: Sequence[str],
        rows: Mapping[str, int | None],
        params: Mapping[str, int],
        id_bits: int,
        normalize: Normalize,
        at_least: int | None,
        noise: Noise | None,
    ) -> None:
        if isinstance(groups, str):
            raise UsageError(f"groups is {groups!r}; give a list of the groups' names")
        groups = list(groups)
        if len(set(groups)) < len(groups):
            raise UsageError(f"groups has a name more than once: {groups}")
        if not 2 <= len(groups) <= 256:
            raise UsageError(
                f"groups has {len(groups)} of 2 to 256 names; intersection has a total without groups"
            )
        digest = sha256(json.dumps([str(group) for group in groups]).encode()).digest()
        width = params["AMOUNT_BITS"]
        greatest = _greatest(width)
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
        group = max(len(groups) - 1, 1).bit_length()

        def values(most: int) -> int:
            given = [size for size in rows.values() if size is not None]
            left, right = (-(-most * size // max(given)) for size in given)
            row = id_bits + 1 + group + width + 1
            found = row + 1 + group + width + 1
            sums = len(groups) * (2 + width + 3 * (left + right).bit_length())
            of_inputs = 2 * (left * (id_bits + group) + right * (id_bits + width))
            drawn = {f"{name}_NOISE": len(groups) for name in ("COUNTS", "TOTALS")}
            of_rows = (left + right) * (found + sums)
            return _size.merged(left, right, row) + of_rows + of_inputs + _size.noise(params, drawn)

        of_join = {"TIMES_BITS": TIMES_BITS if noise is None else 1}
        sizes = Sizes(rows, id_bits, values, of_join)
        super().__init__("group_sums", params, sizes, normalize, planned)
        self.groups = groups

    def run(
        self,
        session: Session,
        /,
        frame: Any,
        *,
        party: str,
        id: str | Sequence[str],
        group: str = "",
        amount: str = "",
        drop_missing: bool = False,
        keep: Keep = None,
        **options: Any,
    ) -> Result:
        """Runs the job as `party`: `left` has `id`, each once, and `group`, `right` has `id` and
        `amount`, whole and not negative. Both learn `counts` and `totals` by group; a group of
        which fewer than `at_least` ids have amounts has None. With noise also `budget`; `right`
        then has each `id` once, and a count or total may be negative.

        `drop_missing` leaves out rows that lack a value in one of these columns, and `keep="first"`
        all rows of an id but the first."""
        is_left = self._party(party) == "left"
        columns = {"group": group} if is_left else {"amount": amount}
        once = is_left or self.budget is not None
        cleaned = self._cleaned(
            frame, id, columns, distinct=once, drop_missing=drop_missing, keep=keep
        )
        given: dict[str, Sequence[Any]]
        if is_left:
            codes = {name: code for code, name in enumerate(self.groups)}
            names = cleaned.values["group"].values()
            unknown = [name for name in names if name not in codes]
            if unknown:
                raise InputError(f"{group} has {unknown[0]!r}, which is none of {self.groups}")
            given = {"group": [codes[name] for name in names]}
        else:
            amounts = self._amounts(cleaned.values["amount"], amount)
            cleaned, given = self._added(cleaned, amounts)
        table = "members" if is_left else "amounts"
        outcome = self._run(session, table, cleaned, given, options)

        def by_group(name: str) -> dict[str, int | None]:
            values = zip(self.groups, outcome["counts"], outcome[name])
            least = self._params["AT_LEAST"] if self.budget is None else -math.inf
            return {group: int(v) if count >= least else None for group, count, v in values}

        return self._result({name: by_group(name) for name in ("counts", "totals")}, outcome)

    def _added(
        self, cleaned: Cleaned, amounts: list[int]
    ) -> tuple[Cleaned, dict[str, Sequence[Any]]]:
        """The right party's table: for a join, the number of amounts of each id and their total."""
        if not self._joins:
            return cleaned, {"amount": amounts}
        sums: dict[Any, list[int]] = {}
        for id, amount in zip(cleaned.ids, amounts):
            sums.setdefault(id, []).append(amount)
        times, totals = map(len, sums.values()), map(sum, sums.values())
        columns = {"times": list(times), "total": list(totals)}
        for values, bits, what in (
            (columns["times"], TIMES_BITS, "amounts than a job takes for one id"),
            (columns["total"], self._params["AMOUNT_BITS"], "in all than amount_bits hold"),
        ):
            if max(values, default=0) >= 2**bits:
                raise InputError(
                    f"an id has more {what} ({bits} bits); give both parties more amount_bits, or "
                    "split its rows"
                )
        return cleaned._replace(ids=list(sums)), {**columns}


def intersection(
    rows: int | None = None,
    *,
    id_bits: int = 64,
    amount_bits: int = 32,
    normalize: Normalize = "none",
    at_least: int | None = None,
    noise: Noise | None = None,
) -> Intersection:
    """Intersection with count and sum, of tables of any length.

    Ids are texts, integers or bytes, or of several columns. `normalize="email"` leaves out spaces
    around texts, and compares them in lower case and in one form of Unicode (NFC). Each party tells
    how many ids it has. It is secure where both parties follow the protocol.

    With `rows` tables are filled up to that many rows, which hides how many there are. Up to some
    thousand rows such a job then runs with `security="malicious"`, and ids are texts, or integers
    of `id_bits`.

    Whoever chooses its ids can ask about them: a party that gives one id learns from the count
    whether the other has it, and one that makes up amounts learns from the total which of dozens
    of ids the other has. `at_least`, which is 5 unless told otherwise, hides the total of few, not
    the count. `noise` hides single ids, and takes its place. The noise on the total is as large as
    amounts may be, so give no more `amount_bits` than they need.
    """
    params = {"AMOUNT_BITS": amount_bits}
    return Intersection(rows, params, id_bits, normalize, at_least, noise)


def group_sums(
    groups: Sequence[str],
    rows: int | None = None,
    amounts: int | None = None,
    *,
    id_bits: int = 64,
    amount_bits: int = 32,
    normalize: Normalize = "none",
    at_least: int | None = None,
    noise: Noise | None = None,
) -> GroupSums:
    """Join and group-by sums.

    `groups` are the names of the groups, of which both parties give the same list. A count says how
    many amounts a group has; the right party may have several under one id, but not with `noise`.
    Without `rows` and `amounts` the amounts of an id together have `amount_bits`; with them the
    left party has up to `rows` ids and the right one up to `amounts` rows. All else is as for
    `intersection`.
    """
    sizes = {"ROWS": rows, "AMOUNTS": amounts}
    params = {"AMOUNT_BITS": amount_bits}
    return GroupSums(groups, sizes, params, id_bits, normalize, at_least, noise)


TIMES_BITS = 20
"""Of how many amounts an id has in a join."""


def _greatest(bits: int) -> int:
    """The greatest amount of so many bits; the program refuses other numbers of bits."""
    return 2**bits - 1 if 1 <= bits <= 64 else 1
