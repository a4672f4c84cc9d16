"""Two parties over TLS."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
import tacit
from tacit.errors import (
    Cancelled,
    InputError,
    NetworkTimeout,
    NothingChecked,
    PeerAborted,
    PeerIncompatible,
    StockWarning,
    TacitError,
    UsageError,
)

from conftest import Parties

RICHER = tacit.function("millionaires", bits=32)


def test_both_get_the_result(parties: Parties) -> None:
    alice, bob = parties.meet(
        lambda session: [session.run(RICHER, a=50), session.run(RICHER, a=3)],
        lambda session: [session.run(RICHER, b=41), session.run(RICHER, {"b": 41})],
    )
    assert [run.value for run in alice] == [run.value for run in bob] == [True, False]
    outcome = alice[0]
    assert (outcome.protocol, outcome.security) == ("direct", "semi-honest")
    assert sum(phase["bytes_sent"] for phase in outcome.cost) > 32 * 16
    assert "secure against semi-honest parties" in repr(outcome)
    assert "<table>" in outcome._repr_html_()


def test_a_session_makes_silent_ots(parties: Parties) -> None:
    sent = []
    kinds: list[dict[str, Any]] = [{}, {"ot_extension": "silent"}]
    for terms in kinds:
        alice, bob = parties.meet(
            lambda session: session.run(RICHER, a=50, protocol="gmw"),
            lambda session: session.run(RICHER, b=41, protocol="gmw"),
            **terms,
        )
        assert (alice.value, bob.value) == (True, True)
        sent.append(sum(phase["bytes_sent"] for run in (alice, bob) for phase in run.cost))
    # A first round of silent OT is larger than the few OTs of so small a function.
    assert sent[1] > 2 * sent[0], sent


@pytest.mark.parametrize(
    "terms, wrong",
    [
        ({"ot_extension": "quiet"}, 'ot_extension is "quiet"'),
        ({"ot_extension": "silent", "gpu": "all"}, "gpu: expected never, auto, or"),
        ({"gpu": 0}, "gpu: a GPU makes OTs by silent OT alone"),
    ],
)
def test_wrong_terms_of_ots_are_found_at_once(
    parties: Parties, terms: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(UsageError, match=wrong):
        tacit.connect(
            "127.0.0.1:9", identity=parties.alice, peer=parties.bob.fingerprint, **terms
        )


@pytest.mark.parametrize("name", ["alice", "bob"])
def test_a_wrong_input_is_found_before_the_peer_hears_of_it(parties: Parties, name: str) -> None:
    def wrong_first(session: tacit.Session) -> Any:
        with pytest.raises(InputError):
            session.run(RICHER, b=2**32)
        with pytest.raises(InputError, match="one party"):
            session.run(RICHER, a=1, b=2)
        with pytest.raises(InputError, match="no input is given"):
            session.run(RICHER)
        with pytest.raises(UsageError, match="authenticated"):
            session.run(RICHER, b=1, protocol="direct", security="malicious")
        with pytest.raises(UsageError, match="no protocol"):
            session.run(RICHER, b=1, protocol="none")
        with pytest.raises(UsageError, match="threads: give at least 1"):
            session.run(RICHER, b=1, threads=0)
        return session.run(RICHER, b=1).value

    def right(session: tacit.Session) -> Any:
        return session.run(RICHER, a=2).value

    doers = (wrong_first, right) if name == "alice" else (right, wrong_first)
    assert parties.meet(*doers) == (True, True)


def test_security_against_a_malicious_party(parties: Parties) -> None:
    alice, bob = parties.meet(
        lambda session: session.run(RICHER, a=50, security="malicious"),
        lambda session: session.run(RICHER, b=41, security="malicious"),
    )
    assert alice.value is bob.value is True
    assert (alice.protocol, alice.security, alice.security_bits) == (
        "authenticated",
        "malicious",
        40,
    )
    # What the other party does not finish is counted in the stock.
    assert not alice.of_this_run_alone and not bob.of_this_run_alone
    assert "s = 40)" in repr(alice)
    assert alice.run is not None and alice.run == bob.run and alice.run.endswith("-1")


def test_what_is_prepared_is_used(parties: Parties) -> None:
    made = parties.meet(
        lambda session: session.prepare(RICHER, runs=2, role="garbler"),
        lambda session: session.prepare(RICHER, runs=2, role="evaluator"),
    )
    assert all(row["usable"] >= 2 for table in made for row in table)
    alice, bob = parties.meet(
        lambda session: session.run(RICHER, a=50, protocol="prepared"),
        lambda session: session.run(RICHER, b=41, protocol="prepared"),
    )
    assert alice.value is bob.value is True
    assert "on the spot" not in repr(alice.cost)


def test_a_session_warns_once_of_notes_that_cannot_be_written(
    parties: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = parties.folder / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))

    def meet() -> Any:
        return parties.meet(
            lambda session: [session.prepare(RICHER, runs=1, role="garbler") for _ in range(2)],
            lambda session: [session.prepare(RICHER, runs=1, role="evaluator") for _ in range(2)],
        )

    meet()
    # A process locks one of these files to write a note, and even root cannot lock a folder.
    for number in range(16):
        lock = state / f"tacit/witness/lock-{number:x}"
        lock.unlink(missing_ok=True)
        lock.mkdir()
    with pytest.warns(StockWarning, match="restoring it and the other party's") as failed:
        meet()
    assert len(failed) == 2
    # Not even the folder of notes can be made.
    monkeypatch.setenv("XDG_STATE_HOME", __file__)
    with pytest.warns(StockWarning, match="set XDG_STATE_HOME") as unwitnessed:
        meet()
    assert len(unwitnessed) == 2


def test_material_for_authenticated_is_prepared_and_used(parties: Parties) -> None:
    terms: dict[str, Any] = {"runs": 1, "protocol": "authenticated"}
    made = parties.meet(
        lambda session: session.prepare(RICHER, role="garbler", **terms),
        lambda session: session.prepare(RICHER, role="evaluator", **terms),
    )
    assert all(row["made"] > 0 for table in made for row in table)
    alice, bob = parties.meet(
        lambda session: session.run(RICHER, a=50, protocol="authenticated"),
        lambda session: session.run(RICHER, b=41, protocol="authenticated"),
    )
    assert alice.value is bob.value is True
    again = parties.meet(
        lambda session: session.prepare(RICHER, role="garbler", **terms),
        lambda session: session.prepare(RICHER, role="evaluator", **terms),
    )
    # The run took what had been made.
    assert all(row["made"] > 0 for table in again for row in table)


def test_crosses_are_prepared_and_used(parties: Parties) -> None:
    made = parties.meet(
        lambda session: session.prepare(RICHER, runs=1, role="garbler", protocol="gmw"),
        lambda session: session.prepare(RICHER, runs=1, role="evaluator", protocol="gmw"),
    )
    assert all(row["made"] % 4096 == 0 for table in made for row in table)
    alice, bob = parties.meet(
        lambda session: session.run(RICHER, a=50, protocol="gmw"),
        lambda session: session.run(RICHER, b=41, protocol="gmw"),
    )
    assert alice.value is bob.value is True
    assert "prepare" in repr(alice.cost)


def test_cost_is_what_a_run_sends_whatever_the_link(parties: Parties) -> None:
    chain = tacit.function("sha-256-chain", n=2)

    def twice(party: str) -> Any:
        zeros = {port.name: _zero(port.type) for port in chain.inputs if port.party == party}
        return lambda session: [session.run(chain, zeros, role=party) for _ in range(2)]

    (_, second), _ = parties.meet(*map(twice, chain.parties))
    phases = [row for row in second.cost if row["phase"] in ("preparation", "run")]
    sent = sum(row["bytes_sent"] + row["bytes_received"] for row in phases)
    for link in ("500us,1gbit", "33ms,5mbit"):
        (direct,) = (row for row in chain.cost(link) if row["protocol"] == "direct")
        assert direct["bytes"] == sent


def test_threads_change_neither_results_nor_bytes(parties: Parties) -> None:
    chain = tacit.function("sha-256-chain", n=4)

    def on(party: str, threads: list[int | None], protocol: str) -> Any:
        zeros = {port.name: _zero(port.type) for port in chain.inputs if port.party == party}
        return lambda session: [
            session.run(chain, zeros, role=party, threads=count, protocol=protocol)
            for count in threads
        ]

    first, second = chain.parties
    for protocol in ("direct", "gmw", "authenticated"):
        # The first run of a session also makes base OTs.
        counts: list[list[int | None]] = [[1, 1, 4, 3, None], [1, 1, 1, 5, None]]
        runs, others = parties.meet(on(first, counts[0], protocol), on(second, counts[1], protocol))
        assert len({repr(run.value) for run in runs + others}) == 1
        phases = [[row for row in run.cost if row["phase"] != "setup"] for run in runs[1:]]
        sent = {sum(row["bytes_sent"] + row["bytes_received"] for row in run) for run in phases}
        assert len(sent) == 1, (protocol, sent)


def test_other_security_is_told_in_the_words_of_python(parties: Parties) -> None:
    def refused(**options: Any) -> Any:
        def run(session: tacit.Session) -> None:
            with pytest.raises(PeerIncompatible, match="protocol= and security=") as told:
                session.run(RICHER, **options)
            assert "--" not in str(told.value)

        return run

    parties.meet(refused(a=1), refused(b=1, security="malicious"))


def test_batch_without_a_checked_execution_runs_nothing(parties: Parties) -> None:
    def refused(inputs: dict[str, int]) -> Any:
        def run(session: tacit.Session) -> None:
            with pytest.raises((NothingChecked, TacitError)):
                session.run(RICHER, inputs, protocol="batch")

        return run

    parties.meet(refused({"a": 1}), refused({"b": 1}))


def test_another_function_is_named(parties: Parties) -> None:
    def refused(function: tacit.Function, inputs: dict[str, int]) -> Any:
        def run(session: tacit.Session) -> None:
            with pytest.raises(PeerIncompatible):
                session.run(function, inputs)
            with pytest.raises(UsageError, match="first error"):
                session.run(function, inputs)

        return run

    other = tacit.function("millionaires", bits=16)
    parties.meet(refused(RICHER, {"a": 1}), refused(other, {"b": 1}))


def test_two_of_the_same_party_hear_who_is_missing(parties: Parties) -> None:
    def refused(session: tacit.Session) -> None:
        assert repr(session) == f"Session(with {session.peer})"
        with pytest.raises(UsageError, match="not a function"):
            session.run("millionaires", a=1)  # type: ignore[arg-type]
        with pytest.raises(PeerIncompatible, match="garbler too; .* inputs of evaluator"):
            session.run(RICHER, a=1)

    parties.meet(refused, refused)


def test_timeout_is_the_whole_wait_to_connect(parties: Parties) -> None:
    with pytest.raises(NetworkTimeout):
        tacit.listen(
            "127.0.0.1:0", identity=parties.alice, peer=parties.bob.fingerprint, timeout=0.05
        )
    with tacit.Listener("127.0.0.1:0") as nobody:
        address = nobody.address
    # Nobody listens, and the port is free again.
    with pytest.raises(NetworkTimeout):
        tacit.connect(address, identity=parties.alice, peer=parties.bob.fingerprint, timeout=0.3)
    with pytest.raises(UsageError, match="closed"):
        nobody.accept(identity=parties.alice, peer=parties.bob.fingerprint)
    closed = tacit.Listener("127.0.0.1:0")
    # Somebody listens and never answers the handshake: the wait ends all the same.
    with pytest.raises((NetworkTimeout, TimeoutError)):
        tacit.connect(
            closed.address, identity=parties.alice, peer=parties.bob.fingerprint, timeout=0.3
        )


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e300])
def test_a_timeout_is_a_number_of_seconds(parties: Parties, timeout: float) -> None:
    with pytest.raises(UsageError, match="seconds"):
        tacit.listen(
            "127.0.0.1:0", identity=parties.alice, peer=parties.bob.fingerprint, timeout=timeout
        )


def test_a_party_is_not_its_own_peer(parties: Parties) -> None:
    own: Any = parties.alice.fingerprint
    for peer, words in [(own, "own fingerprint"), ("bob", "peer"), (None, "fingerprint, a text")]:
        with pytest.raises(UsageError, match=words):
            tacit.connect("127.0.0.1:1", identity=parties.alice, peer=peer)


def test_another_thread_ends_a_wait(parties: Parties) -> None:
    waits = threading.Event()

    def cancelled(session: tacit.Session) -> None:
        threading.Thread(target=session.cancel).start()
        with pytest.raises((Cancelled, TacitError)):
            session.run(RICHER, a=1)
        waits.set()

    parties.meet(cancelled, lambda _: waits.wait(60))


@pytest.mark.parametrize("stops", ["garbler", "evaluator"])
def test_an_exception_of_a_callback_ends_the_run(parties: Parties, stops: str) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Stop

    # Long enough that a callback is called before it ends.
    long = tacit.function("sha-256-chain", n=200)

    def run(party: str) -> Any:
        zeros = {port.name: _zero(port.type) for port in long.inputs if port.party == party}

        def ends(session: tacit.Session) -> None:
            # The party whose callback raised has that exception; the other hears of it.
            with pytest.raises(Stop if party == stops else TacitError):
                session.run(long, zeros, role=party, progress=stop if party == stops else None)

        return ends

    parties.meet(run("garbler"), run("evaluator"))


def _zero(type: str) -> Any:
    width = re.fullmatch(r"bytes\[(\d+)\]", type)
    return bytes(int(width[1])) if width else 0


def test_an_identity_is_kept(tmp_path: Path) -> None:
    made = tacit.Identity.open(tmp_path / "me.key")
    assert made.fingerprint.startswith("tacit:")
    assert tacit.Identity.open(str(tmp_path / "me.key")).fingerprint == made.fingerprint
    assert tacit.Identity.load(tmp_path / "me.key").fingerprint == made.fingerprint
    with pytest.raises(TacitError):
        made.save(tmp_path / "me.key")
    with pytest.raises(TacitError):
        tacit.Identity.load(tmp_path / "nobody.key")
    assert repr(made) == f"Identity({made.fingerprint})"


TOTAL = """
parties shop, customer;
state total: u32 = 0;

run spend(amount: u24 of customer) -> (enough: bool to both) {
    total = add_sat(total, amount as u32);
    total >= 100
}

run look() -> (shown: u32 to both) { total }
"""


@pytest.mark.parametrize("protocol", ["prepared", "authenticated"])
def test_two_parties_keep_a_total(parties: Parties, protocol: str) -> None:
    start, spend, look = (tacit.function(TOTAL, run=run) for run in ("start", "spend", "look"))
    kept: dict[str, Any] = {"protocol": protocol, "chain": "total"}

    def party(session: tacit.Session, role: str, given: list[dict[str, int]]) -> list[Any]:
        with pytest.raises(UsageError, match="chain"):
            session.run(look, role=role, protocol=protocol)
        begun = session.run(start, role=role, **kept)
        enough = [session.run(spend, inputs, role=role, **kept).value for inputs in given]
        last = session.run(look, role=role, **kept)
        assert begun.chain is not None and last.chain is not None
        assert begun.chain.partition(":")[0] == last.chain.partition(":")[0]
        return [*enough, last.value]

    alice, bob = parties.meet(
        lambda session: party(session, "shop", [{}, {}]),
        lambda session: party(session, "customer", [{"amount": 60}, {"amount": 41}]),
    )
    assert alice == bob == [False, True, 101]
    # It is there in the next session, and another start would discard it.
    def again(session: tacit.Session, role: str) -> Any:
        assert session.run(look, role=role, **kept).value == 101
        session.run(start, role=role, replace=True, **kept)
        return session.run(look, role=role, **kept).value

    shown = parties.meet(lambda s: again(s, "shop"), lambda s: again(s, "customer"))
    assert shown == (0, 0)


def test_a_pin_finds_an_old_copy(parties: Parties) -> None:
    start, look = (tacit.function(TOTAL, run=run) for run in ("start", "look"))
    kept: dict[str, Any] = {"protocol": "prepared", "chain": "total"}

    def party(role: str) -> Any:
        def runs(session: tacit.Session) -> str:
            begun = session.run(start, role=role, **kept).chain
            assert begun and session.run(look, role=role, pin=begun, **kept).value == 0
            with pytest.raises(UsageError, match="32 hex digits"):
                session.run(look, role=role, pin="old", **kept)
            name, _, version = begun.partition(":")
            kind, words = {
                "shop": (PeerIncompatible, "is pinned"),
                "customer": (PeerAborted, "its pin asks for another chain"),
            }[role]
            with pytest.raises(kind, match=words):
                ahead = f"{name}:{int(version) + 9}" if role == "shop" else None
                session.run(look, role=role, pin=ahead, **kept)
            return begun

        return runs

    shop, customer = parties.meet(party("shop"), party("customer"))
    assert shop == customer
