"""Functions: what they say of themselves, and their runs in the clear."""

from __future__ import annotations

import inspect
import re

import pytest
import tacit
from tacit.errors import InputError, UsageError


def test_the_package_says_its_release() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tacit.__version__)


def test_a_function_of_the_library_runs_in_the_clear() -> None:
    richer = tacit.function("millionaires", bits=32)
    assert richer.eval(50, 41) is True
    assert richer.eval(a=41, b=50) is False


def test_its_signature_is_seen_by_help_and_editors() -> None:
    richer = tacit.function("millionaires", bits=32)
    assert str(inspect.signature(richer.eval)) == "(a: u32, b: u32) -> bit"
    assert "a: u32, of garbler" in str(inspect.getdoc(richer.eval))
    assert repr(richer).startswith("millionaires(a: u32 of garbler, b: u32 of evaluator)")
    assert richer.inputs[1] == tacit.Port("b", "u32", "evaluator")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"a": 1}, "has no value"),
        ({"a": 1, "c": 2}, "no input"),
        ({"a": -1, "b": 2}, "from 0 to"),
        ({"a": 2**32, "b": 2}, "from 0 to"),
        ({"a": 2**70, "b": 2}, "from 0 to"),
        ({"a": 1.5, "b": 2}, "from 0 to"),
        ({"a": float("nan"), "b": 2}, "no number"),
        ({"a": None, "b": 2}, "is missing"),
        ({"a": [1], "b": 2}, "list"),
        ({"a": object(), "b": 2}, "object"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        tacit.function("millionaires", bits=32).eval(**values)


def test_endless_nesting_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(InputError, match="found a list"):
        tacit.function("millionaires", bits=32).eval(endless, 1)


def test_a_wrong_name_or_parameter_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError):
        tacit.function("no-such-function")
    with pytest.raises(InputError):
        tacit.function("millionaires", bits=0)


def test_a_misspelt_name_has_a_guess() -> None:
    with pytest.raises(InputError, match='did you mean "millionaires"'):
        tacit.function("milionaires", bits=32)


def test_every_error_has_the_common_base() -> None:
    own = vars(tacit.errors).values()
    kinds = [kind for kind in own if getattr(kind, "__module__", "") == "tacit.errors"]
    assert len(kinds) > 8
    assert all(issubclass(kind, (tacit.TacitError, UserWarning)) for kind in kinds)


def test_cost_is_a_table() -> None:
    cost = tacit.function("millionaires", bits=32).cost()
    assert {row["protocol"] for row in cost} == {"direct", "prepared"}
    assert all(row["bytes"] > 0 for row in cost)
    assert "32 AND gates, secure against semi-honest parties" in repr(cost)
    assert "round trips" in repr(cost) and "<table>" in cost._repr_html_()
    malicious = tacit.function("millionaires", bits=32).cost(security="malicious")
    assert {row["protocol"] for row in malicious} == {"batch", "authenticated"}
    with pytest.raises(UsageError):
        tacit.function("millionaires", bits=32).cost("fast")


def test_a_cell_cannot_be_html() -> None:
    table = tacit.Table([{"name": "<script>"}], note="<b>")
    assert "<script>" not in table._repr_html_() and "<b>" not in table._repr_html_()


def test_the_library_is_listed() -> None:
    assert {"millionaires", "aes-128"} <= set(tacit.library())
