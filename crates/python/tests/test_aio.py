"""Two parties in one event loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import tacit

from conftest import Parties

RICHER = tacit.function("millionaires", bits=32)


def test_both_parties_in_one_loop(parties: Parties) -> None:
    async def both() -> tuple[Any, Any]:
        listener = tacit.aio.Listener("127.0.0.1:0")
        alice, bob = await asyncio.gather(
            listener.accept(identity=parties.alice, peer=parties.bob.fingerprint),
            tacit.aio.connect(
                listener.address, identity=parties.bob, peer=parties.alice.fingerprint
            ),
        )
        async with alice, bob:
            runs = await asyncio.gather(alice.run(RICHER, a=50), bob.run(RICHER, b=41))
        return runs[0].value, runs[1].value

    assert asyncio.run(both()) == (True, True)


def test_a_job_is_awaited(parties: Parties) -> None:
    job = tacit.jobs.intersection(rows=2, at_least=1)

    async def both() -> tuple[Any, Any]:
        listener = tacit.aio.Listener("127.0.0.1:0")
        alice, bob = await asyncio.gather(
            listener.accept(identity=parties.alice, peer=parties.bob.fingerprint),
            tacit.aio.connect(
                listener.address, identity=parties.bob, peer=parties.alice.fingerprint
            ),
        )
        async with alice, bob:
            left, right = {"id": [7, 8]}, {"id": [8], "cents": [250]}
            return await asyncio.gather(
                alice.call(job.run, left, party="left", id="id"),
                bob.call(job.run, right, party="right", id="id", amount="cents"),
            )

    assert [result["total"] for result in asyncio.run(both())] == [250, 250]


def test_a_session_is_waited_for_by_its_block(parties: Parties) -> None:
    async def richer(meeting: tacit.aio.Meeting, amount: dict[str, int]) -> Any:
        async with meeting as session:
            return (await session.run(RICHER, amount)).value

    async def both() -> tuple[Any, Any]:
        with tacit.Listener("127.0.0.1:0") as free:
            address = free.address
        listens = tacit.aio.listen(
            address, identity=parties.alice, peer=parties.bob.fingerprint
        )
        connects = tacit.aio.connect(
            address, identity=parties.bob, peer=parties.alice.fingerprint
        )
        return await asyncio.gather(richer(listens, {"a": 50}), richer(connects, {"b": 41}))

    assert list(asyncio.run(both())) == [True, True]


def test_a_cancelled_wait_gives_its_port_back(parties: Parties) -> None:
    with tacit.Listener("127.0.0.1:0") as free:
        address = free.address

    async def cancelled() -> None:
        wait = tacit.aio.listen(address, identity=parties.alice, peer=parties.bob.fingerprint)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait, 0.05)
        tacit.Listener(address).close()

    asyncio.run(cancelled())


def test_a_cancelled_task_ends_its_wait(parties: Parties) -> None:
    async def cancelled() -> None:
        wait = tacit.aio.listen(
            "127.0.0.1:0", identity=parties.alice, peer=parties.bob.fingerprint, timeout=3600
        )
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(wait, 0.05)

    # The loop's end waits for its threads, so that this ends at all shows that the wait did.
    asyncio.run(cancelled())
