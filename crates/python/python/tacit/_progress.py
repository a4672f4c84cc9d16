"""Progress of a run: what a callback hears, and a bar in a notebook."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int, int], object]
"""Hears the AND gates that are done and all of them, a hundred times a second at most."""

BAR_AFTER_S = 0.5
"""How long a run takes until a bar is worth its room."""


@contextlib.contextmanager
def listener(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """What hears of progress while something runs: as it was said, and in a notebook a bar unless
    told otherwise."""
    if callable(progress):
        yield progress
    elif progress is False or not _in_notebook():
        yield None
    else:
        bar = _Bar()
        try:
            yield bar
        finally:
            bar.close()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and getattr(shell, "kernel", None) is not None


class _Bar:
    """A bar that goes away when the run is over."""

    def __init__(self) -> None:
        # Through Any: IPython is not needed to use this package, and has no types of its own.
        self._ipython: Any = importlib.import_module("IPython.display")
        self._handle: Any = None
        self._percent = -1
        self._from = time.monotonic() + BAR_AFTER_S

    def __call__(self, done: int, total: int) -> None:
        percent = 100 * done // total
        if percent != self._percent and time.monotonic() >= self._from:
            self._percent = percent
            text = f"{done:,} of {total:,} AND gates"
            self._show(f"<progress max=100 value={percent}></progress> {text}")

    def _show(self, html: str) -> None:
        if self._handle is None:
            self._handle = self._ipython.display(self._ipython.HTML(html), display_id=True)
        else:
            self._handle.update(self._ipython.HTML(html))

    def close(self) -> None:
        if self._handle is not None:
            self._show("")
