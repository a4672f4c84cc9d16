"""Jobs that run in parts, each with the ids of one part of both tables."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tacit
from tacit.errors import (
    InputError,
    NetworkTimeout,
    PeerAborted,
    PeerIncompatible,
    TacitError,
    UsageError,
)

from conftest import Parties

COMMAND = os.environ.get("TACIT_COMMAND", "")

SPENT = """
parties shop, bank;
param N: 0..=1_000_000 = len(customers);
param M: 0..=1_000_000 = len(payments);
struct Customer { email: text }
struct Payment { email: text, cents: u32 }
main(customers: [Customer; ..N] of shop, payments: [Payment; ..M] of bank,
    pairs: join customers by email(email) with payments by email(email))
    -> (spent: u64 to both) {
    let mut spent: u64 = 0;
    for p in pairs { spent += p.right.cents as u64; }
    spent
}
"""

BY_PAIR = """
parties shop, bank;
struct Row { id: u32 }
main(x: [Row; ..8] of shop, y: [Row; ..8] of bank, pairs: join x by id with y by id)
    -> (found: [bool; 8] to shop) { [for p in pairs { p.matched }] }
"""

CUSTOMERS = pd.DataFrame({"email": [f"p{2 * i}@x" for i in range(300)]})
PAYMENTS = pd.DataFrame(
    {"email": [f" P{3 * i}@x" for i in range(300)], "cents": [i * i for i in range(300)]}
)
IN_COMMON = [i for i in range(0, 600, 6)]
FILLED = 213
"""The number as which each of three parts of 300 ids counts."""


def test_the_ids_in_common_are_those_of_all_parts(parties: Parties) -> None:
    """Ids of several columns, of which some are texts that are made alike."""
    mine = [(f" A{i}@x", i) for i in range(0, 600, 2)]
    theirs = [(f"a{i}@X", i) for i in range(0, 900, 3)]
    rows: list[int] = []
    for k in (1, 2, 3):
        alice, bob = parties.meet(
            lambda session: tacit.common(session, mine, shard=(k, 3), normalize="email"),
            lambda session: tacit.common(session, theirs, shard=(k, 3), normalize="email"),
        )
        assert alice.ids == [mine[row] for row in alice.rows]
        assert [theirs[row][1] for row in bob.rows] == [mine[row][1] for row in alice.rows]
        assert alice.peer_ids == bob.peer_ids == FILLED
        rows += alice.rows.tolist()
    assert sorted(mine[row][1] for row in rows) == IN_COMMON
    assert len(rows) > 3


def test_a_part_says_nothing_of_rows_that_were_left_out(parties: Parties) -> None:
    """As for the command, the size is that of a table of all rows with an id."""
    with_repeats = [f"a{i % 200}" for i in range(300)]
    alice, bob = parties.meet(
        lambda session: tacit.common(session, with_repeats, shard=(2, 3), keep="first"),
        lambda session: tacit.common(session, [None, *with_repeats[:150]], shard=(2, 3),
                                     drop_missing=True),
    )
    assert bob.peer_ids == FILLED and alice.ids == bob.ids


def test_the_sums_of_parts_are_those_of_the_whole(parties: Parties) -> None:
    program = tacit.function(SPENT)
    spent = 0
    for k in (1, 2):
        shop, bank = parties.meet(
            lambda session: session.run(program, customers=CUSTOMERS, shard=(k, 2)),
            lambda session: session.run(program, payments=PAYMENTS, shard=(k, 2)),
        )
        assert shop["spent"] == bank["spent"] > 0
        spent += int(shop["spent"])
    assert spent == sum((i // 3) ** 2 for i in IN_COMMON)


def test_jobs_run_in_parts(parties: Parties) -> None:
    customers = CUSTOMERS.assign(group=["N", "S"] * 150)
    summed = tacit.jobs.intersection(normalize="email", at_least=1)
    grouped = tacit.jobs.group_sums(["N", "S"], normalize="email", at_least=1)
    found = {"count": 0, "total": 0, "N": 0, "S": 0}

    def left(session: tacit.Session) -> Any:
        first = summed.run(session, customers, party="left", id="email", shard=(k, 2))
        more: dict[str, Any] = {"group": "group", "shard": (k, 2)}
        return first, grouped.run(session, customers, party="left", id="email", **more)

    def right(session: tacit.Session) -> Any:
        more: dict[str, Any] = {"party": "right", "amount": "cents", "shard": (k, 2)}
        summed.check(PAYMENTS, id="email", **more)
        first = summed.run(session, PAYMENTS, id="email", **more)
        return first, grouped.run(session, PAYMENTS, id="email", **more)

    for k in (1, 2):
        (sums, groups), _ = parties.meet(left, right)
        for name, value in [*sums.items(), *groups["totals"].items()]:
            found[name] += value
    cents = {i: (i // 3) ** 2 for i in IN_COMMON}
    assert found["count"] == len(cents) and found["total"] == sum(cents.values())
    assert found["N"] == sum(value for i, value in cents.items() if i // 2 % 2 == 0)
    assert found["S"] == found["total"] - found["N"]


def test_parties_with_different_parts_are_told_both(parties: Parties) -> None:
    program = tacit.function(SPENT)

    def refused(run: Any, said: str) -> Any:
        def meets(session: tacit.Session) -> None:
            with pytest.raises((PeerIncompatible, PeerAborted), match=said):
                run(session)

        return meets

    def common(shard: tuple[int, int] | None) -> Any:
        return lambda session: tacit.common(session, ["a", "b"], shard=shard)

    def spent(shard: tuple[int, int] | None, **table: Any) -> Any:
        return lambda session: session.run(program, shard=shard, **table)

    parties.meet(refused(common((1, 2)), "part 2/2"), refused(common((2, 2)), "part 1/2"))
    parties.meet(
        refused(spent((1, 3), customers=CUSTOMERS), "part 1/3.*the whole|the whole.*part 1/3"),
        refused(spent(None, payments=PAYMENTS), "function"),
    )


WRONG = [(0, 2), (3, 2), (1, 4097), (1, -1), (1,), "1/2", 2, (1.0, 2)]


@pytest.mark.parametrize("shard", WRONG, ids=map(str, WRONG))
def test_what_is_no_part_is_refused(parties: Parties, shard: Any) -> None:
    said = r"give \(K, S\), with K from 1 to S, and S up to 4096"
    program = tacit.function(SPENT)

    def wrong_first(session: tacit.Session) -> Any:
        with pytest.raises(UsageError, match=said):
            tacit.common(session, ["a"], shard=shard)
        with pytest.raises(UsageError, match=said):
            session.run(program, customers=CUSTOMERS, shard=shard)
        # The part that is the whole.
        return tacit.common(session, ["a"], shard=(1, 1)).ids

    found = parties.meet(wrong_first, lambda session: tacit.common(session, ["a"]).ids)
    assert found == (["a"], ["a"])


def test_what_has_no_parts_is_refused_before_the_peer_hears_of_it(parties: Parties) -> None:
    auction, by_pair = tacit.function("millionaires", bits=8), tacit.function(BY_PAIR)
    table = {"id": [1, 2], "x": [1.0, 2.0]}
    padded = tacit.jobs.intersection(rows=4)
    correlation = tacit.jobs.correlation(decimals=0)

    def wrong_first(session: tacit.Session) -> Any:
        for shard in ((1, 2), (1, 1)):
            with pytest.raises(UsageError, match="for a program that joins two tables"):
                session.run(auction, a=1, shard=shard)
        with pytest.raises(InputError, match="found has an element for each row"):
            session.run(by_pair, x={"id": [1]}, shard=(1, 2))
        for run in (padded.check, lambda *given, **named: padded.run(session, *given, **named)):
            with pytest.raises(UsageError, match="for a program that joins two tables"):
                run(table, party="left", id="id", shard=(1, 2))
        with pytest.raises(UsageError, match="correlations of parts"):
            correlation.run(session, table, party="left", id="id", column="x", shard=(1, 2))
        return tacit.common(session, [1]).ids

    assert parties.meet(wrong_first, lambda session: tacit.common(session, [1]).ids)[0] == [1]


def test_a_part_with_too_many_ids_is_refused(parties: Parties) -> None:
    """Ids that were chosen to fall into one part."""
    ids = [f"a{i}" for i in range(20_000)]
    alice, _ = parties.meet(
        lambda session: tacit.common(session, ids, shard=(1, 16)),
        lambda session: tacit.common(session, ids, shard=(1, 16)),
    )
    chosen = alice.ids[:600]
    program = tacit.function(SPENT)

    def wrong_first(session: tacit.Session) -> Any:
        said = "of the table are in part 1/16, which has room for"
        with pytest.raises(InputError, match=said):
            tacit.common(session, chosen, shard=(1, 16))
        return tacit.common(session, ["a"]).ids

    assert parties.meet(wrong_first, lambda session: tacit.common(session, ["a"]).ids)[0] == ["a"]
    assert program.name


def test_a_table_is_cut_once_for_all_parts(parties: Parties) -> None:
    """The parts of `shards` are those of a run, and a party that cuts says no more than another."""
    table = PAYMENTS.drop(columns="cents")
    of_parts = tacit.shards(table["email"], 3, normalize="email")
    assert sorted(set(of_parts)) == [1, 2, 3]
    rows: list[int] = []
    for k in (1, 2, 3):
        cut = np.flatnonzero(of_parts == k)
        of_part = table.iloc[cut]
        alice, bob = parties.meet(
            lambda session: tacit.common(
                session, CUSTOMERS["email"], shard=(k, 3), normalize="email"
            ),
            lambda session: tacit.common(
                session, of_part, shard=(k, 3), rows=len(table), normalize="email"
            ),
        )
        assert alice.peer_ids == bob.peer_ids == FILLED
        rows += cut[bob.rows].tolist()
    assert sorted(3 * row for row in rows) == IN_COMMON
    found = tacit.shards(["a", None, "b"], 2)
    assert found[1] == 0 and all(found[[0, 2]] > 0)
    both = tacit.shards([("a", 1), ("b", 2)], 4096)
    assert len(both) == 2
    for of in (0, 4097):
        with pytest.raises(UsageError, match="up to 4096"):
            tacit.shards(["a"], of)


def test_rows_are_those_of_a_part(parties: Parties) -> None:
    def wrong_first(session: tacit.Session) -> Any:
        with pytest.raises(UsageError, match="give shard= too"):
            tacit.common(session, ["a"], rows=5)
        with pytest.raises(InputError, match="has room for 0"):
            tacit.common(session, ["a"], shard=tuple_of("a"), rows=0)
        return tacit.common(session, ["a"]).ids

    assert parties.meet(wrong_first, lambda session: tacit.common(session, ["a"]).ids)[0] == ["a"]


def tuple_of(id: str) -> tuple[int, int]:
    """The part of two in which an id is."""
    return int(tacit.shards([id], 2)[0]), 2


def test_a_worker_is_its_party_and_travels(parties: Parties) -> None:
    worker = parties.bob.for_worker("pod-3", valid=60)
    assert worker.fingerprint == parties.bob.fingerprint
    assert (worker.worker, parties.bob.worker) == ("pod-3", None)
    travelled = pickle.loads(pickle.dumps(worker))
    assert travelled.worker == "pod-3"
    with pytest.raises(UsageError, match="stays where it is"):
        pickle.dumps(parties.bob)
    with pytest.raises(TacitError, match="signs no other key"):
        worker.for_worker("pod-4", valid=60)
    for name, valid, said in (("a b", 60, "a-z"), ("a", 8 * 86400, "7 days"), ("a", 0, "above 0")):
        with pytest.raises(UsageError, match=said):
            parties.bob.for_worker(name, valid=valid)
    as_worker = parties._replace(bob=travelled)
    alice, bob = as_worker.meet(
        lambda session: tacit.common(session, ["a", "b"]),
        lambda session: tacit.common(session, ["b"]),
    )
    assert alice.ids == bob.ids == ["b"]

    def refused(session: tacit.Session) -> None:
        function = tacit.function("aes-128-rounds")
        with pytest.raises(TacitError):
            session.prepare(function, 1, role="garbler" if session.peer == bobs else "evaluator")

    bobs = parties.bob.fingerprint
    as_worker.meet(refused, refused)


@pytest.fixture
def relay() -> Iterator[str]:
    """The address of a relay."""
    command = [COMMAND, "relay", "--listen", "127.0.0.1:0"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert running.stderr
    yield running.stderr.readline().split()[-1]
    running.terminate()
    running.communicate()


@pytest.mark.skipif(not COMMAND, reason="TACIT_COMMAND names no command")
def test_parts_meet_at_a_relay_in_rooms_of_their_own(parties: Parties, relay: str) -> None:
    def meet(own: tacit.Identity, peer: tacit.Identity, k: int) -> list[Any] | None:
        with tacit.meet(
            relay, identity=own, peer=peer.fingerprint, shard=(k, 2), timeout=30
        ) as session:
            return tacit.common(session, ["a", "b", "c", "d"], shard=(k, 2)).ids

    alice, bob = parties.alice, parties.bob
    with ThreadPoolExecutor(4) as threads:
        tries = [(alice, bob, 1), (alice, bob, 2), (bob, alice, 2), (bob, alice, 1)]
        found = [each.result() for each in [threads.submit(meet, *each) for each in tries]]
    assert found[0] == found[3] and found[1] == found[2]
    assert sorted([*(found[0] or []), *(found[1] or [])]) == ["a", "b", "c", "d"]
    with pytest.raises(NetworkTimeout):
        tacit.meet(relay, identity=alice, peer=bob.fingerprint, timeout=0.3)


@pytest.mark.skipif(not COMMAND, reason="TACIT_COMMAND names no command")
def test_the_command_makes_keys_of_workers_and_meets_by_part(
    parties: Parties, relay: str, tmp_path: Path
) -> None:
    def tacit_says(*words: str) -> tuple[int, str]:
        ran = subprocess.run([COMMAND, *words], cwd=tmp_path, capture_output=True, text=True)
        return ran.returncode, ran.stdout + ran.stderr

    parties.bob.save(tmp_path / "bob.key")
    CUSTOMERS.to_csv(tmp_path / "customers.csv", index=False)
    make = ["keygen", "--for-worker", "pod-3", "--from", "bob.key", "--out", "worker.key"]
    code, told = tacit_says(*make, "--valid", "10m")
    assert code == 0 and parties.bob.fingerprint in told
    assert tacit.Identity.load(tmp_path / "worker.key").worker == "pod-3"
    code, told = tacit_says("keygen", "--show", "worker.key", "--json")
    assert json.loads(told)["worker"]["name"] == "pod-3"
    code, told = tacit_says(*make[:4], "worker.key", "--out", "second.key")
    assert code == 2 and "only matches and runs" in told
    match = [COMMAND, "match", "customers.csv:email", "--normalize", "email", "--json"]
    match += ["--identity", "worker.key", "--relay", relay, "--peer", parties.alice.fingerprint]
    match += ["--shard", "2/2"]
    command = subprocess.Popen(match, cwd=tmp_path, stdout=subprocess.PIPE)
    with tacit.meet(
        relay, identity=parties.alice, peer=parties.bob.fingerprint, shard=(2, 2)
    ) as session:
        found = tacit.common(session, PAYMENTS["email"], normalize="email", shard=(2, 2))
    told = json.loads(command.communicate()[0])
    assert found.ids and len(found.ids) == len(told["common"])


@pytest.mark.skipif(not COMMAND, reason="TACIT_COMMAND names no command")
def test_the_command_runs_the_other_side_of_a_part(parties: Parties, tmp_path: Path) -> None:
    CUSTOMERS.to_csv(tmp_path / "customers.csv", index=False)
    parties.bob.save(tmp_path / "bob.key")
    rows = []
    for k in (1, 2):
        with tacit.Listener("127.0.0.1:0") as listener:
            match = [COMMAND, "match", "customers.csv:email", "--normalize", "email", "--json"]
            match += ["--shard", f"{k}/2", "--identity", "bob.key", "--connect", listener.address]
            match += ["--peer", parties.alice.fingerprint]
            command = subprocess.Popen(match, cwd=tmp_path, stdout=subprocess.PIPE)
            with listener.accept(identity=parties.alice, peer=parties.bob.fingerprint) as session:
                found = tacit.common(session, PAYMENTS["email"], normalize="email", shard=(k, 2))
            told = json.loads(command.communicate()[0])
        assert len(told["common"]) == len(found.rows) and told["shard"] == f"{k}/2"
        rows += found.rows.tolist()
    assert sorted(3 * row for row in rows) == IN_COMMON
