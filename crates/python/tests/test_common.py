"""The ids that two parties have in common."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import tacit
from tacit.errors import InputError, PeerAborted, PeerIncompatible, UsageError

from conftest import Parties


def both(parties: Parties, alice: Any, bob: Any, **options: Any) -> tuple[Any, Any]:
    return parties.meet(
        lambda session: tacit.common(session, alice, **options),
        lambda session: tacit.common(session, bob, **options),
    )


BIG = 2**100
TABLES: list[tuple[Any, Any, list[Any]]] = [
    (["ann", "bob", "é"], ["é", "eve", "ann"], ["ann", "é"]),
    ([7, -BIG, 0, 2**64], np.array([0, 7, 8]), [7, 0]),
    (pd.Series([3, 4], dtype="uint8"), pl.Series([4, 5]), [4]),
    ([b"\0", b""], [b"", b"\0\0"], [b""]),
    ([("ab", 1), ("a", 2)], [("a", 2), ("b", 1)], [("a", 2)]),
    (["a"], [], []),
]


@pytest.mark.parametrize("alice, bob, expected", TABLES)
def test_ids_of_any_type(parties: Parties, alice: Any, bob: Any, expected: list[Any]) -> None:
    first, second = both(parties, alice, bob)
    assert first.ids == expected and sorted(second.ids) == sorted(expected)
    assert [list(alice)[row] for row in first.rows] == expected
    assert (first.peer_ids, second.peer_ids) == (len(bob), len(alice))
    assert first.security == second.security == "semi-honest"
    assert first.asked is not second.asked
    assert sum(phase["bytes_sent"] for phase in first.cost) > 0
    assert f"{len(expected)} ids" in repr(first)


def test_columns_of_a_frame_are_ids_of_several_parts(parties: Parties) -> None:
    shop = pd.DataFrame({"name": ["Ann", "Bob"], "year": [1970, 1980], "cents": [1, 2]})
    bank = pl.DataFrame({"name": ["Bob", "Ann"], "year": [1980, 1971]})
    first, second = both(parties, shop[["name", "year"]], bank)
    assert shop.iloc[first.rows]["cents"].tolist() == [2]
    assert second.rows.tolist() == [0]


def test_the_result_goes_to_whom_both_say(parties: Parties) -> None:
    alice, bob = parties.meet(
        lambda session: tacit.common(session, [1, 2, 3], to="me"),
        lambda session: tacit.common(session, [3], to="peer"),
    )
    assert alice.ids == [3] and bob.ids is bob.rows is None
    assert "goes to the other party" in repr(bob)

    def refused(session: tacit.Session) -> None:
        with pytest.raises(PeerIncompatible, match="the result to this party"):
            tacit.common(session, [1], to="me")

    parties.meet(refused, refused)


def test_a_party_with_too_many_ids_is_refused(parties: Parties) -> None:
    def refuses(session: tacit.Session) -> None:
        with pytest.raises(PeerIncompatible, match="has 3 keys .*give most_keys=3"):
            tacit.common(session, [1], most_keys=2)

    def refused(session: tacit.Session) -> None:
        with pytest.raises(PeerAborted, match="more keys than it accepts"):
            tacit.common(session, [1, 2, 3])

    parties.meet(refuses, refused)
    alice, bob = parties.meet(
        lambda session: tacit.common(session, [1], most_keys=3),
        lambda session: tacit.common(session, [1, 2, 3]),
    )
    assert alice.ids == bob.ids == [1]


def test_a_text_is_no_integer(parties: Parties) -> None:
    def refused(ids: list[Any]) -> Any:
        def run(session: tacit.Session) -> None:
            with pytest.raises(PeerIncompatible, match="of the type integer"):
                tacit.common(session, ids)

        return run

    parties.meet(refused(["7"]), refused([7]))


def test_addresses_are_made_alike(parties: Parties) -> None:
    first, second = both(parties, [" Ann@x "], ["ann@X", "bob@x"], normalize="email")
    assert first.ids == [" Ann@x "] and second.ids == ["ann@X"]
    # One character and two.
    composed, decomposed = "Jos\u00e9@x", "JOSE\u0301@x"
    first, second = both(parties, [composed], [decomposed], normalize="email")
    assert first.ids == [composed] and second.ids == [decomposed]
    first, second = both(parties, ["+49 (0)30 12"], ["00493012"], normalize="phone")
    assert first.ids == ["+49 (0)30 12"] and second.ids == ["00493012"]


def test_dirty_ids_are_left_out_where_that_is_asked_for(parties: Parties) -> None:
    mine = ["Ann@x", None, "bob@x", "", " ann@X", "cem@x"]
    alice, bob = parties.meet(
        lambda session: tacit.common(
            session, mine, normalize="email", drop_missing=True, keep="first"
        ),
        lambda session: tacit.common(session, ["cem@x", "ann@x"], normalize="email"),
    )
    assert alice.ids == ["Ann@x", "cem@x"] and alice.rows.tolist() == [0, 5]
    assert alice.peer_ids == 2 and bob.peer_ids == 3


WRONG: list[tuple[Any, str]] = [
    (["a", None], r"ids has no valid value in \[1\]"),
    (["a", " ", "b", ""], r"ids has no valid value in \[1\], \[3\]; "),
    ([("a", float("nan"))], r"ids has no valid value in \[0\]"),
    ([1.5], r"ids\[0\] is of the class float"),
    ([True], r"ids\[0\] is of the class bool"),
    ([datetime.date(2000, 1, 1)], r"class date, .* give texts"),
    ([2**127], r"more than 128 bits"),
    (["a", 1], r"ids\[1\] is of integers, and earlier ids are of texts"),
    (["a", "b", "a"], r"\[2\] has the key of \[0\]; "),
    ([()], "has 0 parts"),
    (7, "class int"),
    ("ann", "class str"),
]


@pytest.mark.parametrize("ids, said", WRONG)
def test_what_is_wrong_is_told_before_the_peer_hears_of_it(
    parties: Parties, ids: Any, said: str
) -> None:
    def wrong_first(session: tacit.Session) -> tacit.Common:
        with pytest.raises(InputError, match=said):
            tacit.common(session, ids)
        with pytest.raises(UsageError, match="normalize"):
            tacit.common(session, ["a"], normalize="name")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="write me, peer or both"):
            tacit.common(session, ["a"], to="all")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="threads: give at least 1"):
            tacit.common(session, ["a"], threads=0)
        return tacit.common(session, ["a"], threads=2)

    alice, bob = parties.meet(wrong_first, lambda session: tacit.common(session, ["a"]))
    assert alice.ids == bob.ids == ["a"]


def test_matchings_are_awaited(parties: Parties) -> None:
    async def run(meeting: tacit.aio.Meeting, ids: list[str]) -> tacit.Common:
        async with meeting as session:
            return await session.call(tacit.common, ids)

    async def meet() -> list[tacit.Common]:
        alice, bob = parties.alice, parties.bob
        with tacit.aio.Listener("127.0.0.1:0") as listener:
            listens = listener.accept(identity=alice, peer=bob.fingerprint)
            address = listener.address
            connects = tacit.aio.connect(address, identity=bob, peer=alice.fingerprint)
            return list(await asyncio.gather(run(listens, ["a", "b"]), run(connects, ["b"])))

    assert [found.ids for found in asyncio.run(meet())] == [["b"], ["b"]]
