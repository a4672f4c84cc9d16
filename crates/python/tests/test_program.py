"""Programs of the language: their values in Python, DataFrames, and what is wrong with them."""

from __future__ import annotations

import inspect
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tacit
from tacit.errors import InputError, ProgramError, ProgramWarning, UsageError

from conftest import Parties

GAP = """
/// Whether two salaries differ by more than a limit.
parties alice, bob;
param LIMIT: 0..=1000 = 100;
main(a: u32 of alice, b: u32 of bob) -> (differ: bool to both) { max(a, b) - min(a, b) > LIMIT }
"""

ALL = """
parties alice, bob;
enum Colour { Red, Green }
struct Row { id: u16, name: text<4>, colour: Colour, at: fixed<8, 8> }
main(
    rows: [Row; ..4] of alice, key: bytes<2> of alice, huge: i100 of alice,
    bits: [[bool; 2]; 2] of bob,
) -> (
    rows: [Row; ..4] to both, key: bytes<2> to both, pair: (i100, bool) to bob,
    flip: [[bool; 2]; 2] to both,
) {
    (rows, key, (huge, bits[0][0]), [for row in bits { [for bit in row { !bit }] }])
}
"""

ROWS = [
    {"id": 7, "name": "añ", "colour": "Green", "at": -1.5},
    {"id": 65535, "name": "", "colour": "Red", "at": 0.25},
]


def test_a_program_from_text_runs_in_the_clear_and_between_parties(parties: Parties) -> None:
    gap = tacit.function(GAP, LIMIT=5)
    assert gap.eval(10, 4) is True and gap.eval(10, 5) is False
    alice, bob = parties.meet(
        lambda session: session.run(gap, a=10), lambda session: session.run(gap, b=4)
    )
    assert alice["differ"] is bob["differ"] is True


def test_a_program_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "gap.tacit").write_text(GAP)
    for path in (tmp_path / "gap.tacit", str(tmp_path / "gap.tacit")):
        gap = tacit.function(path)
        assert str(inspect.signature(gap.eval)) == "(a: u32, b: u32) -> bool"
        assert "differ by more than a limit" in str(gap.__doc__)
        assert (gap.name, gap.parties) == ("gap", ("alice", "bob"))
        assert gap.outputs == [tacit.Port("differ", "bool", "both")]


def test_a_mistake_is_shown_with_its_place() -> None:
    with pytest.raises(ProgramError) as error:
        tacit.function("parties a, b;\nmain(x: u8 of a, y: u9 of b) -> (z: bool to both) { x < y }")
    (place,) = error.value.places
    assert (place["file"], place["line"]) == ("<text>", 2)
    assert "x < y" in str(error.value)
    with pytest.raises(InputError, match="cannot be read"):
        tacit.function("no-such-file.tacit")
    with pytest.raises(InputError, match="LIMITS|LIMIT"):
        tacit.function(GAP, LIMITS=3)
    with pytest.raises(InputError):
        tacit.function(GAP, LIMIT=1001)
    with pytest.raises(UsageError, match="for programs"):
        tacit.function("millionaires", public={"x": 1}, bits=8)


def test_what_a_program_may_get_wrong_is_a_warning() -> None:
    source = """
        parties alice, bob;
        main(a: [u8; 9] of alice, b: u8 of bob) -> (total: u8 to both) {
            let mut total = b;
            for x in a { total += x; }
            total
        }
    """
    with pytest.warns(ProgramWarning, match="may wrap") as warned:
        assert tacit.function(source).eval([255, 0, 0, 0, 0, 0, 0, 0, 1], 1) == 1
    (told,) = warned
    assert isinstance(told.message, ProgramWarning) and told.message.place["line"] == 5
    assert "total += x" in str(told.message) and told.filename == __file__


def test_values_of_all_types_come_back(parties: Parties) -> None:
    function = tacit.function(ALL)
    huge = -(2**99)
    bits = np.array([[True, False], [False, True]])
    inputs: dict[str, Any] = {"rows": ROWS, "key": b"\0\1", "huge": huge}
    clear = function.eval(**inputs, bits=bits)
    alice, bob = parties.meet(
        lambda session: session.run(function, inputs),
        lambda session: session.run(function, bits=bits),
    )
    for results in (clear, bob):
        assert results["rows"] == ROWS
        assert results["key"] == b"\0\1"
        assert results["pair"] == (huge, True)
        assert results["flip"].dtype == bool and (results["flip"] == ~bits).all()
    assert list(alice) == ["rows", "key", "flip"]


def test_a_frame_without_a_column_or_with_a_gap_is_refused() -> None:
    function = tacit.function(ALL)
    frame = pd.DataFrame(ROWS)
    with pytest.raises(InputError, match="no column 'at'; it has id, name, colour"):
        function.eval(frame.drop(columns="at"), b"ab", 1, [[0, 0], [0, 0]])
    with pytest.raises(InputError, match=r"rows\[1\].at is missing"):
        function.eval(frame.assign(at=[1.0, float("nan")]), b"ab", 1, [[0, 0], [0, 0]])
    with pytest.raises(InputError, match="has 1 values"):
        columns = {"id": [1, 2], "name": ["a"], "colour": ["Red"] * 2, "at": [0, 0]}
        function.eval(columns, b"ab", 1, [[0, 0], [0, 0]])


COLUMN = """
parties alice, bob;
main(x: [{0}; 4] of alice, y: {0} of bob) -> (x: [{0}; 4] to both) {{ x }}
"""


@pytest.mark.parametrize(
    ("type", "dtype", "values"),
    [
        ("bool", "bool", [True, False, True, True]),
        ("u8", "uint8", [0, 1, 254, 255]),
        ("u20", "uint32", [0, 1, 2, 2**20 - 1]),
        ("u64", "uint64", [0, 1, 2**53 + 1, 2**64 - 1]),
        ("i7", "int8", [-64, -1, 0, 63]),
        ("i64", "int64", [-(2**63), -1, 0, 2**63 - 1]),
        ("fixed<10, 6>", "float64", [-512.0, -0.015625, 0.0, 511.984375]),
    ],
)
def test_a_column_is_an_input_and_a_result_is_a_column(
    type: str, dtype: str, values: list[Any]
) -> None:
    function = tacit.function(COLUMN.format(type))
    array = np.array(values, dtype=dtype)
    for column in (values, tuple(values), array, pd.Series(array)):
        result = function.eval(column, 0)
        assert result.dtype == np.dtype(dtype)
        assert result.tolist() == values
    wide = np.arange(8, dtype="int64").reshape(4, 2)[:, 0] % 2
    assert function.eval(wide, 0).tolist() == wide.tolist()


def test_a_float_is_rounded_to_the_nearest_and_ties_to_even() -> None:
    function = tacit.function(COLUMN.format("fixed<10, 2>"))
    given = [0.125, 0.375, -0.125, 0.3]
    assert function.eval(np.array(given), 0).tolist() == [0.0, 0.5, 0.0, 0.25]
    with pytest.raises(InputError):
        function.eval([512, 0, 0, 0], 0)


def test_great_fixed_numbers_stay_exact() -> None:
    function = tacit.function(COLUMN.format("fixed<60, 8>"))
    exact = Decimal("576460752303423487.5")
    assert function.eval([exact, 1, 2.5, "0.25"], 0) == [exact, 1, 2.5, 0.25]


def test_a_text_has_no_nul() -> None:
    function = tacit.function(COLUMN.format("text<4>"))
    assert function.eval(["a", "", "abcd", "é"], "") == ["a", "", "abcd", "é"]
    for text in ("a\0", "abcde", "\0"):
        with pytest.raises(InputError):
            function.eval([text, "", "", ""], "")


def test_public_inputs_and_random_bits(parties: Parties) -> None:
    source = """
        parties alice, bob;
        use std::random::random;
        main(a: u8 of alice, b: u8 of bob, limit: u8 public)
            -> (coin: u64 to both, over: bool to both) {
            (random::<u64>(), a + b > limit)
        }
    """
    function = tacit.function(source, public={"limit": 9})
    assert [port.name for port in function.inputs] == ["a", "b"]
    assert function.eval(5, 5)["over"] is True
    runs = [
        parties.meet(
            lambda session: dict(session.run(function, a=5)),
            lambda session: dict(session.run(function, b=4)),
        )
        for _ in range(2)
    ]
    assert all(alice == bob and alice["over"] is False for alice, bob in runs)
    assert runs[0][0]["coin"] != runs[1][0]["coin"]
    with pytest.raises(InputError, match="limit"):
        tacit.function(source)


def test_a_link_out_of_the_programs_folder_is_not_followed(tmp_path: Path) -> None:
    """A program of somebody else reads no file of its reader's."""
    (tmp_path / "own").mkdir()
    (tmp_path / "secret.tacit").write_text("const LIMIT: u32 = 0;\n")
    (tmp_path / "own" / "limits.tacit").symlink_to(tmp_path / "secret.tacit")
    program = tmp_path / "own" / "gap.tacit"
    program.write_text(
        "use limits::LIMIT;\n"
        "parties alice, bob;\n"
        "main(a: u32 of alice, b: u32 of bob) -> (more: bool to both) { a - b > LIMIT }\n"
    )
    with pytest.raises(ProgramError, match="a link out of the program's folder"):
        tacit.function(str(program))


TOO_MANY_GATES = """
parties alice, bob;
main(a: u512 of alice, b: u8 of bob) -> (y: u512 to both) {
    let mut x = a;
    for i in 0..100 { x = x * x + b as u512; }
    x
}
"""


def test_inputs_are_checked_before_a_program_is_compiled() -> None:
    # The compiler would refuse the program for its gates, which it finds when it has made them.
    f = tacit.function(TOO_MANY_GATES)
    with pytest.raises(InputError):
        f._native.check({"a": "12x"}, "garbler")
    with pytest.raises(InputError, match="no value is given for a"):
        f._native.check({}, "garbler")
    f._native.check({"a": 12}, "garbler")
    with pytest.raises(ProgramError, match="gates"):
        f.compile(progress=lambda done, total: None)


def test_a_program_of_too_many_steps_is_refused_at_once() -> None:
    calls = "".join(f"fn f{n}(x: u8) -> u8 {{ f{n + 1}(x) ^ f{n + 1}(x) }}\n" for n in range(40))
    text = f"""
    parties alice, bob;
    {calls} fn f40(x: u8) -> u8 {{ x + 1 }}
    main(a: u8 of alice, b: u8 of bob) -> (y: u8 to both) {{ f0(a) ^ b }}
    """
    with pytest.raises(ProgramError, match="steps"):
        tacit.function(text)
