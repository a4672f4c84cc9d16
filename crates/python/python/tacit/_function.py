"""Functions: what two parties compute together."""

from __future__ import annotations

import inspect
import keyword
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _columns
from ._table import Table
from ._tacit import Function as Native
from .errors import InputError, ProgramWarning, UsageError


@dataclass(frozen=True)
class Port:
    """An input or a result of a function."""

    name: str
    type: str
    party: str
    """Whose input it is; of a result who gets it, or `both`."""


class Function:
    """A function with its parameters; `tacit.function` makes one.

    `f.eval(...)` runs it in the clear, `f.cost()` says what it costs, and `session.run(f, ...)`
    runs it with the other party.
    """

    eval: Callable[..., Any]
    """Runs the function in the clear: takes the inputs of both parties by name or in order, and
    returns the result, or a dict of the results where there are several. What a program draws at
    random comes from `seed`."""

    def __init__(self, native: Native) -> None:
        self._native = native
        self.name = native.name
        self.documentation = native.documentation
        """What a program says of itself."""
        self.inputs = [Port(*row) for row in native.inputs]
        self.outputs = [Port(*row) for row in native.outputs]
        self.parties = native.parties
        """The names of the two parties; the first garbles."""
        for text, place in native.warnings:
            # At the line that asks for the function: behind this one and `tacit.function`.
            warnings.warn(ProgramWarning(text, place), stacklevel=3)
        self.__doc__ = _description(self)
        self.eval = _evaluation(self)

    @property
    def digest(self) -> str:
        """What both parties must have in common: the digest of the function with its parameters."""
        return self._native.digest

    @property
    def and_gates(self) -> int:
        """How many AND gates a run has."""
        return self._native.and_gates

    def compile(self, *, progress: Callable[[int, int], object] | None = None) -> None:
        """Compiles a program now, which `digest`, `and_gates`, `cost` and the first run do otherwise,
        and which takes seconds for thousands of rows. `eval` and a run's check of its inputs do without.

        `progress` hears the steps that are done and all of them, from one second on.
        """
        self._native.compile(progress)

    def cost(
        self, link: str = "500us,1gbit", *, security: str = "semi-honest", runs: int = 10
    ) -> Table:
        """What a run costs, a row for each protocol that is secure as asked.

        `link` is the delay one way and the rate of the link between the parties. Bytes follow from
        the function, whatever the link is, and are exactly those of the phases `preparation` and
        `run` of a session's second run. Each run agrees before that, and the first one makes base
        OTs: kilobytes. Times are predictions for this machine, which is measured for
        less than a second. What is prepared ahead is for `runs` runs at once.
        """
        note = (
            f"{self.name}, {self.and_gates:,} AND gates, secure against {security} parties, over "
            f"{link}; prepared for {runs} runs; times are predictions, bytes are exact"
        )
        return Table(self._native.cost(link, security, runs), note)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{port.name}: {port.type} of {port.party}" for port in self.inputs)
        outputs = ", ".join(f"{port.name}: {port.type} to {port.party}" for port in self.outputs)
        return f"{self.name}({inputs}) -> ({outputs}), {self.and_gates:,} AND gates"

    def _role(self, names: Mapping[str, Any], role: str | None) -> str:
        """This party's role: as it was said, or that of the party whose inputs it gives."""
        roles = dict(zip(self.parties, ("garbler", "evaluator")))
        if role is not None:
            known = {**roles, "garbler": "garbler", "evaluator": "evaluator"}
            if role not in known:
                raise UsageError(f"role is {role!r}; give {' or '.join(map(repr, roles))}")
            return known[role]
        owners = {port.name: port.party for port in self.inputs}
        for name in names:
            if name not in owners:
                raise InputError(f"there is no input {name!r}; there are {', '.join(owners)}")
        givers = {owners[name] for name in names}
        if len(givers) == 1:
            return roles[givers.pop()]
        if len(givers) == 2:
            first, second = (next(n for n in names if owners[n] == p) for p in self.parties)
            raise InputError(
                f"{first} is {self.parties[0]}'s input and {second} is {self.parties[1]}'s; give "
                "those of one party"
            )
        without = [party for party in self.parties if party not in owners.values()]
        if len(without) == 1:
            return roles[without[0]]
        raise InputError(
            f"no input is given; {self.parties[0]} has "
            f"{', '.join(n for n, p in owners.items() if p == self.parties[0])} and "
            f"{self.parties[1]} has "
            f"{', '.join(n for n, p in owners.items() if p == self.parties[1])}"
        )


def function(
    source: str | os.PathLike[str],
    /,
    *,
    run: str | None = None,
    public: Mapping[str, Any] | None = None,
    **params: int,
) -> Function:
    """A function with its parameters: a `.tacit` program, as a file or as its text, or a function of
    the library by its name.

    >>> tacit.function("auction.tacit", LOTS=8)
    >>> tacit.function("millionaires", bits=32)

    `public` has the values of a program's public inputs, which both parties give alike, and `run`
    names one of several runs. `tacit.library()` lists the library.
    """
    if isinstance(source, str) and "{" in source:
        _columns.encoded("the program", source)
        return Function(Native.program(None, source, run, params, dict(public or {})))
    path = os.fspath(source)
    if path.endswith(".tacit"):
        return Function(Native.program(path, None, run, params, dict(public or {})))
    if path.endswith(".json"):
        raise UsageError(f"{path}: functions are not written in JSON; write it as a program, NAME.tacit")
    if run is not None or public is not None:
        raise UsageError(f"run and public are for programs, and {path} is none; leave them out")
    return Function(Native.library(path, params))


def library() -> list[str]:
    """The names of the functions that come with Tacit."""
    return Native.names()


def _description(function: Function) -> str:
    def lines(title: str, ports: list[Port], of: str) -> str:
        rows = "".join(f"    {port.name}: {port.type}, {of} {port.party}\n" for port in ports)
        return f"{title}:\n{rows}"

    inputs, outputs = (
        lines("Inputs", function.inputs, "of"),
        lines("Results", function.outputs, "to"),
    )
    said = function.documentation
    return f"{said or function.name}\n\n{inputs}\n{outputs}"


def _evaluation(function: Function) -> Callable[..., Any]:
    """`eval` with the function's own signature, which `help()` and editors show."""
    names = [port.name for port in function.inputs]

    def eval(*values: Any, seed: int = 0, **named: Any) -> Any:
        if len(values) > len(names):
            raise InputError(f"{len(values)} values for {len(names)} inputs: {', '.join(names)}")
        inputs = dict(zip(names, values))
        twice = [name for name in named if name in inputs]
        if twice:
            raise InputError(f"input {twice[0]!r} is given twice; give it once")
        outputs = function._native.evaluate({**inputs, **named}, seed)
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    eval.__doc__ = f"Runs this in the clear.\n\n{function.__doc__}"
    eval.__qualname__ = f"{function.name}.eval"
    if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
        return eval
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(p.name, kind, annotation=_Text(p.type)) for p in function.inputs
    ]
    outputs = ", ".join(port.type for port in function.outputs)
    vars(eval)["__signature__"] = inspect.Signature(
        parameters,
        return_annotation=_Text(outputs if len(function.outputs) == 1 else f"({outputs})"),
    )
    return eval


class _Text(str):
    """An annotation that is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)
