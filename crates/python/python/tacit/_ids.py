"""Ids of rows: their kinds, and which rows have one of their own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _columns, _tacit
from .errors import InputError, UsageError

Normalize = Literal["none", "email"]

MOST_NAMED = 5
"""Ids, or rows of an id, that one message names."""

WHOLE_FLOATS = "a column of floats that are whole is one of integers by .astype('Int64')"

KINDS = {str: "text", bytes: "bytes", int: "i128"}
"""The language's type for ids of each class."""


def named(rows: Sequence[int]) -> str:
    """The numbers of rows, for a message."""
    shown = ", ".join(map(str, rows[:MOST_NAMED]))
    return shown + f" and {len(rows) - MOST_NAMED} more" * (len(rows) > MOST_NAMED)


def is_missing(value: Any) -> bool:
    """Whether a cell, or a part of an id, has no value: an empty text has none."""
    if isinstance(value, (tuple, list)):
        return any(map(is_missing, value))
    if isinstance(value, str):
        return not value or value.isspace()
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan or type(value).__name__ in _columns.MISSING


def complete(columns: Mapping[str, Sequence[Any]], drop_missing: bool) -> list[int]:
    """The rows in which no column lacks a value.

    Raises an error if there are others, unless `drop_missing`.
    """
    lacking: set[int] = set()
    for name, values in columns.items():
        rows = [row for row, value in enumerate(values) if is_missing(value)]
        if rows and not drop_missing:
            also = f", and so it is in rows {named(rows[1:])}" * (len(rows) > 1)
            raise InputError(
                f"{name}[{rows[0]}] is missing{also}; fill it, leave its row out, or give "
                "drop_missing=True to leave out such rows"
            )
        lacking.update(rows)
    count = len(next(iter(columns.values())))
    return [row for row in range(count) if row not in lacking]


def once(
    name: str, ids: Mapping[int, Any], keep: Literal["first"] | None, distinct: bool
) -> list[int]:
    """The rows to take of those with these ids, by their numbers.

    With `keep` it is the first of each id. Without, an id in several rows is an error if ids are to
    be `distinct`.
    """
    if keep not in (None, "first"):
        raise UsageError(f'keep is {keep!r}; give "first", or leave it out')
    if keep is None and not distinct:
        return list(ids)
    rows: dict[Any, list[int]] = {}
    for row, id in ids.items():
        rows.setdefault(id, []).append(row)
    twice = [] if keep else [alike for alike in rows.values() if len(alike) > 1]
    if twice:
        more = len(twice) - MOST_NAMED
        raise InputError(
            f"{name} has an id more than once: the same in rows "
            + "; ".join(map(named, twice[:MOST_NAMED]))
            + f", and {more} more ids" * (more > 0)
            + '; rows are counted from 0; make one row of these before, or give keep="first" to '
            "take the first of each id"
        )
    return [first for first, *_ in rows.values()]


def normalized(ids: Sequence[Any], how: Normalize) -> list[Any]:
    """Ids in the form in which they are compared."""
    return _tacit.normalized(list(ids), how)


def kinds(name: str, ids: Mapping[int, Any]) -> tuple[str, ...]:
    """The language's types of the parts of ids, which are the same for all of them."""
    found: dict[tuple[type, ...], int] = {}
    for row, id in ids.items():
        found.setdefault(tuple(map(type, id)) if isinstance(id, tuple) else (type(id),), row)
    known = [tuple(_kind(f"{name}[{row}]", part) for part in of) for of, row in found.items()]
    for kind, row in zip(known, found.values()):
        if kind != known[0]:
            raise InputError(
                f"{name}[{row}] is of {words(kind)}, and earlier ids are of {words(known[0])}; "
                "give ids of one class, such as by .astype(str)"
            )
    return known[0] if known else ("text",)


def _kind(at: str, of: type) -> str:
    for known, kind in KINDS.items():
        if issubclass(of, known) and of is not bool:
            return kind
    advice = WHOLE_FLOATS if issubclass(of, float) else "give texts, by str()"
    raise InputError(
        f"{at} is of the class {of.__name__}, and ids are texts, integers or bytes; {advice}"
    )


def words(kinds: Sequence[str]) -> str:
    """Ids of these kinds, for a message."""
    return ", ".join({"i128": "integers", "text": "texts"}.get(kind, kind) for kind in kinds)
