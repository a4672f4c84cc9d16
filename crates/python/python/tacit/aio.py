"""The same as `tacit.connect` and `tacit.listen`, for asyncio.

What waits is awaited: it runs in a thread, and a task that is cancelled ends it within a tenth of a
second.

>>> session = await tacit.aio.connect("bob.example:7000", identity="alice.key", peer="tacit:...")
>>> async with session:
...     outcome = await session.run(f, a=50)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from . import _session, _tacit
from ._function import Function
from ._session import Outcome, Path
from ._table import Table
from ._tacit import Identity

T = TypeVar("T")


async def _wait(work: Callable[[], T], cancel: Callable[[], None]) -> T:
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancel()
        with contextlib.suppress(Exception):
            await task
        raise


class Session:
    """A session whose waits are awaited; see `tacit.Session`."""

    def __init__(self, session: _session.Session) -> None:
        self._session = session

    @property
    def peer(self) -> str:
        """The other party's fingerprint."""
        return self._session.peer

    async def run(self, function: Function, inputs: Any = None, /, **options: Any) -> Outcome:
        """As `tacit.Session.run`."""
        work = lambda: self._session.run(function, inputs, **options)
        return await _wait(work, self._session.cancel)

    async def prepare(self, function: Function, runs: int, **options: Any) -> Table:
        """As `tacit.Session.prepare`."""
        work = lambda: self._session.prepare(function, runs, **options)
        return await _wait(work, self._session.cancel)

    async def close(self) -> None:
        """Ends the session in good order."""
        await _wait(self._session.close, self._session.cancel)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self._session.cancel()
        await self.close()


class Listener:
    """An address at which the other party connects; see `tacit.Listener`."""

    def __init__(self, address: str) -> None:
        self._listener = _session.Listener(address)

    @property
    def address(self) -> str:
        """The address, with the port that was taken."""
        return self._listener.address

    async def accept(
        self,
        *,
        identity: Identity | Path,
        peer: str,
        timeout: float = 60,
        patience: float = 300,
        stock: Path | None = None,
        keep_base_ots: bool = True,
    ) -> Session:
        """Waits for the other party, as `tacit.listen` does."""
        cancel = _tacit.Cancel()
        meeting = _session.meeting(peer, timeout, patience, stock, keep_base_ots, cancel)
        own = _session.identity_of(identity)
        native = self._listener._native
        return Session(
            await _wait(lambda: _session.Session(native.accept(own, meeting)), cancel.cancel)
        )


async def connect(
    address: str,
    *,
    identity: Identity | Path,
    peer: str,
    timeout: float = 60,
    patience: float = 300,
    stock: Path | None = None,
    keep_base_ots: bool = True,
) -> Session:
    """As `tacit.connect`."""
    cancel = _tacit.Cancel()
    meeting = _session.meeting(peer, timeout, patience, stock, keep_base_ots, cancel)
    own = _session.identity_of(identity)
    work = lambda: _session.Session(_tacit.connect(address, own, meeting))
    return Session(await _wait(work, cancel.cancel))


async def listen(
    address: str,
    *,
    identity: Identity | Path,
    peer: str,
    timeout: float = 60,
    patience: float = 300,
    stock: Path | None = None,
    keep_base_ots: bool = True,
) -> Session:
    """As `tacit.listen`."""
    return await Listener(address).accept(
        identity=identity,
        peer=peer,
        timeout=timeout,
        patience=patience,
        stock=stock,
        keep_base_ots=keep_base_ots,
    )
