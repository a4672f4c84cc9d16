"""Dirty tables against pandas: bad rows are named first, and then left out.

The tables have 2,000 rows, or as many as TACIT_DIRTY_ROWS says.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import tacit
from tacit.errors import InputError

from conftest import Parties

ROWS = int(os.environ.get("TACIT_DIRTY_ROWS", "2000"))
COMMAND = os.environ.get("TACIT_COMMAND", "")
"""The command `tacit`, against which a wheel alone is not tested."""

pytestmark = pytest.mark.timeout(120 if ROWS <= 2000 else 7200)
needs_command = pytest.mark.skipif(not COMMAND, reason="TACIT_COMMAND names no command")

SPENT = """
parties shop, bank;
param N: 0..=2_000_000 = len(members);
param M: 0..=2_000_000 = len(sales);
struct Member { email: text, points: u16 }
struct Sale { email: text, cents: i32 }
main(members: [Member; ..N] of shop, sales: [Sale; ..M] of bank,
    pairs: join members by email(email) with sales by email(email))
    -> (count: u32 to both, points: u64 to both, cents: i64 to both) {
    let mut count: u32 = 0;
    let mut points: u64 = 0;
    let mut cents: i64 = 0;
    for p in pairs {
        count += p.matched as u32;
        points += p.left.points as u64;
        cents += p.right.cents as i64;
    }
    (count, points, cents)
}
"""

BY_GROUP = """
parties registry, shop;
param N: 0..=2_000_000 = len(people);
param M: 0..=2_000_000 = keys(sales);
enum Region { North, South }
struct Person { email: text, region: Region }
struct Sale { email: text, cents: u16 }
main(people: [Person; ..N] of registry, sales: [Sale; ..8 * M] of shop,
    pairs: join people by email(email) with sales by email(email) upto 8)
    -> (north: u64 to both, south: u64 to both) {
    let mut sums: [u64; 2] = [0; 2];
    for p in pairs {
        for k in 0..8 {
            if p.left.region == Region::North { sums[0] += p.right.items[k].cents as u64; }
            if p.left.region == Region::South { sums[1] += p.right.items[k].cents as u64; }
        }
    }
    (sums[0], sums[1])
}
"""

NAMES = ["ann", "José", "zoë", "ΜΑΡΊΑ", "jürgen", "наташа", "李", "o'neil", "İpek"]


class Dirty(NamedTuple):
    """A table as a CSV file of dirty rows and as pandas has it."""

    path: Path
    frame: pd.DataFrame
    """What the cells say, with the line in which each row begins."""


def address(draw: random.Random, number: int) -> str:
    """One of the ways in which a person's address is written."""
    text = f"{NAMES[number % len(NAMES)]}{number}@Example.org"
    text = unicodedata.normalize(draw.choice(["NFC", "NFD"]), text)
    text = draw.choice([text, text.upper() if "İ" not in text and "ß" not in text else text])
    return draw.choice(["", " ", "\u00a0", "\t"]) + text + draw.choice(["", " ", "\u3000"])


def dirty(path: Path, numbers: Sequence[int], value: str, seed: int, most: int = 1) -> Dirty:
    """Writes a table of these people, with some of each thing that tables have by accident."""
    draw = random.Random(seed)
    of = {"region": lambda: draw.choice(["North", "South"])}.get(value, lambda: draw.randrange(9999))
    rows: list[tuple[str, str, str]] = []
    for number in numbers:
        for _ in range(draw.randint(1, most)):
            rows.append((address(draw, number), str(of()), f'note, "{number}"'))
    for number in draw.sample(list(numbers), len(numbers) // 50):
        rows.append((address(draw, number), str(of()), "again\nand again"))
    for row in draw.sample(range(len(rows)), len(rows) // 50):
        text, cell, note = rows[row]
        rows[row] = draw.choice([("", cell, note), (" \u00a0", cell, note), (text, "", note)])
    draw.shuffle(rows)
    text, line, lines = f"note,{value},email\r\n", 2, []
    quoted = ['"' + note.replace('"', '""') + '"' for _, _, note in rows]
    for (email, cell, note), cell_of_note in zip(rows, quoted):
        lines.append(line)
        text += f'{cell_of_note},{cell},"{email}"\r\n'
        line += 1 + note.count("\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert len(frame) == len(rows) and list(frame["email"]) == [row[0] for row in rows]
    return Dirty(path, frame.assign(line=lines))


def keys(frame: pd.DataFrame) -> pd.Series[str]:
    """The addresses as they are compared."""

    def alike(text: str) -> str:
        composed = unicodedata.normalize("NFC", text.strip())
        return unicodedata.normalize("NFC", composed.lower())

    return frame["email"].map(alike)


def bad(table: Dirty, value: str, most: int = 1) -> tuple[list[int], list[int], pd.DataFrame]:
    """The lines of rows without a value, those of rows of a key with enough others, and the rest."""
    frame = table.frame.assign(key=keys(table.frame))
    is_missing = (frame["key"] == "") | (frame[value] == "" if value else False)
    whole = frame[~is_missing]
    is_repeated = whole.groupby("key").cumcount() >= most
    lines = [frame[is_missing]["line"].tolist(), whole[is_repeated]["line"].tolist()]
    return lines[0], lines[1], whole[~is_repeated]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Dirty, Dirty]:
    folder = tmp_path_factory.mktemp("dirty")
    members = dirty(folder / "members.csv", range(0, 2 * ROWS, 2), "points", 1)
    return members, dirty(folder / "sales.csv", range(0, 3 * ROWS, 3), "cents", 2)


def tacit_command(*words: str, cwd: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def refused(*words: str, cwd: Path) -> str:
    """What the command says against a table, before it meets anybody."""
    ended = tacit_command(*words, "--connect", "127.0.0.1:1", "--plain-loopback", cwd=cwd)
    _, said = ended.communicate(timeout=600)
    assert ended.returncode == 3, said
    return said


def both(first: list[str], second: list[str], cwd: Path) -> list[dict[str, Any]]:
    """What two commands that meet print."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{free.getsockname()[1]}"
    ends = [
        tacit_command(*words, flag, at, "--plain-loopback", "--json", cwd=cwd)
        for words, flag in ((first, "--listen"), (second, "--connect"))
    ]
    told = [end.communicate(timeout=3000) for end in ends]
    assert [end.returncode for end in ends] == [0, 0], told
    return [json.loads(printed) for printed, _ in told]


def expect_named(said: str, missing: Sequence[int], repeated: Sequence[int]) -> None:
    """Checks that an error names the first of these lines, and counts the others."""
    lines = missing or repeated
    what = r"line (\d+)" if missing else r"line (\d+) has the key of line \d+"
    found = [int(line) for line in re.findall(what, said)]
    assert found == list(lines[:5]), said
    assert f"and {len(lines) - 5} more" in said or len(lines) <= 5, said


@needs_command
def test_the_command_matches_dirty_tables(tables: tuple[Dirty, Dirty]) -> None:
    folder = tables[0].path.parent
    rest = []
    for table in tables:
        missing, repeated, kept = bad(table, "")
        words = ["match", f"{table.path.name}:email", "--normalize", "email"]
        expect_named(refused(*words, cwd=folder), missing, [])
        expect_named(refused(*words, "--drop-missing", cwd=folder), [], repeated)
        rest.append((words + ["--drop-missing", "--keep", "first"], kept, missing, repeated))
    told = both(rest[0][0], rest[1][0], folder)
    common = set(rest[0][1]["key"]) & set(rest[1][1]["key"])
    for said, (_, kept, missing, repeated) in zip(told, rest):
        assert said["left_out"] == {"missing": len(missing), "repeated": len(repeated)}
        assert said["common"] == kept[kept["key"].isin(common)]["email"].tolist()
    assert len(common) > ROWS // 4


def joined(left: pd.DataFrame, right: pd.DataFrame) -> dict[str, int]:
    pairs = left.merge(right, on="key")
    points, cents = (int(pairs[name].astype(int).sum()) for name in ("points", "cents"))
    return {"count": len(pairs), "points": points, "cents": cents}


@needs_command
def test_the_command_joins_dirty_tables(tables: tuple[Dirty, Dirty]) -> None:
    folder = tables[0].path.parent
    (folder / "spent.tacit").write_text(SPENT)
    rest = []
    for table, party, name in zip(tables, ("shop", "bank"), ("members", "sales")):
        missing, repeated, kept = bad(table, "points" if name == "members" else "cents")
        given = f"{name}=@{table.path.name}"
        words = ["run", "spent.tacit", "--as", party, "--input", given]
        expect_named(refused(*words, cwd=folder), missing, [])
        expect_named(refused(*words, "--drop-missing", cwd=folder), [], repeated)
        rest.append((words + ["--drop-missing", "--keep", "first"], kept))
    told = both(rest[0][0], rest[1][0], folder)
    expected = joined(rest[0][1], rest[1][1])
    assert [said["outputs"] for said in told] == [expected] * 2
    # A run in the clear reads the tables by the same rules.
    words = [f"--input={name}=@{table.path.name}" for name, table in zip(("members", "sales"), tables)]
    ended = tacit_command("eval", "spent.tacit", *words, "--drop-missing", "--keep", "first", "--json", cwd=folder)
    printed, said = ended.communicate(timeout=3000)
    assert json.loads(printed)["outputs"] == expected, said


def as_frame(table: Dirty, value: str) -> pd.DataFrame:
    """The table as people have it in pandas: missing numbers make a column of floats."""
    frame = table.frame.assign(**{value: pd.to_numeric(table.frame[value])})
    return frame.assign(email=frame["email"].mask(frame["email"] == "", None))


def test_python_joins_dirty_frames(parties: Parties, tables: tuple[Dirty, Dirty]) -> None:
    program = tacit.function(SPENT)
    frames = [as_frame(table, value) for table, value in zip(tables, ("points", "cents"))]
    (_, _, left), (_, _, right) = bad(tables[0], "points"), bad(tables[1], "cents")

    def run(name: str, frame: pd.DataFrame, session: tacit.Session) -> dict[str, int]:
        with pytest.raises(InputError, match=f"^{name} has no valid value in .*drop_missing=True"):
            session.run(program, {name: frame})
        with pytest.raises(InputError, match=f'^{name} has a key in several rows.*keep="first"'):
            session.run(program, {name: frame}, drop_missing=True)
        return dict(session.run(program, {name: frame}, drop_missing=True, keep="first"))

    outcomes = parties.meet(
        lambda session: run("members", frames[0], session),
        lambda session: run("sales", frames[1], session),
        patience=3000,
    )
    assert outcomes == (joined(left, right),) * 2


def test_python_finds_common_ids_of_dirty_columns(
    parties: Parties, tables: tuple[Dirty, Dirty]
) -> None:
    (_, _, left), (_, _, right) = bad(tables[0], ""), bad(tables[1], "")
    common = set(left["key"]) & set(right["key"])
    flags: dict[str, Any] = {"normalize": "email", "drop_missing": True, "keep": "first"}
    outcomes = parties.meet(
        lambda session: tacit.common(session, tables[0].frame["email"], **flags),
        lambda session: tacit.common(session, tables[1].frame["email"], **flags),
        patience=3000,
    )
    for outcome, kept in zip(outcomes, (left, right)):
        assert outcome.ids == kept[kept["key"].isin(common)]["email"].tolist()


@needs_command
def test_the_command_joins_one_row_to_up_to_eight(tmp_path: Path) -> None:
    people = dirty(tmp_path / "people.csv", range(0, ROWS, 2), "region", 3)
    sales = dirty(tmp_path / "sales.csv", range(0, ROWS, 5), "cents", 4, most=9)
    (tmp_path / "groups.tacit").write_text(BY_GROUP)
    _, _, left = bad(people, "region")
    missing, repeated, right = bad(sales, "cents", most=8)
    flags = ["--drop-missing", "--keep", "first"]
    words = ["run", "groups.tacit", "--as", "shop", "--input", "sales=@sales.csv"]
    expect_named(refused(*words, cwd=tmp_path), missing, [])
    expect_named(refused(*words, "--drop-missing", cwd=tmp_path), [], repeated)
    told = both(
        ["run", "groups.tacit", "--as", "registry", "--input", "people=@people.csv", *flags],
        [*words, *flags],
        tmp_path,
    )
    sums = left.merge(right, on="key").astype({"cents": int}).groupby("region")["cents"].sum()
    expected = {"north": int(sums.get("North", 0)), "south": int(sums.get("South", 0))}
    assert [said["outputs"] for said in told] == [expected] * 2


ONE_BIT = [[1 << bit for bit in range(64)], [0, *(3 << bit for bit in range(63))]]
CASES: list[tuple[str, list[int], list[int]]] = [
    ("none of none", [], []),
    ("none of one", [], [7]),
    ("one, the same", [7], [7]),
    ("one, another", [7], [6]),
    ("all", list(range(300)), list(range(300))),
    ("nothing in common", list(range(0, 600, 2)), list(range(1, 600, 2))),
    ("one bit", ONE_BIT[0], ONE_BIT[1]),
    ("one bit, and some alike", ONE_BIT[0] + [0], ONE_BIT[1] + [1, 1 << 63]),
]


@pytest.mark.parametrize("mine, theirs", [case[1:] for case in CASES], ids=[c[0] for c in CASES])
@pytest.mark.parametrize("kind", ["u64", "text"])
def test_few_rows_and_alike_keys(
    parties: Parties, mine: list[int], theirs: list[int], kind: str
) -> None:
    text = SPENT.replace("email: text", f"email: {kind}").replace("email(email)", "email")
    program = tacit.function(text)

    def column(numbers: list[int]) -> list[Any]:
        return [number if kind == "u64" else f"{number:064b}" for number in numbers]

    members = {"email": column(mine), "points": [n % 997 for n in mine]}
    sales = {"email": column(theirs), "cents": [-(n % 991) for n in theirs]}
    outcomes = parties.meet(
        lambda session: dict(session.run(program, members=members)),
        lambda session: dict(session.run(program, sales=sales)),
    )
    common = [number for number in mine if number in set(theirs)]
    expected = {
        "count": len(common),
        "points": sum(n % 997 for n in common),
        "cents": -sum(n % 991 for n in common),
    }
    assert outcomes == (expected,) * 2
