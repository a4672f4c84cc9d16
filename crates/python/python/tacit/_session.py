"""Sessions: an authenticated connection between two parties, over which they run functions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from html import escape
from types import TracebackType
from typing import Any, Literal

from . import _columns, _progress, _tacit
from ._function import Function
from ._table import Table
from ._tacit import Identity
from .errors import InputError, UsageError

Path = str | os.PathLike[str]

CANCEL: ContextVar[_tacit.Cancel | None] = ContextVar("CANCEL", default=None)
"""What ends the wait for the other party, where somebody else is to end it."""

LONGEST_SHOWN = 400
"""Characters of a result in a notebook's table."""


class Outcome(Mapping[str, Any]):
    """The results of a run that go to this party, by name, and what the run took."""

    def __init__(self, ran: _tacit.Ran) -> None:
        self._outputs = ran["outputs"]
        self.protocol = ran["protocol"]
        self.security = ran["security"]
        """Against whom the run was secure: `semi-honest` or `malicious`."""
        self.security_bits = ran["security_bits"]
        """s, where it was secure against a malicious party: cheating succeeds with probability at
        most 2 to minus this number, over all runs of the protocol with this party unless
        `of_this_run_alone`."""
        self.of_this_run_alone = ran["of_this_run_alone"]
        self.chain = ran["chain"]
        """The chain of kept values and its version after the run, where it has one."""
        self.base_ots = ran["base_ots"]
        """Where the base OTs come from, in a session's first run: `fresh`, or `kept` by a chain."""
        self.run = ran["run"]
        """The run's name, `SESSION-NUMBER`, which the other party's result and log have too."""
        heads = ("phase", "seconds", "bytes_sent", "bytes_received", "rounds")
        spot = ran["and_gates_on_the_spot"]
        note = f"{ran['and_gates']:,} AND gates" + f", {spot:,} of them on the spot" * bool(spot)
        self.cost = Table([dict(zip(heads, phase)) for phase in ran["phases"]], note)
        """Time and bytes of each phase, on this side."""

    @property
    def value(self) -> Any:
        """The result, where this party gets just one."""
        (value,) = self._outputs.values()
        return value

    def __getitem__(self, name: str) -> Any:
        return self._outputs[name]

    def __len__(self) -> int:
        return len(self._outputs)

    def __iter__(self) -> Iterator[str]:
        return iter(self._outputs)

    def _secure(self) -> str:
        bits = f", s = {self.security_bits}" if self.security_bits else ""
        alone = " of this run alone" if self.of_this_run_alone else ""
        return f"{self.protocol}, secure against {self.security} parties{bits}{alone}"

    def __repr__(self) -> str:
        gaps = ["\n" if isinstance(value, Table) else " " for value in self.values()]
        results = [f"{name} ={gap}{value!r}\n" for gap, (name, value) in zip(gaps, self.items())]
        return f"{''.join(results)}({self._secure()})"

    def _repr_html_(self) -> str:
        tables = [
            f"<p>{escape(name)}</p>{value._repr_html_()}"
            for name, value in self.items()
            if isinstance(value, Table)
        ]
        shown = {name: repr(value) for name, value in self.items() if not isinstance(value, Table)}
        rows = [
            {"result": name, "value": text[:LONGEST_SHOWN] + "…" * (len(text) > LONGEST_SHOWN)}
            for name, text in shown.items()
        ]
        return "".join(tables) + Table(rows, self._secure())._repr_html_()


class Session:
    """An authenticated connection to the other party; `connect` and `listen` make one.

    Functions run over it one after the other. After an error it is spent. At the end of a `with`
    block it is closed.
    """

    def __init__(self, native: _tacit.Session) -> None:
        self._native = native

    @property
    def peer(self) -> str:
        """The other party's fingerprint."""
        return self._native.peer or ""

    def run(
        self,
        function: Function,
        inputs: Mapping[str, Any] | None = None,
        /,
        *,
        role: str | None = None,
        protocol: str | None = None,
        security: str | None = None,
        security_bits: int | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        chain: str | None = None,
        replace: bool = False,
        pin: str | None = None,
        drop_missing: bool = False,
        keep: Literal["first"] | None = None,
        shard: tuple[int, int] | None = None,
        progress: _progress.Progress | bool | None = None,
        **values: Any,
    ) -> Outcome:
        """Runs `function` with the other party, which runs it with its own inputs.

        Inputs are given by name, or together as a dict or DataFrame whose columns are inputs;
        they are checked before anything is sent. Whose they are says which party this is; `role`
        says it where this party has none. `protocol` is `direct`, `prepared`, `gmw`, `batch`
        or `authenticated`; without it, `security="malicious"` takes `batch` where a checked
        execution is in stock and else `authenticated`, and anything else takes `direct`.
        `threads` is how many this party works on, whatever the other one does; without it as many
        as there are cores. `timeout` bounds the whole run, in seconds.

        A program that joins two tables runs by `gmw`, and tells the other party how many rows this
        party's table has, unless the function sets that number. A row of its table without a key, or
        with the key of earlier rows, is an error; `drop_missing` leaves out rows without a key or
        another value, and `keep="first"` takes the first rows of each key. With `shard=(3, 16)` the
        run joins one of 16 parts of both tables, of which both parties give the whole: each key is
        in one part.

        A program with a `state` keeps its values in the chain that both parties call `chain`, under
        `prepared` or `authenticated`; the run that begins it says `replace=True` where it discards
        another's values. `pin` is the `chain` of an earlier outcome: the run then goes on from that
        version or a later one, and fails where both parties went back to an old copy.
        """
        _check(function)
        given = {**_inputs(function, inputs), **values}
        with _progress.listener(progress) as hears:
            terms: _tacit.Terms = {
                "role": function._role(given, role),
                "protocol": protocol,
                "security": security,
                "security_bits": security_bits,
                "threads": threads,
                "timeout": timeout,
                "chain": chain,
                "replace": replace,
                "pin": pin,
                "drop_missing": drop_missing,
                "keep": keep,
                "shard": shard,
                "progress": hears,
            }
            return Outcome(self._native.run(function._native, given, terms))

    def prepare(
        self,
        function: Function,
        runs: int,
        *,
        role: str,
        protocol: str | None = None,
        security: str | None = None,
        security_bits: int | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        progress: _progress.Progress | bool | None = None,
    ) -> Table:
        """Prepares for `runs` runs of `function`; the other party does the same in its role.

        What is prepared is for the protocol `prepared`, and with `security="malicious"` for
        `batch`. With `protocol="authenticated"` it is checked components or, where a function takes
        none, triples. With `protocol="gmw"` it is crosses, which any function that runs by `gmw`
        takes. It is kept in the stock, on disk, and no part of it is ever used twice. It is made on `threads`
        threads, without it on all cores.
        """
        _check(function)
        with _progress.listener(progress) as hears:
            terms: _tacit.Terms = {
                "role": function._role({}, role),
                "protocol": protocol,
                "security": security,
                "security_bits": security_bits,
                "threads": threads,
                "timeout": timeout,
                "chain": None,
                "replace": False,
                "pin": None,
                "drop_missing": False,
                "keep": None,
                "shard": None,
                "progress": hears,
            }
            made = self._native.prepare(function._native, runs, terms)
        return Table([dict(zip(("component", "made", "usable"), row)) for row in made])

    def __repr__(self) -> str:
        return f"Session(with {self.peer})"

    def cancel(self) -> None:
        """Ends what the session does, from another thread; the session is then spent."""
        self._native.cancel()

    def close(self) -> None:
        """Ends the session in good order."""
        self._native.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.cancel()
        self.close()


class Listener:
    """An address at which the other party connects, such as `0.0.0.0:7000`; port 0 takes a free
    one."""

    def __init__(self, address: str) -> None:
        self._native = _tacit.Listener(address)

    @property
    def address(self) -> str:
        """The address, with the port that was taken."""
        return self._native.address

    def __repr__(self) -> str:
        return f"Listener({self.address!r})"

    def close(self) -> None:
        """Gives the address back, as the end of a `with` block does. Sessions stay."""
        self._native.close()

    def __enter__(self) -> Listener:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def accept(
        self,
        *,
        identity: Identity | Path,
        peer: str,
        timeout: float = 60,
        patience: float = 300,
        stock: Path | None = None,
        ot_extension: str | None = None,
        gpu: str | int = "auto",
    ) -> Session:
        """Waits for the other party, as `listen` does."""
        terms = meeting(peer, timeout, patience, stock, (ot_extension, gpu))
        return Session(self._native.accept(identity_of(identity), terms))


def connect(
    address: str,
    *,
    identity: Identity | Path,
    peer: str,
    timeout: float = 60,
    patience: float = 300,
    stock: Path | None = None,
    ot_extension: str | None = None,
    gpu: str | int = "auto",
) -> Session:
    """Connects to the party with the fingerprint `peer`, which listens at `address`.

    Either party may start first: the whole wait is `timeout` seconds. Later `patience` bounds each
    wait for a message, in seconds. `stock` is the folder of what is prepared; without it, the one
    of the command `tacit`. `ot_extension` is how both make oblivious transfers, such as `silent`,
    which a GPU makes faster: `gpu` is `auto`, `never` or the number of one, from 0.
    """
    terms = meeting(peer, timeout, patience, stock, (ot_extension, gpu))
    return Session(_tacit.connect(address, identity_of(identity), terms))


def listen(
    address: str,
    *,
    identity: Identity | Path,
    peer: str,
    timeout: float = 60,
    patience: float = 300,
    stock: Path | None = None,
    ot_extension: str | None = None,
    gpu: str | int = "auto",
) -> Session:
    """Waits at `address` for the party with the fingerprint `peer` to connect.

    Whoever else connects is refused, and the wait goes on. The rest is as for `connect`.
    """
    with Listener(address) as listener:
        return listener.accept(
            identity=identity,
            peer=peer,
            timeout=timeout,
            patience=patience,
            stock=stock,
            ot_extension=ot_extension,
            gpu=gpu,
        )


def meet(
    relay: str,
    *,
    identity: Identity | Path,
    peer: str,
    shard: tuple[int, int] | None = None,
    timeout: float = 60,
    patience: float = 300,
    stock: Path | None = None,
    ot_extension: str | None = None,
    gpu: str | int = "auto",
) -> Session:
    """Meets the party with the fingerprint `peer` at the relay at `relay`, such as
    `relay.example:7400`, to which both connect. `tacit relay` is one.

    Each part of a job, `shard=(3, 16)`, has a room of its own there. The rest is as for `connect`.
    """
    terms = meeting(peer, timeout, patience, stock, (ot_extension, gpu))
    return Session(_tacit.meet(relay, identity_of(identity), terms, shard))


def worker_of_pem(pem: str) -> Identity:
    """The key of a worker that was pickled."""
    return Identity.of_pem(pem)


def meeting(
    peer: str,
    timeout: float,
    patience: float,
    stock: Path | None,
    ots: tuple[str | None, str | int],
) -> _tacit.Meeting:
    """How a session is to be made, as the native module takes it."""
    if not isinstance(peer, str):
        raise UsageError(f"peer is {peer!r}; give the other party's fingerprint, a text")
    return {
        "peer": peer,
        "timeout": timeout,
        "patience": patience,
        "stock": stock,
        "ot_extension": ots[0],
        "gpu": str(ots[1]),
        "cancel": CANCEL.get() or _tacit.Cancel(),
    }


def identity_of(identity: Identity | Path) -> Identity:
    """The identity, read from its file where it is named by one."""
    if isinstance(identity, Identity):
        return identity
    if not os.path.exists(identity):
        raise InputError(
            f"there is no identity file {os.fspath(identity)!r}; make one by "
            f"tacit.Identity.open({os.fspath(identity)!r}), and give its fingerprint to the other "
            "party"
        )
    return Identity.load(identity)


def _check(function: object) -> None:
    if not isinstance(function, Function):
        raise UsageError(
            f"{function!r} is not a function; make one by tacit.function, and run a job by "
            "job.run(session, ...)"
        )


def _inputs(function: Function, inputs: Any) -> dict[str, Any]:
    """The inputs of a dict, or those of the columns of a DataFrame that the function has."""
    if inputs is None:
        return {}
    if isinstance(inputs, Mapping):
        return dict(inputs)
    names = _columns.names(inputs)
    ports = (port.name for port in function.inputs if port.name in names)
    return {name: _columns.column(inputs, name) for name in ports}
