"""Programs that join two tables."""

from __future__ import annotations

import contextlib
import threading

import pandas as pd
import pytest
import tacit
from tacit.errors import InputError, TacitError, UsageError

from conftest import Parties

SPENT = """
parties shop, bank;
param N: 0..=1_000_000 = len(customers);
param M: 0..=1_000_000 = len(payments);
struct Customer { email: text }
struct Payment { email: text, cents: u32 }
main(customers: [Customer; ..N] of shop, payments: [Payment; ..M] of bank,
    pairs: join customers by email(email) with payments by email(email))
    -> (count: u<bits(N)> to both, spent: u64 to both) {
    let mut count: u<bits(N)> = 0;
    let mut spent: u64 = 0;
    for p in pairs {
        count += p.matched as u<bits(N)>;
        spent += p.right.cents as u64;
    }
    (count, spent)
}
"""

CUSTOMERS = pd.DataFrame({"email": [f"p{2 * i}@example.org" for i in range(500)]})
PAYMENTS = pd.DataFrame(
    {
        "email": [f" P{3 * i}@example.org" for i in range(700)],
        "cents": [i * i for i in range(700)],
    }
)


def expected() -> dict[str, int]:
    keys = PAYMENTS["email"].str.strip().str.lower()
    cents = PAYMENTS[keys.isin(CUSTOMERS["email"])]["cents"]
    return {"count": len(cents), "spent": int(cents.sum())}


def test_two_tables_are_joined_and_each_tells_its_size(parties: Parties) -> None:
    program = tacit.function(SPENT)
    outcomes = parties.meet(
        lambda session: session.run(program, customers=CUSTOMERS),
        lambda session: session.run(program, payments=PAYMENTS),
    )
    for outcome in outcomes:
        assert {name: outcome[name] for name in ("count", "spent")} == expected()
        assert (outcome.protocol, outcome.security) == ("gmw", "semi-honest")
        assert "match" in [phase["phase"] for phase in outcome.cost]


def test_a_given_size_hides_the_true_one_and_is_what_the_other_asks_for(parties: Parties) -> None:
    hidden = tacit.function(SPENT, N=600)
    outcomes = parties.meet(
        lambda session: session.run(hidden, customers=CUSTOMERS),
        lambda session: session.run(hidden, payments=PAYMENTS),
    )
    assert [outcome["count"] for outcome in outcomes] == [expected()["count"]] * 2


def test_what_a_join_does_not_take_is_refused_before_the_peer_hears_of_it(
    parties: Parties,
) -> None:
    program, few = tacit.function(SPENT), tacit.function(SPENT, N=10)

    def wrong_first(session: tacit.Session) -> int:
        twice = pd.concat([CUSTOMERS, CUSTOMERS.head(1)])
        with pytest.raises(InputError, match="row 501 .* the key of row 1"):
            session.run(program, customers=twice)
        with pytest.raises(InputError, match="a list of at most 10, found a list of 500"):
            session.run(few, customers=CUSTOMERS)
        with pytest.raises(UsageError, match="semi-honest parties only"):
            session.run(program, customers=CUSTOMERS, security="malicious")
        with pytest.raises(UsageError, match="gmw alone"):
            session.run(program, customers=CUSTOMERS, protocol="direct")
        with pytest.raises(UsageError, match="makes nothing"):
            session.prepare(program, 1, role="shop", protocol="gmw")
        return int(session.run(program, customers=CUSTOMERS)["count"])

    outcomes = parties.meet(
        wrong_first, lambda session: session.run(program, payments=PAYMENTS)["count"]
    )
    assert outcomes == (expected()["count"],) * 2


def test_another_thread_gets_no_session_between_the_sizes_and_the_run(parties: Parties) -> None:
    program = tacit.function(SPENT)
    busy = "the session runs something in another thread"

    def closes(session: tacit.Session, done: threading.Event, heard: list[str]) -> None:
        done.wait(pause)
        while not done.is_set():
            try:
                session.close()
            except UsageError as error:
                heard.append(str(error))
            else:
                # Before the run took the session, or after the run.
                heard.append("closed")
                return

    def disturbed(session: tacit.Session) -> tuple[list[str], int | None]:
        done = threading.Event()
        heard: list[str] = []
        other = threading.Thread(target=closes, args=(session, done, heard))
        other.start()
        try:
            return heard, int(session.run(program, customers=CUSTOMERS)["count"])
        except TacitError:
            return heard, None
        finally:
            done.set()
            other.join()

    def waits(session: tacit.Session) -> None:
        with contextlib.suppress(TacitError):
            session.run(program, payments=PAYMENTS)

    for pause in (0.001 * 1.5**n for n in range(25)):
        (heard, count), _ = parties.meet(disturbed, waits)
        if heard and heard[0].startswith(busy):
            assert count == expected()["count"]
            return
    pytest.fail("each time the other thread came before the run, or after it")
