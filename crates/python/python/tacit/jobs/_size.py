"""How many rows a job takes, which is known before its program is compiled.

A function has at most 2^25 values between its components. Those of a job are counted here as bits:
what each merge, and each component that walks over merged rows, gives for a row, and each party's
inputs twice, as they are given and as columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..errors import InputError

MOST_VALUES = 2**25


def compared(rows: int, others: int) -> int:
    """How many pairs of rows `std::order::merge_by` compares."""
    log = (max(rows, others, 2) - 1).bit_length()
    half = 1 << log
    first = half - rows
    pairs = max(0, others - first)
    for level in range(1, log + 1):
        step = half >> level
        low = np.arange(step, 2 * half - step, 2 * step)
        end = np.minimum(low + step, half + others - step)
        pairs += int(np.maximum(0, end - np.maximum(low, first)).sum())
    return pairs


def merged(rows: int, others: int, width: int) -> int:
    """The values of a merge of rows of this many bits."""
    return 2 * width * compared(rows, others)


def noise(params: Mapping[str, int], drawn: Mapping[str, int]) -> int:
    """The values of noise on results, of which `drawn` has how many numbers each has."""
    return sum(512 * params[name] * numbers for name, numbers in drawn.items())


def check(rows: int, what: str, values: Callable[[int], int]) -> None:
    """Refuses more rows than a job takes, whose program has `values` of that many."""
    if rows < 1 or values(rows) <= MOST_VALUES:
        return
    least, most = 0, rows
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if values(middle) <= MOST_VALUES else (least, middle)
    raise InputError(
        f"the job takes at most {least:,} {what}, and {rows:,} are asked for; give fewer rows or "
        "narrower numbers, both parties the same"
    )
