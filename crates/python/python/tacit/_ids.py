"""Ids of rows: their kinds, and which rows have one of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _columns, _tacit
from .errors import InputError, UsageError

Normalize = Literal["none", "email", "phone", "date"]

WHOLE_FLOATS = "a column of floats that are whole is one of integers by .astype('Int64')"

KINDS = {str: "text", bytes: "bytes", int: "i128"}
"""The language's type for ids of each class."""


def is_missing(value: Any) -> bool:
    """Whether a cell, or a part of an id, has no value: an empty text has none."""
    if isinstance(value, (tuple, list)):
        return any(map(is_missing, value))
    if isinstance(value, str):
        return not value or value.isspace()
    return _columns.is_missing(value)


class Rows:
    """The rows of a table, of which a run takes some."""

    def __init__(self, name: str, ids: Sequence[Any], columns: Mapping[str, Sequence[Any]]) -> None:
        self._name, self._ids = name, ids
        self._lacking: dict[int, str] = {}
        for column, values in {name: ids, **columns}.items():
            for row, value in enumerate(values):
                if is_missing(value):
                    self._lacking.setdefault(row, column)
        self.present = {row: id for row, id in enumerate(ids) if row not in self._lacking}
        """The ids of the rows that lack no value."""

    def chosen(
        self, *, drop_missing: bool, keep: Literal["first"] | None, distinct: bool = True
    ) -> list[int]:
        """The rows to take, by number: with `drop_missing` those that lack no value, and with
        `keep` the first of each id. Without, others are errors, except for ids in several rows if
        they are not `distinct`."""
        numbers: dict[Any, int] = {}
        keys: list[int | None] = [None] * len(self._ids)
        for row, id in self.present.items():
            keys[row] = numbers.setdefault(id, len(numbers))
        most = 1 if distinct or keep else len(keys)
        table = (self._name, keys, self._lacking)
        return _tacit.chosen_rows(table, most, drop_missing, keep)


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
