"""One party's side of a job in parts, on a cluster of Ray (`pip install ray`).

Each party has a cluster of its own and calls `run` or `common` there, with the same number of
parts. The workers of the two meet at one relay, in a room for each part, so that no worker has to be
reached from outside. A worker has a short-lived key that the party's own key has signed.

A part whose worker dies, or whose connection breaks, is run again. Both parties then agree on the
parts that both have finished, and run the others once more: a part counts for both or for neither.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _columns
from ._common import common as common_of_part
from ._common import shards
from ._ids import Normalize
from ._session import Path, Session, identity_of, meet
from ._tacit import Identity
from .errors import (
    Cancelled,
    InputError,
    NetworkError,
    PeerAborted,
    SessionOver,
    TacitError,
    UsageError,
)

Shard = tuple[int, int]
Work = Callable[[Session, Shard, Any], Any]

AGAIN_S = 30.0
"""How long a worker waits for the other party's at another try. Where the connection broke, the
other one is back soon; where it has the result, it comes in the next round."""

PASSING = (NetworkError, PeerAborted, SessionOver, Cancelled)
"""What another try may not meet again."""


class Place(NamedTuple):
    """Where the two parties meet."""

    relay: str
    identity: Identity
    peer: str
    timeout: float

    def session(self, number: int, parts: int, most_s: float = math.inf) -> Session:
        """A session with the other party in the room of this part; part 0 is the drivers'."""
        return meet(
            self.relay,
            identity=self.identity,
            peer=self.peer,
            shard=(number, parts),
            timeout=min(self.timeout, most_s),
        )


class Worker:
    """An actor, which runs parts one after the other."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def do(self, work: Work, shard: Shard, data: Any, most_s: float) -> Any:
        with self._place.session(*shard, most_s) as session:
            return work(session, shard, data)


def run(
    work: Work,
    data: Sequence[Any],
    *,
    relay: str,
    identity: Identity | Path,
    peer: str,
    workers: int,
    tries: int = 3,
    rounds: int = 5,
    timeout: float = 600,
    valid: float = 24 * 3600,
    options: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[Any]:
    """Runs a job in as many parts as `data` has items, and returns the result of each part.

    `work(session, shard, item)` is called in an actor for each part, with its item of `data` and a
    session with the other party's worker of this part; it gives `shard` to what it runs. An item
    that `ray.put` made arrives as the value. At most `workers` parts run at once; the other party
    may have another number. `options` are those of Ray for an actor, such as `{"num_cpus": 2}`.

    In each of `rounds` rounds a part has `tries` tries, if a worker dies or the network fails. Any
    other error ends the job. A worker waits `timeout` seconds for the other party's worker, at
    another try half a minute, and the process that calls this waits for the other party's when a
    round ends. Keys of workers
    are `valid` for so many seconds, and have the party's fingerprint. `progress` hears the parts
    that are done and all of them.
    """
    ray = _ray()
    parts, own = len(data), identity_of(identity)
    if not (parts and workers > 0 and tries > 0 and rounds > 0):
        raise UsageError("give at least one item of data, one worker, one try and one round")
    actor = ray.remote(Worker).options(**(options or {}))
    places = (
        Place(relay, own.for_worker(f"ray-{number}", valid=valid), peer, timeout)
        for number in range(1, min(workers, parts) + 1)
    )
    seats = [_Seat(ray, actor, place) for place in places]
    done: dict[int, Any] = {}
    failed: BaseException | None = None
    try:
        for _ in range(rounds):
            todo = [number for number in range(1, parts + 1) if number not in done]
            job = _Round(ray, seats, work, data, tries, len(done), progress)
            found = job.run(todo)
            failed = job.failed
            place = Place(relay, own, peer, timeout)
            both = _agreed(place, parts, found, most=tries * len(todo))
            done.update((number, found[number]) for number in both)
            if len(done) == parts:
                return [done[number] for number in range(1, parts + 1)]
    finally:
        for seat in seats:
            ray.kill(seat.actor)
    missing = [number for number in range(1, parts + 1) if number not in done]
    message = f"parts {missing} of {parts} failed in each of {rounds} rounds"
    raise NetworkError(message) from failed


def _agreed(place: Place, parts: int, found: Iterable[int], most: int) -> list[int]:
    """The parts that both parties have done. The other one may still be trying its last ones, which
    takes it as long as `most` waits at most."""
    while True:
        try:
            with place.session(0, parts) as session:
                # Of one type, however few there are.
                both = common_of_part(session, [str(number) for number in sorted(found)])
                return [int(number) for number in both.ids or []]
        except NetworkError:
            most -= 1
            if most <= 0:
                raise


class _Seat:
    """The place of a worker. Where the actor dies, another takes it: tasks wait until that has
    started, while one that Ray restarts refuses them."""

    def __init__(self, ray: Any, actor: Any, place: Place) -> None:
        self._ray, self._actor, self._place = ray, actor, place
        self.actor = actor.remote(place)

    def renew(self) -> None:
        self._ray.kill(self.actor)
        self.actor = self._actor.remote(self._place)


class _Round:
    """Tries of several parts, each of which is done once if all goes well."""

    def __init__(
        self,
        ray: Any,
        seats: Iterable[_Seat],
        work: Work,
        data: Sequence[Any],
        tries: int,
        before: int,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self._ray, self._free, self._work, self._data = ray, list(seats), work, data
        self._tries, self._before, self._progress = tries, before, progress
        self.failed: BaseException | None = None
        """Why a part failed last."""

    def run(self, todo: Iterable[int]) -> dict[int, Any]:
        """The results of the parts that are done. Each actor has one part at a time."""
        left, tried = deque(todo), Counter[int]()
        running: dict[Any, tuple[int, _Seat]] = {}
        done: dict[int, Any] = {}
        while left or running:
            while left and self._free:
                number, seat = left.popleft(), self._free.pop()
                shard, item = (number, len(self._data)), self._data[number - 1]
                most_s = AGAIN_S if tried[number] else math.inf
                task = seat.actor.do.remote(self._work, shard, item, most_s)
                running[task] = (number, seat)
            (ready, *_), _ = self._ray.wait(list(running), num_returns=1)
            number, seat = running.pop(ready)
            self._free.append(seat)
            try:
                done[number] = self._ray.get(ready)
            except self._ray.exceptions.RayError as error:
                self.failed = _passing(self._ray, error)
                if not isinstance(error, self._ray.exceptions.RayTaskError):
                    seat.renew()
                tried[number] += 1
                if tried[number] < self._tries:
                    left.appendleft(number)
            else:
                if self._progress:
                    self._progress(self._before + len(done), len(self._data))
        return done


def _passing(ray: Any, error: Exception) -> Exception:
    """The error of a part that may be run again; raises any other."""
    if isinstance(error, ray.exceptions.RayTaskError):
        cause = getattr(error, "cause", error)
        if not isinstance(cause, PASSING):
            raise cause from error
        return cause if isinstance(cause, TacitError) else error
    return error


def common(
    ids: Any,
    *,
    parts: int,
    to: str = "both",
    normalize: Normalize = "none",
    most_keys: int | None = None,
    threads: int | None = None,
    **job: Any,
) -> Any:
    """At which places of `ids` those are that the other party has, too: an array of integers,
    ascending, as `tacit.common` finds them. None where the result goes to the other party alone.

    The ids are cut once, here, and each worker gets those of its parts. They are distinct, and none
    is missing. `job` has what `run` takes: `relay`, `identity`, `peer`, `workers` and so on.
    """
    listed = _columns.items(ids)
    if listed is None:
        raise InputError(
            f"ids is of the class {type(ids).__name__}; give a list, an array or a column"
        )
    of_parts = shards(ids, parts, normalize=normalize)
    if not all(of_parts):
        raise InputError("an id is missing; leave its row out")
    ray = _ray()
    places = [np.flatnonzero(of_parts == number) for number in range(1, parts + 1)]
    data = [ray.put([listed[place] for place in of_part]) for of_part in places]
    terms = {"to": to, "normalize": normalize, "most_keys": most_keys, "threads": threads}
    found = run(_Match({**terms, "rows": len(listed)}), data, **job)
    if any(rows is None for rows in found):
        return None
    return np.sort(np.concatenate([of_part[rows] for of_part, rows in zip(places, found)]))


class _Match:
    """The work of `common`."""

    def __init__(self, terms: Mapping[str, Any]) -> None:
        self._terms = terms

    def __call__(self, session: Session, shard: Shard, ids: Any) -> Any:
        return common_of_part(session, ids, shard=shard, **self._terms).rows


def _ray() -> Any:
    """Ray, which only this module needs."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise UsageError("tacit.ray needs Ray: pip install ray") from None
    if not ray.is_initialized():
        raise UsageError("call ray.init first, with the address of this party's cluster")
    return ray
