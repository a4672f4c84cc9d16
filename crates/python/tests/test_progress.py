"""A notebook's bar: it shows what is done, and goes away."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tacit import _progress


def test_a_bar_shows_in_a_notebook_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)

    def display(html: str, display_id: bool) -> Any:
        shown.append(html)
        return handle

    fake = SimpleNamespace(HTML=str, display=display)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    monkeypatch.setattr(_progress, "BAR_AFTER_S", 0.0)
    with pytest.raises(ZeroDivisionError), _progress.listener(None) as bar:
        assert bar
        for done in (0, 1, 500, 501, 1000):
            bar(done, 1000)
        raise ZeroDivisionError
    assert ["value=0>", "value=50>", "value=100>"] == [part.split()[2][:-11] for part in shown[:-1]]
    assert shown[-1] == ""


def test_a_callback_hears_itself_and_false_is_silence() -> None:
    heard: list[tuple[int, int]] = []
    with _progress.listener(lambda done, total: heard.append((done, total))) as hears:
        assert hears
        hears(1, 2)
    with _progress.listener(False) as silence, _progress.listener(None) as nothing:
        assert silence is nothing is None
    assert heard == [(1, 2)]
