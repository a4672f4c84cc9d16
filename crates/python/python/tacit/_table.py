"""Small tables that read well in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any, overload

import numpy as np
from arro3.core import Array, DataType
from arro3.core import Table as ArrowTable

from .errors import InputError

MOST_SHOWN = 20
"""Rows of a result that are shown."""


class Table(Sequence[Mapping[str, Any]]):
    """Rows with the same keys, as dicts; `table["name"]` is a column. `pandas.DataFrame(table)`
    makes a frame of it."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], note: str = "") -> None:
        self._given, self._note = rows, note

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self._given]

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, Any]]: ...
    @overload
    def __getitem__(self, at: str) -> list[Any]: ...
    def __getitem__(self, at: int | slice | str) -> Any:
        return [row[at] for row in self._rows] if isinstance(at, str) else self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def _cells(self) -> list[list[str]]:
        heads = [name.replace("_", " ") for name in self._rows[0]] if self._rows else []
        return [heads] + [[shown(*cell) for cell in row.items()] for row in self._rows]

    def __repr__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells]
        return "\n".join([line.rstrip() for line in lines] + [self._note] * bool(self._note))

    def _repr_html_(self) -> str:
        def cell(text: str, tag: str) -> str:
            style = " style='white-space: nowrap'" * (len(text) < 40)
            return f"<{tag}{style}>{escape(text)}</{tag}>"

        def row(cells: list[str], tag: str) -> str:
            return f"<tr>{''.join(cell(text, tag) for text in cells)}</tr>"

        head, *body = self._cells()
        rows = "".join(row(cells, "td") for cells in body)
        note = f"<p>{escape(self._note)}</p>" * bool(self._note)
        return f"<table><thead>{row(head, 'th')}</thead><tbody>{rows}</tbody></table>{note}"


class Rows(Table):
    """The rows of a table that a run gives: a sequence of dicts, and a table of Arrow, so that
    `polars.DataFrame`, `pyarrow.table` and `pandas.DataFrame.from_arrow` make theirs of it.
    `rows["name"]` is a column: an array of NumPy, or a list where NumPy has no type for it."""

    def __init__(
        self, length: int, columns: Mapping[str, Any], types: Mapping[str, str | None]
    ) -> None:
        more = length - MOST_SHOWN
        super().__init__([], f"and {more:,} more rows" if more > 0 else "")
        self._length, self._columns, self._types = length, columns, types

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        columns = [
            column.tolist() if getattr(column, "ndim", 0) == 1 else column
            for column in self._columns.values()
        ]
        return [dict(zip(self._columns, row)) for row in zip(*columns)]

    def __getitem__(self, at: int | slice | str) -> Any:
        return self._columns[at] if isinstance(at, str) else self._rows[at]

    def __len__(self) -> int:
        return self._length

    def __arrow_c_schema__(self) -> object:
        return self._arrow().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow().__arrow_c_stream__(requested_schema)

    def _arrow(self) -> ArrowTable:
        columns: dict[str, Any] = {}
        for name, type in self._types.items():
            column = self._columns[name]
            if type is None:
                raise InputError(f"{name} has lists or structs; take it from the rows")
            if isinstance(column, np.ndarray):
                columns[name] = Array.from_numpy(column)
            else:
                texts = [str(value) for value in column] if type == "string" else column
                columns[name] = Array(texts, type=getattr(DataType, type)())
        return ArrowTable.from_pydict(columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def _cells(self) -> list[list[str]]:
        rows = self._rows[:MOST_SHOWN]
        return [list(self._types)] + [[str(row[name]) for name in self._types] for row in rows]


def shown(name: str, value: object) -> str:
    """A cell as text, by the unit in which its name ends."""
    if value is None:
        return ""
    if isinstance(value, float) and value == 0:
        return "0"
    if name.endswith("seconds") and isinstance(value, float):
        return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.2f} ms"
    if name.startswith("bytes") or name.endswith("bytes"):
        return size(value) if isinstance(value, int) else str(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def size(count: int) -> str:
    """A number of bytes as people write it."""
    if count == 0:
        return "0"
    if count < 10_000:
        return f"{count:,} B"
    for unit in ("KiB", "MiB", "GiB"):
        count_of_unit = count / 1024 ** (("KiB", "MiB", "GiB").index(unit) + 1)
        if count_of_unit < 1024 or unit == "GiB":
            return f"{count_of_unit:,.1f} {unit}"
    raise AssertionError("the last unit has no limit")
