"""Small tables that read well in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, overload


class Table(Sequence[Mapping[str, Any]]):
    """Rows with the same keys; `pandas.DataFrame(list(table))` makes a frame of it."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], note: str = "") -> None:
        self._rows = [dict(row) for row in rows]
        self._note = note

    @overload
    def __getitem__(self, at: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, at: int | slice) -> Any:
        return self._rows[at]

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


def shown(name: str, value: object) -> str:
    """A cell as text, by the unit in which its name ends."""
    if value is None:
        return ""
    if name.endswith("seconds") and isinstance(value, float):
        return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:.2f} ms"
    if name.startswith("bytes") or name.endswith("bytes"):
        return size(value) if isinstance(value, int) else str(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


def size(count: int) -> str:
    """A number of bytes as people write it."""
    if count < 10_000:
        return f"{count:,} B"
    for unit in ("KiB", "MiB", "GiB"):
        count_of_unit = count / 1024 ** (("KiB", "MiB", "GiB").index(unit) + 1)
        if count_of_unit < 1024 or unit == "GiB":
            return f"{count_of_unit:,.1f} {unit}"
    raise AssertionError("the last unit has no limit")
