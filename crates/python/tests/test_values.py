"""Values that cannot be read: each is an `InputError` at once, and none is read as another."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import count, repeat
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tacit
from tacit.errors import InputError

FUNCTION = """
parties alice, bob;
enum Colour {{ Red, Green }}
struct Row {{ key: {0}, count: u8 }}
main(x: {1} of alice, y: bool of bob) -> (x: {1} to both) {{ x }}
"""


def read(type: str, value: Any, field: str = "u8") -> Any:
    """The value as one of this type."""
    return tacit.function(FUNCTION.format(field, type)).eval(value, False)


class Itself:
    """Converts to itself."""

    def tolist(self) -> Itself:
        return self


class Another:
    """Converts to another one, without end."""

    def tolist(self) -> Another:
        return Another()


class Endless(list[int]):
    """A list of two that never ends when it is iterated."""

    def __iter__(self) -> Iterator[int]:
        return repeat(5)


class Growing:
    """A value that adds a field to the row that it is in when it is read."""

    def __init__(self, row: dict[str, Any]) -> None:
        self._row = row

    def tolist(self) -> int:
        self._row[str(len(self._row))] = 1
        return 1


def holding(value: Any) -> Any:
    """An array without sizes that holds one object."""
    array = np.empty((), object)
    array[()] = value
    return array


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def its_own() -> Any:
    array = holding(None)
    array[()] = array
    return array


def twofold() -> Any:
    """As a tree it has 2^40 leaves."""
    value: Any = [1, 1]
    for _ in range(40):
        value = [value, value]
    return value


@pytest.mark.parametrize("type", ["u8", "[u8; 2]", "fixed<16, 16>", "text<4>", "[[u8; 2]; 2]"])
@pytest.mark.parametrize(
    "value",
    [
        np.longdouble(1.5),
        np.array([1.5, 2.0], dtype=np.longdouble),
        np.clongdouble(1),
        holding(np.longdouble(1)),
        holding(Itself()),
        Itself(),
        [Itself(), Itself()],
        Another(),
        its_own(),
        holding(holding(holding(holding(5)))),
        nested(50),
        nested(100_000),
        twofold(),
        count(),
        Decimal("1e999999999"),
        Decimal("-1e-999999999"),
        10**5000,
        "\ud800",
        {"\ud800": 1},
        {1: 1},
        pl.LazyFrame({"a": [1, 2]}),
    ],
    ids=lambda value: value.__class__.__name__,
)
def test_what_cannot_be_read_is_refused_at_once(type: str, value: Any) -> None:
    with pytest.raises(InputError):
        read(type, value)


def test_an_array_without_sizes_is_its_value() -> None:
    assert read("u8", np.array(5)) == 5
    assert read("u8", holding(np.int64(5))) == 5
    assert read("[u8; 2]", [np.int64(5), np.uint8(6)]).tolist() == [5, 6]


def test_a_list_has_what_it_holds() -> None:
    assert read("[u8; 2]", Endless([1, 2])).tolist() == [1, 2]
    with pytest.raises(InputError, match="found a list"):
        read("u8", Endless([1, 2]))
    row: dict[str, Any] = {}
    row.update(key=Growing(row), count=Growing(row))
    assert read("Row", row) == {"key": 1, "count": 1}


BINARY: list[Any] = [
    [b"12", b"34"],
    np.array([b"12", b"34"]),
    np.array([b"12", b"34"], dtype="V2"),
    np.array([b"12", b"34"], dtype=object),
    pd.Series([b"12", b"34"]),
    pl.Series([b"12", b"34"]),
    pa.array([b"12", b"34"]),
    pa.array([b"12", b"34"], pa.binary(2)),
]
"""Columns of bytes, which are hexadecimal digits as well."""


@pytest.mark.parametrize(
    "type", ["bool", "u8", "i32", "u100", "fixed<16, 16>", "text<4>", "Colour", "(u8, u8)"]
)
@pytest.mark.parametrize("column", BINARY)
def test_bytes_are_for_the_type_of_bytes_alone(type: str, column: Any) -> None:
    words = r"is of bytes, which the type bytes<n> alone takes"
    with pytest.raises(InputError, match=rf"^x\[0\] {words}"):
        read(f"[{type}; 2]", column)
    for one in (b"12", b"\x12", np.bytes_(b"1"), np.void(b"1")):
        with pytest.raises(InputError, match=f"^x {words}"):
            read(type, one)
    frame = {"key": column, "count": [1, 2]}
    for rows in (frame, [dict(zip(frame, row)) for row in zip(*frame.values())]):
        with pytest.raises(InputError, match=rf"^x\[0\].key {words}"):
            read("[Row; 2]", rows, field=type)


def test_bytes_are_bytes_whatever_holds_them() -> None:
    for column in BINARY:
        assert read("[bytes<2>; 2]", column) == [b"12", b"34"]
        frame = {"key": column, "count": [1, 2]}
        assert read("[Row; 2]", frame, field="bytes<2>")["key"] == [b"12", b"34"]
    # NumPy's own list leaves zeros at the end out.
    zeros = np.array([b"a\0", b"\0\0"], dtype="S2")
    assert read("[bytes<2>; 2]", zeros) == [b"a\0", b"\0\0"]
    with pytest.raises(InputError, match=r"^x\[0\]"):
        read("[bytes<2>; 2]", np.array([b"abc", b"abc"]))


def test_bytes_are_not_read_as_the_number_of_a_circuit() -> None:
    function = tacit.function("millionaires", bits=32)
    for value in (b"12", b"\x12"):
        with pytest.raises(InputError, match="^a is of bytes"):
            function.eval(value, 5)


def test_nanoseconds_are_no_integers() -> None:
    for value in (
        np.array([1, 2], dtype="datetime64[ns]"),
        np.array([1, 2], dtype="timedelta64[ns]"),
        [np.datetime64(1, "ns"), np.timedelta64(1, "ps")],
    ):
        with pytest.raises(InputError, match=r"^x\[0\] has the class (datetime|timedelta)"):
            read("[u64; 2]", value)


def test_a_frame_is_a_matrix_of_its_rows() -> None:
    data = {"a": [1, 2, 2**53 + 1], "b": [0.5, 1.5, -2.0]}
    for frame in (pd.DataFrame(data), pl.DataFrame(data), pa.table(data)):
        rows = read("[(u64, fixed<8, 8>); 3]", frame)
        assert rows == [(1, 0.5), (2, 1.5), (2**53 + 1, -2.0)]
    whole = {"a": [1, 2, 3], "b": [4, 5, 6]}
    for frame in (pd.DataFrame(whole), pl.DataFrame(whole), pa.table(whole)):
        assert read("[[u8; 2]; 3]", frame).tolist() == [[1, 4], [2, 5], [3, 6]]
    with pytest.raises(InputError, match="a list of 3"):
        read("[[u8; 2]; 4]", pd.DataFrame(whole))


def test_a_lazy_frame_is_told_to_be_collected() -> None:
    lazy = pl.LazyFrame({"id": [1, 2], "key": [1, 2], "count": [1, 2]})
    with pytest.raises(InputError, match=r"LazyFrame has no values yet; .*collect\(\)"):
        read("[Row; 2]", lazy)
    with pytest.raises(InputError, match=r"LazyFrame has no values yet; .*collect\(\)"):
        tacit.jobs.intersection(rows=2).check(lazy, party="left", id="id")
