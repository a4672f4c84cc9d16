"""The ids that two parties have in common."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from . import _columns, _ids, _progress, _tacit
from ._session import Session
from ._table import Table
from .errors import InputError, UsageError


class Common:
    """The ids in common, and what finding them took."""

    def __init__(self, ids: list[Any], rows_of_ids: list[int], found: _tacit.Common) -> None:
        rows = found["rows"]
        if rows is not None:
            rows = [rows_of_ids[row] for row in rows]
        self.rows: Any = None
        """At which places of this party's ids those in common are, from 0 and ascending, such as
        for `frame.iloc[common.rows]`: an array of integers; None where the result goes to the other
        party alone."""
        self.ids: list[Any] | None = None
        """The ids in common, as they were given."""
        if rows is not None:
            self.rows = np.array(rows, np.int64)
            self.ids = [ids[row] for row in rows]
        self.peer_ids = found["peer_ids"]
        """How many ids the other party has."""
        self.asked = found["asked"]
        """Whether this party is the one that asked, and not the one that answered."""
        self.security = found["security"]
        """Against whom it was secure: always `semi-honest`."""
        heads = ("phase", "seconds", "bytes_sent", "bytes_received", "rounds")
        self.cost = Table([dict(zip(heads, phase)) for phase in found["phases"]])
        """Time and bytes of each phase, on this side."""

    def __repr__(self) -> str:
        whose = f"the other party has {self.peer_ids}"
        if self.ids is None:
            return f"Common(the result goes to the other party; {whose})"
        return f"Common({len(self.ids)} ids; {whose})"


def common(
    session: Session,
    ids: Any,
    *,
    to: Literal["both", "me", "peer"] = "both",
    normalize: _ids.Normalize = "none",
    drop_missing: bool = False,
    keep: Literal["first"] | None = None,
    most_keys: int | None = None,
    shard: tuple[int, int] | None = None,
    rows: int | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    progress: _progress.Progress | bool | None = None,
) -> Common:
    """Finds the ids that this party and the other one have in common; the other one gives its own.

    `ids` is a list, array or column of texts, integers or bytes, or of tuples of these, all of one
    type, which is that of the other party's. A frame of several columns is one of tuples. A text
    is never an integer: "7" and 7 do not match. A missing id, and one that is there twice, is an
    error; `drop_missing` leaves out the former, and `keep="first"` takes the first of the latter.

    `to` says who gets the result: one party says `me` and the other `peer`, or both say `both`.
    `normalize="email"` leaves out spaces around texts, and compares them in lower case and in one
    form of Unicode (NFC); `"phone"` compares the digits of telephone numbers, and `"date"` dates
    in any of the forms that docs/matching.md lists. Both parties say the same.

    `threads` is how many this party works on, whatever the other one does; without it as many as
    there are cores. `timeout` bounds all of it, in seconds.

    The other party may have `most_keys` ids: without it 16 times as many as this one, and at least
    2**20. Whoever gets the result learns of each of its ids whether the other has it, so the number
    bounds how many it can try.

    With `shard=(3, 16)`, from (1, 16) to (16, 16), the run matches one of 16 parts of the ids. Both
    parties give the same to each run, and all of their ids. `most_keys`, `peer_ids` and what the
    other party learns are then the size to which a part of so many ids is filled up. A party that
    has cut its ids by `tacit.shards` gives those of the part, and as `rows` the number of rows with
    an id of all parts.

    It is secure where both parties follow the protocol. Each learns how many ids the other has.
    The command `tacit match` of the other party can be at the other end, with ids that are texts.
    """
    # Tuples of the rows of a frame.
    listed = _columns.items(ids)
    if listed is None:
        raise InputError(
            f"ids is of the class {type(ids).__name__}; give a list, an array or a column"
        )
    keys = _ids.normalized(list(map(_key, listed)), normalize)
    given = _ids.Rows("ids", keys, {})
    _ids.kinds("ids", given.present)
    taken = given.chosen(drop_missing=drop_missing, keep=keep)
    if rows is not None and shard is None:
        raise UsageError("rows is the number of rows of all parts; give shard= too")
    with _progress.listener(progress) as hears:
        terms: _tacit.CommonTerms = {
            "to": to,
            "normalize": normalize,
            "most_keys": most_keys,
            "threads": threads,
            "timeout": timeout,
            "shard": shard,
            "rows": len(given.present) if rows is None else rows,
            "progress": hears,
        }
        return Common(listed, taken, session._native.common([keys[row] for row in taken], terms))


def shards(ids: Any, of: int, *, normalize: _ids.Normalize = "none") -> Any:
    """In which of `of` parts each id is, from 1: an array of integers, and 0 for a missing id.

    `ids` and `normalize` are as for `common`. The parts are those of `shard=(3, 16)`, for any run
    and either party.
    """
    listed = _columns.items(ids)
    if listed is None:
        raise InputError(
            f"ids is of the class {type(ids).__name__}; give a list, an array or a column"
        )
    keys = _ids.normalized(list(map(_key, listed)), normalize)
    present = _ids.Rows("ids", keys, {}).present
    _ids.kinds("ids", present)
    found = np.zeros(len(keys), np.int64)
    found[list(present)] = _tacit.shards(list(present.values()), normalize, of)
    return found


def _key(id: Any) -> Any:
    """An id as the native module takes it."""
    if not isinstance(id, (tuple, list)):
        return _columns.plain(id)
    return tuple(map(_columns.plain, id))
