"""Columns and tables of other packages as Python's values.

Whatever has Arrow's C data interface (the PyCapsule protocol) is read by it: columns and DataFrames
of Polars, PyArrow, pandas and others, none of which this package needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from arro3.core import ChunkedArray, Table
from numpy.typing import NDArray

from . import _tacit
from .errors import InputError

MISSING = ("NoneType", "NAType", "NaTType")
"""Classes of which the only value stands for a missing one."""


def column(frame: Any, name: str) -> Any:
    """Column `name` of a DataFrame, a dict of columns or a table of Arrow; None where there is
    none."""
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
    """What an array or column has, as lists of Python's values; None where it is neither."""
    if hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__"):
        try:
            return ChunkedArray.from_arrow(column).to_pylist()
        except Exception:  # pandas without PyArrow, and values that Arrow has no type for.
            pass
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            return getattr(column, method)()
    return None


def present(at: str, value: Any) -> Any:
    """The value, unless it is a missing one."""
    if type(value).__name__ in MISSING or (isinstance(value, float) and math.isnan(value)):
        raise InputError(f"{at} is missing; fill it, or leave its row out")
    return value
