"""Columns and tables of other packages as Python's values.

Whatever has Arrow's C data interface (the PyCapsule protocol) is read by it: columns and DataFrames
of Polars, PyArrow, pandas and others, none of which this package needs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence, Set
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np
from arro3.core import ChunkedArray, Table
from numpy.typing import NDArray

from . import _tacit
from .errors import InputError

MISSING = ("NoneType", "NAType", "NaTType")
"""Classes of which the only value stands for a missing one."""


MOST_DIGITS = 5000
"""More than a number of any type has."""

FINE_UNITS = ("ns", "ps", "fs", "as")
"""Units of time in which NumPy's lists have integers."""


def is_frame(value: Any) -> bool:
    """Whether a value has columns."""
    if type(value).__name__ == "LazyFrame":
        raise InputError("a LazyFrame has no values yet; give what its collect() returns")
    return (
        isinstance(value, dict)
        or hasattr(value, "columns")
        or hasattr(value, "__arrow_c_stream__")
    )


def column(frame: Any, name: str) -> Any:
    """Column `name` of a DataFrame, a dict of columns or a table of Arrow; None where there is
    none."""
    is_frame(frame)
    try:
        if isinstance(frame, Mapping) or hasattr(frame, "columns"):
            return frame[name]
        return Table.from_arrow(frame)[name]
    except Exception:  # Each package has an exception of its own for a name that it does not know.
        return None


def names(frame: Any) -> list[str]:
    """The names of the columns of a DataFrame, a dict of columns or a table of Arrow."""
    if isinstance(frame, Mapping):
        return list(frame)
    if not hasattr(frame, "columns"):
        frame = Table.from_arrow(frame)
    return list(getattr(frame, "column_names", None) or frame.columns)


def no_column(at: str, frame: Any, name: str, argument: str = "") -> str:
    """That there is no column `name`, for which `argument` asks: which there are, and which may be
    meant."""
    known = [str(one) for one in names(frame)]
    meant = _tacit.most_like(name, known)
    guess = f"; did you mean {meant!r}?" if meant else ""
    return f"{at} has no column {argument}{name!r}; it has {', '.join(known) or 'none'}{guess}"


def memory(column: Any) -> tuple[str, int, Sequence[int], bytes] | None:
    """What an array or column of bools or numbers has in memory, without a gap and little-endian:
    NumPy's kind and size of the numbers, the array's sizes, and its bytes. None for all else, and
    where a number is missing: `values` and `present` are for these."""
    if isinstance(column, (list, tuple, np.ma.MaskedArray)) or hasattr(column, "columns"):
        return None
    array = column
    if not isinstance(column, np.ndarray):
        try:
            if hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__"):
                array = ChunkedArray.from_arrow(column).to_numpy()
            else:
                array = column.__array__()
        except ImportError:  # pandas without PyArrow.
            array = np.asarray(column)
        except Exception:  # No array, or none of numbers: one of texts, decimals, missing values.
            return None
    kind, size = array.dtype.kind, array.dtype.itemsize
    if not array.ndim or kind not in "biuf" or size > 8:
        return None
    if kind == "f":
        array, size = array.astype(np.float64, copy=False), 8
        if not np.isfinite(array).all():
            return None
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return kind, size, array.shape, little.tobytes()


def array(memory: bytearray, dtype: str, sizes: Sequence[int]) -> NDArray[Any]:
    """The array that has this memory."""
    return np.ndarray(sizes, np.dtype(dtype).newbyteorder("<"), memory)


def values(column: Any) -> Any:
    """What an array or column has, as lists of Python's values, of a DataFrame its rows; None where
    it is neither."""
    if isinstance(column, Decimal):
        return _digits(column)
    if hasattr(column, "columns"):
        columns = [items(values_of) for values_of in map(column.__getitem__, names(column))]
        whole = [values_of for values_of in columns if values_of is not None]
        return [list(row) for row in zip(*whole)] if len(whole) == len(columns) else None
    if hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__"):
        try:
            return ChunkedArray.from_arrow(column).to_pylist()
        except Exception:  # pandas without PyArrow, and values that Arrow has no type for.
            pass
    if isinstance(column, np.ndarray) and column.dtype.kind == "S" and column.dtype.itemsize:
        # NumPy's own list leaves zeros at the end out.
        column = np.ascontiguousarray(column).view(f"V{column.dtype.itemsize}")
    if isinstance(column, (np.ndarray, np.generic)) and column.dtype.kind in "mM":
        dtype: Any = column.dtype
        if np.datetime_data(dtype)[0] in FINE_UNITS:
            column = column.astype(f"{dtype.kind}8[us]")
    for method in ("tolist", "to_list", "as_py"):
        if hasattr(column, method):
            return getattr(column, method)()
    return None


def items(column: Any) -> list[Any] | None:
    """The items of a list, array or column, no more than it says that it has; None for all else."""
    if isinstance(column, list):
        found = list(list.__iter__(column))
    elif isinstance(column, tuple):
        found = list(tuple.__iter__(column))
    elif isinstance(listed := values(column), list):
        found = listed
    elif isinstance(column, Collection) and not isinstance(column, (str, bytes, Mapping, Set)):
        found = list(islice(column, len(column)))
    else:
        return None
    return [plain(value) for value in found]


def plain(value: Any) -> Any:
    """A bool or number of NumPy's as one of Python's; other values as they are."""
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "biuf" else value


def refusal(value: Any) -> str:
    """Why a single value is none that Tacit takes."""
    name = type(value).__name__
    if name in MISSING:
        return "is missing; fill it, or leave its row out"
    if isinstance(value, float):
        what = "missing, or no number (NaN)" if math.isnan(value) else "infinite and no number"
        return f"is {what}; fill it, or leave its row out"
    if isinstance(value, (int, Decimal)):
        return f"is no number, or has more than {MOST_DIGITS} digits; give one that its type has"
    if isinstance(value, bytes):
        return (
            "is of bytes, which the type bytes<n> alone takes; give a number, or a text by .decode()"
        )
    if isinstance(value, str):
        return "has half of a surrogate pair, which is no character; leave it out"
    if name in ("longdouble", "float128"):
        return f'has the class {name}, which Tacit does not take; convert it by .astype("float64")'
    return (
        f"has the class {name}, which Tacit does not take; give bools, numbers, texts or bytes, or "
        "lists, arrays or columns of them"
    )


def encoded(at: str, text: str) -> bytes:
    """A text's bytes in UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{at} {refusal(text)}") from None


def _digits(number: Decimal) -> str | None:
    """A decimal number in full, unless it is none or has more digits than any type."""
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or max(-exponent, number.adjusted()) > MOST_DIGITS:
        return None
    return format(number, "f")


def is_missing(value: Any) -> bool:
    """Whether a cell has no value."""
    is_nan = isinstance(value, float) and math.isnan(value)
    return is_nan or type(value).__name__ in MISSING


def present(at: str, value: Any) -> Any:
    """The value, unless it is a missing one."""
    if is_missing(value):
        raise InputError(f"{at} is missing; fill it, or leave its row out")
    return value
