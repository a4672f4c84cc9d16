"""Columns and tables of other packages, by Arrow's C data interface."""

from __future__ import annotations

import datetime
import math
import sys
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import arro3.core as arro3
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tacit
from tacit.errors import InputError

from conftest import Parties

COLUMN = """
parties alice, bob;
main(x: [{0}; 3] of alice, y: {0} of bob) -> (x: [{0}; 3] to both) {{ x }}
"""

ARRAY = """
parties alice, bob;
main(x: [{0}; 3] of alice, y: bool of bob) -> (x: [{0}; 3] to both) {{ x }}
"""

TABLE = """
parties alice, bob;
struct Row { id: u16, name: text<20>, at: fixed<8, 8>, huge: i100, key: bytes<2>, new: bool }
main(rows: [Row; ..4] of alice, y: bool of bob) -> (rows: [Row; ..4] to both) { rows }
"""

ROWS: list[dict[str, Any]] = [
    {"id": 7, "name": "añ", "at": -1.5, "huge": -(2**99), "key": b"ab", "new": True},
    {"id": 65, "name": "longer than twelve", "at": 0.25, "huge": 1, "key": b"\0\1", "new": False},
]

COLUMNS: list[Callable[[list[Any]], Any]] = [
    pd.Series,
    pl.Series,
    pa.array,
    lambda values: pa.chunked_array([values[:1], values[1:]]),
    lambda values: pa.array(values).dictionary_encode(),
    lambda values: arro3.Array(pa.array(values)),
]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    ("type", "values"),
    [
        ("bool", [True, False, True]),
        ("u64", [0, 2**53 + 1, 2**63 - 1]),
        ("i9", [-256, 0, 255]),
        ("fixed<10, 6>", [-512.0, -0.015625, 511.984375]),
        ("text<20>", ["", "é", "longer than twelve"]),
        ("bytes<2>", [b"ab", b"\0\0", b"\xff\1"]),
    ],
)
def test_a_column_of_any_package_is_an_input(
    column: Callable[[list[Any]], Any], type: str, values: list[Any]
) -> None:
    function = tacit.function(COLUMN.format(type))
    assert list(function.eval(column(values), values[0])) == values


@pytest.fixture(params=["with PyArrow", "without"])
def pyarrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """pandas has Arrow's interface where PyArrow is installed."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(ImportError):
            getattr(pd.Series([1]), "__arrow_c_stream__")()


@pytest.mark.usefixtures("pyarrow")
def test_a_column_of_pandas_needs_no_pyarrow() -> None:
    u8 = tacit.function(COLUMN.format("u8"))
    for dtype in ("int64", "Int64", "uint8", "category", object):
        assert u8.eval(pd.Series([1, 2, 3], dtype=dtype), 0).tolist() == [1, 2, 3]
    for missing in (pd.Series([1, None, 3]), pd.Series([1, None, 3], dtype="Int64")):
        with pytest.raises(InputError, match=r"^x\[1\] is (missing|no number)"):
            u8.eval(missing, 0)
    text = tacit.function(COLUMN.format("text<4>"))
    with pytest.raises(InputError, match=r"^x\[2\] is (missing|no number)"):
        text.eval(pd.Series(["a", "b", None]), "")
    huge = tacit.function(COLUMN.format("i100"))
    assert huge.eval(pd.Series([2**98, 1, -(2**99)]), 0) == [2**98, 1, -(2**99)]
    with pytest.raises(InputError, match=r"^x\[0\] has the class (datetime|Timestamp)"):
        u8.eval(pd.Series(pd.date_range("2020-01-01", periods=3)), 0)


def test_floats_are_rounded_as_others_are() -> None:
    """To the nearest, ties to even, from single and half precision as well."""
    function = tacit.function(COLUMN.format("fixed<10, 2>"))
    given = [0.125, 0.375, -0.125]
    for column in (
        pl.Series(given),
        pl.Series(given, dtype=pl.Float32),
        pa.array(np.array(given, dtype="float16")),
        pl.Series([Decimal(str(value)) for value in given]),
    ):
        assert function.eval(column, 0).tolist() == [0.0, 0.5, 0.0]
    with pytest.raises(InputError, match=r"^x\[2\] is infinite and no number"):
        function.eval(pl.Series([0.0, 1.0, float("inf")]), 0)


@pytest.mark.parametrize(
    ("type", "dtype", "values"),
    [
        ("bool", "uint8", [0, 1, 1]),
        ("bool", "int8", [0, 2, 1]),
        ("bool", "float64", [0, 1, 1]),
        ("u8", "uint16", [0, 255, 7]),
        ("u8", "uint16", [0, 256, 7]),
        ("u8", "int64", [0, -1, 7]),
        ("u8", "bool", [True, False, True]),
        ("u8", "float64", [0, 1, 7]),
        ("u8", "float64", [0, 1.5, 7]),
        ("u64", "uint64", [0, 2**64 - 1, 2**53]),
        ("u64", "int64", [0, -(2**63), 2**53]),
        ("i8", "int16", [-128, 127, 0]),
        ("i8", "int16", [-128, 128, 0]),
        ("i8", "int16", [-129, 127, 0]),
        ("i100", "uint64", [0, 2**64 - 1, 1]),
        ("fixed<4, 4>", "int64", [-8, 7, 0]),
        ("fixed<4, 4>", "uint64", [0, 8, 0]),
        ("fixed<4, 4>", "float64", [-8, 7.99, 0.03125]),
        ("fixed<4, 4>", "float64", [-8.01, 7.99, 0]),
        ("fixed<4, 4>", "float64", [0, 8, 0]),
        ("fixed<4, 4>", "float64", [0, math.nan, 0]),
        ("fixed<4, 4>", "float64", [0, -math.inf, 0]),
        ("fixed<60, 20>", "float64", [2.0**58, -(2.0**59), 2.0**-60]),
        ("text<4>", "uint8", [1, 2, 3]),
        ("(u8, i8)", "int8", [[1, -1], [2, -2], [3, -3]]),
        ("(u8, i8)", "int8", [[1, -1], [-2, -2], [3, -3]]),
        ("[u8; 2]", "int8", [[1, 2], [3, 4], [5, 6]]),
        ("[u8; 2]", "int8", [1, 2, 3]),
        ("u8", "int8", [[1, 2], [3, 4], [5, 6]]),
        ("u8", "int8", [1, 2]),
        ("u8", "datetime64[D]", [1, 2, 3]),
        ("u8", "complex128", [1, 2, 3]),
    ],
)
def test_an_array_is_what_its_list_is(type: str, dtype: str, values: list[Any]) -> None:
    """The same value, or the same error with the same place."""

    def of(values: Any) -> Any:
        try:
            result = tacit.function(ARRAY.format(type)).eval(values, False)
        except InputError as error:
            return str(error)
        return np.asarray(result).tolist()

    array = np.array(values, dtype=dtype)
    expected = of(array.tolist())
    wide = np.zeros((len(values), 2, *array.shape[1:]), dtype=dtype)
    wide[:, 1] = array
    others = [array, wide[:, 1], array.astype(array.dtype.newbyteorder(">")), Foreign(array)]
    assert [of(other) for other in others] == [expected] * len(others)
    if isinstance(expected, list) and dtype == "float64":
        single = array.astype("float32")
        assert of(single) == of(single.tolist())


class Foreign:
    """An array of another package."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __array__(self) -> Any:
        return self._array

    def tolist(self) -> Any:
        return self._array.tolist()


def test_a_tie_is_even_however_long_its_digits_are() -> None:
    """Ties that the shortest text of a float does not show."""
    function = tacit.function(ARRAY.format("fixed<2, 40>"))
    ties = [odd / 2**41 for odd in (1, 3, 2**40 + 1)]
    even = [0, 2 / 2**40, 2**39 / 2**40]
    for given in (ties, np.array(ties), pl.Series(ties)):
        assert function.eval(given, False).tolist() == even


def test_a_masked_value_is_missing() -> None:
    function = tacit.function(ARRAY.format("u8"))
    masked: Any = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    with pytest.raises(InputError, match=r"^x\[1\] is missing"):
        function.eval(masked, False)


def test_no_object_is_made_for_each_number() -> None:
    count = 100_000
    function = tacit.function(ARRAY.format("u32").replace("; 3]", f"; {count}]"))
    numbers = np.arange(count, dtype="uint32") * 40_000
    for column in (numbers, pl.Series(numbers), pa.array(numbers)):
        tracemalloc.start()
        result = function.eval(column, False)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (result == numbers).all()
        # The bytes on the way in and on the way out; a list has twice as many for its places alone.
        assert most < 3 * numbers.nbytes
    result += 1  # It is the caller's own.


def frames() -> list[Any]:
    data = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    data["extra"] = [datetime.date(2020, 1, 1)] * 2
    narrow = {**data, "huge": pa.array(data["huge"], pa.decimal128(38, 0))}
    table = pa.table(narrow)
    return [
        pd.DataFrame(data),
        pl.DataFrame({**data, "huge": pl.Series(data["huge"], dtype=pl.Decimal(38, 0))}),
        table,
        table.to_batches()[0],
        arro3.Table.from_arrow(table),
        pl.DataFrame(table).select(pl.struct(pl.all())).to_series(),
        data,
        ROWS,
    ]


@pytest.mark.parametrize("number", range(len(frames())))
def test_a_table_of_any_package_is_an_input(number: int) -> None:
    assert tacit.function(TABLE).eval(frames()[number], False) == ROWS


def test_a_missing_value_is_named_by_row_and_column() -> None:
    function = tacit.function(TABLE)
    names: list[str | None] = ["a", None]
    data = {**{name: [row[name] for row in ROWS] for name in ROWS[0]}, "name": names}
    data["huge"] = [1, 2]
    for frame in (pd.DataFrame(data), pl.DataFrame(data), pa.table(data), data):
        with pytest.raises(InputError, match=r"^rows\[1\].name is missing; fill it, or leave"):
            function.eval(frame, False)
    job = tacit.jobs.intersection(rows=4)
    session: Any = None
    for frame in (pl.DataFrame(data), pd.DataFrame(data)):
        with pytest.raises(InputError, match=r"^name has no valid value in \[1\]"):
            job.run(session, frame, party="left", id="name")
    with pytest.raises(InputError, match="no column id='ids'; it has id, name, at"):
        job.run(session, pl.DataFrame(data), party="left", id="ids")


def test_a_result_is_a_table_of_any_package(parties: Parties) -> None:
    function = tacit.function(TABLE)
    alice, bob = parties.meet(
        lambda session: session.run(function, rows=ROWS)["rows"],
        lambda session: session.run(function, y=True)["rows"],
    )
    assert alice == bob == ROWS
    assert bob["name"] == [row["name"] for row in ROWS]
    assert bob["id"].dtype == "uint16" and bob["id"].tolist() == [7, 65]
    polars = pl.DataFrame(pa.table(bob))
    types = [pl.UInt16, pl.String, pl.Float64, pl.String, pl.Binary, pl.Boolean]
    assert polars.dtypes == types
    expected = [{**row, "huge": str(row["huge"])} for row in ROWS]
    assert polars.to_dicts() == pa.table(bob).to_pylist() == expected
    pandas = getattr(pd.DataFrame, "from_arrow")(bob)
    assert pandas["id"].tolist() == [7, 65]
    assert pd.DataFrame(bob)["huge"].tolist() == [-(2**99), 1]
    # What a run gives, another takes.
    assert function.eval(bob, False) == ROWS


def test_an_empty_table_keeps_its_columns() -> None:
    rows = tacit.function(TABLE).eval([], False)
    assert rows == [] and pa.table(rows).column_names == list(ROWS[0])
    assert repr(rows) == "id  name  at  huge  key  new"


def test_a_long_table_is_shown_in_part() -> None:
    function = tacit.function(
        """
        parties alice, bob;
        struct Row { id: u16, pair: (u8, u8) }
        main(a: u8 of alice, b: u8 of bob) -> (rows: [Row; 1000] to both) {
            [for i in 0..1000 { Row { id: i, pair: (a, b) } }]
        }
        """
    )
    rows = function.eval(1, 2)
    assert repr(rows).endswith("(1, 2)\nand 980 more rows") and len(repr(rows)) < 1000
    assert "and 980 more rows" in rows._repr_html_()
    with pytest.raises(InputError, match="pair has lists or structs"):
        pa.table(rows)
    assert pd.DataFrame(rows)["pair"].tolist() == [(1, 2)] * 1000


def test_a_misspelt_column_is_told_with_those_that_are_there() -> None:
    marked = tacit.function(
        """
        parties shop, bank;
        struct Order { id: u32, name: text<8> }
        main(orders: [Order; 2] of shop, limit: u32 of bank) -> (marks: [bool; 2] to both) {
            [for o in orders { o.id > limit }]
        }
        """
    )
    frame = pd.DataFrame({"id": [7, 8], "nmae": ["a", "b"], "more": [1, 2]})
    with pytest.raises(InputError, match="'name'; it has id, nmae, more; did you mean 'nmae'"):
        marked.eval(frame, 7)
    for missing in (None, float("nan")):
        frame = pd.DataFrame({"id": [7, 8], "name": ["a", missing]})
        with pytest.raises(InputError, match=r"orders\[1\].name is missing"):
            marked.eval(frame, 7)
