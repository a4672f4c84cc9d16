"""The same as `tacit.connect` and `tacit.listen`, for asyncio.

What waits is awaited: it runs in a thread, and a task that is cancelled ends it within a tenth of a
second.

>>> meeting = tacit.aio.connect("bob.example:7000", identity="alice.key", peer="tacit:...")
>>> async with meeting as session:
...     outcome = await session.run(f, a=50)
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

from . import _session, _tacit

P = ParamSpec("P")
T = TypeVar("T")


async def _wait(cancel: Callable[[], None], work: Callable[[], T]) -> T:
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancel()
        with contextlib.suppress(Exception):
            await task
        raise


def _of_session(
    method: Callable[Concatenate[_session.Session, P], T],
) -> Callable[Concatenate[Session, P], Coroutine[Any, Any, T]]:
    """The method of a session, awaited."""

    @wraps(method)
    async def awaited(self: Session, /, *args: P.args, **named: P.kwargs) -> T:
        return await self.call(method, *args, **named)

    return awaited


class Meeting(Coroutine[Any, Any, "Session"]):
    """A session to come: awaited it is the session, and `async with` waits for it and closes it."""

    def __init__(self, wait: Coroutine[Any, Any, Session]) -> None:
        self._wait = wait
        self._session: Session | None = None

    def send(self, value: Any, /) -> Any:
        return self._wait.send(value)

    def throw(self, *error: Any) -> Any:
        return self._wait.throw(*error)

    def close(self) -> None:
        self._wait.close()

    def __await__(self) -> Generator[Any, Any, Session]:
        return self._wait.__await__()

    async def __aenter__(self) -> Session:
        self._session = await self._wait
        return self._session

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.__aexit__(kind, error, trace)


def _meeting(meet: Callable[P, _session.Session]) -> Callable[P, Meeting]:
    """What makes a session, awaited."""

    async def awaited(*args: P.args, **named: P.kwargs) -> Session:
        cancel = _tacit.Cancel()

        def work() -> _session.Session:
            # In the thread's own context, of which the loop's has nothing.
            _session.CANCEL.set(cancel)
            return meet(*args, **named)

        return Session(await _wait(cancel.cancel, work))

    @wraps(meet)
    def meeting(*args: P.args, **named: P.kwargs) -> Meeting:
        return Meeting(awaited(*args, **named))

    return meeting


class Session:
    """A session whose waits are awaited; see `tacit.Session`."""

    def __init__(self, session: _session.Session) -> None:
        self._session = session

    @property
    def peer(self) -> str:
        """The other party's fingerprint."""
        return self._session.peer

    run = _of_session(_session.Session.run)
    prepare = _of_session(_session.Session.prepare)
    close = _of_session(_session.Session.close)

    async def call(
        self,
        work: Callable[Concatenate[_session.Session, P], T],
        /,
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        """What takes a `tacit.Session`, awaited, such as `call(job.run, frame, party="left", ...)`
        for `job.run(session, frame, party="left", ...)`."""
        session = self._session
        return await _wait(session.cancel, lambda: work(session, *args, **named))

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
        listener = _session.Listener(address)
        self.address = listener.address
        """The address, with the port that was taken."""
        self.accept = _meeting(listener.accept)
        """Waits for the other party, as `listen` does."""
        self.close = listener.close
        """Gives the port up; `with` does so at its end."""

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


connect = _meeting(_session.connect)
listen = _meeting(_session.listen)
