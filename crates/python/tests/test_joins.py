"""Programs that join two tables."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
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
        with pytest.raises(InputError, match=r"\[500\] has the key of \[0\]; .*keep="):
            session.run(program, customers=twice)
        with pytest.raises(InputError, match="a list of at most 10, found a list of 500"):
            session.run(few, customers=CUSTOMERS)
        with pytest.raises(UsageError, match="semi-honest parties only"):
            session.run(program, customers=CUSTOMERS, security="malicious")
        with pytest.raises(UsageError, match="gmw alone"):
            session.run(program, customers=CUSTOMERS, protocol="direct")
        with pytest.raises(UsageError, match="N=1000, M=1000"):
            session.prepare(program, 1, role="shop", protocol="gmw")
        with pytest.raises(UsageError, match='give protocol="gmw"'):
            session.prepare(program, 1, role="shop")
        return int(session.run(program, customers=CUSTOMERS)["count"])

    outcomes = parties.meet(
        wrong_first, lambda session: session.run(program, payments=PAYMENTS)["count"]
    )
    assert outcomes == (expected()["count"],) * 2


BY_CUSTOMER = """
parties shop, bank;
param N: 0..=1_000 = len(customers);
param M: 0..=1_000 = keys(payments);
enum Segment { New, Old }
struct Customer { email: text, born: u16, segment: Segment }
struct Payment { email: text, born: u16, cents: u32 }
struct Paid { known: bool, segment: Segment, times: u4, cents: u40 }
main(customers: [Customer; ..N] of shop, payments: [Payment; ..3 * M] of bank,
    pairs: join customers by (email(email), born) with payments by (email(email), born) upto 3)
    -> (paid: [Paid; N] to shop, known: u16 to both) {
    let mut known: u16 = 0;
    for p in pairs { known += p.matched as u16; }
    ([for p in pairs {
        let cents = [for k in 0..3 { p.right.items[k].cents as u40 }];
        Paid {
            known: p.matched,
            segment: p.left.segment,
            times: p.right.len as u4,
            cents: cents[0] + cents[1] + cents[2],
        }
    }], known)
}
"""

TABLES: list[Any] = [
    lambda frame: frame,
    pl.from_pandas,
    lambda frame: pl.from_pandas(frame).lazy().collect(),
    pa.Table.from_pandas,
    lambda frame: frame.to_dict("records"),
    lambda frame: frame.to_dict("list"),
]


@pytest.mark.parametrize("table", TABLES, ids=["pandas", "polars", "lazy", "arrow", "rows", "dict"])
def test_tables_of_any_package_are_joined_and_results_by_pair_are_columns(
    parties: Parties, table: Any
) -> None:
    count = 40
    customers = pd.DataFrame(
        {
            "segment": ["New" if i % 3 else "Old" for i in range(count)],
            "email": [f"p{i}@x" for i in range(count)],
            "born": [1950 + i % 7 for i in range(count)],
            "more": [0.5] * count,
        }
    )
    payments = pd.DataFrame(
        [(f" P{i}@x", 1950 + i % 7, 10 * i + n) for i in range(0, 60, 2) for n in range(i % 4)],
        columns=["email", "born", "cents"],
    )
    program = tacit.function(BY_CUSTOMER)
    shop, bank = parties.meet(
        lambda session: session.run(program, customers=table(customers)),
        lambda session: session.run(program, payments=table(payments)),
    )
    assert list(bank) == ["known"]
    keys = payments.assign(email=payments["email"].str.strip().str.lower())
    sums = keys.groupby(["email", "born"])["cents"].agg(["count", "sum"]).reset_index()
    joined = customers.merge(sums, on=["email", "born"], how="left").fillna(0)
    paid = shop["paid"]
    assert len(paid) == count and shop["known"] == (joined["count"] > 0).sum() > 5
    assert paid["times"].tolist() == joined["count"].tolist()
    assert paid["cents"].tolist() == joined["sum"].tolist()
    assert paid["known"].tolist() == (joined["count"] > 0).tolist()
    frame = pl.DataFrame(paid)
    assert frame.columns == ["known", "segment", "times", "cents"]
    shown = frame.filter(pl.col("known"))["segment"].to_list()
    assert shown == joined[joined["count"] > 0]["segment"].tolist()


def test_prepared_crosses_serve_a_join_and_its_cost_is_known(parties: Parties) -> None:
    program = tacit.function(SPENT, N=600, M=800)
    made, taken = program.cost()
    assert (made["protocol"], taken["protocol"]) == ("gmw", "gmw, from stock")
    assert made["bytes"] > taken["bytes"] > 0 and taken["prepare_bytes"] > 0
    with pytest.raises(UsageError, match="N=1000, M=1000"):
        tacit.function(SPENT).cost()
    parties.meet(
        lambda session: session.prepare(program, 1, role="shop", protocol="gmw"),
        lambda session: session.prepare(program, 1, role="bank", protocol="gmw"),
    )
    outcome, _ = parties.meet(
        lambda session: session.run(program, customers=CUSTOMERS),
        lambda session: session.run(program, payments=PAYMENTS),
    )
    assert outcome["count"] == expected()["count"]
    phases = {phase["phase"]: phase for phase in outcome.cost}
    assert "prepare" in phases
    sent = sum(phases[of]["bytes_sent"] + phases[of]["bytes_received"] for of in ("match", "run"))
    assert abs(sent - taken["bytes"]) < sent / 50


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
