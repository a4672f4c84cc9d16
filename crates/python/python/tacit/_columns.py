"""Columns and tables of other packages as Python's values.

Whatever has Arrow's C data interface (the PyCapsule protocol) is read by it: columns and DataFrames
of Polars, PyArrow, pandas and others, none of which this package needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from arro3.core import ChunkedArray, Table

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
