"""What all jobs have: a program with its numbers, and results by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .. import _columns
from .._function import Function, function
from .._session import Outcome, Session
from .._table import Table
from ..errors import InputError, PeerMisbehaved, UsageError
from ._noise import Budget


class Job:
    """A program of the package with its numbers."""

    def __init__(
        self,
        name: str,
        params: Mapping[str, Any],
        public: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
    ) -> None:
        source = Path(__file__).with_name(f"{name}.tacit")
        self.program = source.read_text()
        """The source, which both parties can read before they agree."""
        self.function: Function = function(source, public=public, **params)
        self.budget = budget
        """What a run spends of differential privacy, where the job has noise."""
        self._params = params

    def cost(self, link: str = "500us,1gbit", **options: Any) -> Table:
        """What a run costs; see `tacit.Function.cost`."""
        return self.function.cost(link, **options)

    def run(self, session: Session, /, *given: Any, **named: Any) -> Any:
        """Runs the job; most jobs say here what they take."""
        raise UsageError("this job has a run for each party: run_model and run_client")

    def check(self, /, *given: Any, **named: Any) -> None:
        """Checks what `run` takes, without a session: the same errors before anybody is met, such as
        `job.check(frame, party="left", id="customer")`."""
        session: Any = _InputsAlone()
        try:
            self.run(session, *given, **named)
        except _Fits:
            pass

    def _result(self, values: Mapping[str, Any], outcome: Outcome) -> Result:
        stated = {} if self.budget is None else {"budget": self.budget}
        return Result({**values, **stated}, outcome)

    def _party(self, party: str) -> str:
        if party not in self.function.parties:
            known = " or ".join(map(repr, self.function.parties))
            raise UsageError(f"party is {party!r}; give {known}")
        return party

    def __repr__(self) -> str:
        return repr(self.function)

    def _cells(self, frame: Any, name: str, argument: str) -> list[Any]:
        """The cells of the column that `argument` of `run` names, missing ones among them."""
        found = _columns.column(frame, name) if name else None
        if found is None:
            try:
                known = ", ".join(map(str, _columns.names(frame)))
            except Exception:
                raise InputError(
                    f"{type(frame).__name__} has no columns; give a DataFrame or a dict of columns"
                ) from None
            if not name:
                raise InputError(f"{argument} is not given; name a column of the frame: {known}")
            raise InputError(_columns.no_column("the frame", frame, name, f"{argument}="))
        return listed(found, f"the column {name!r}")

    def _column(self, frame: Any, name: str, argument: str) -> list[Any]:
        """The values of the column that `argument` of `run` names, of which none is missing."""
        cells = enumerate(self._cells(frame, name, argument))
        return [_columns.present(f"{name}[{row}]", value) for row, value in cells]

    def _numbers(self, values: Mapping[int, Any], name: str, decimals: int) -> list[int]:
        """The values by row, of which `name` is for messages, times 10 to `decimals`, as
        integers."""
        bound = 2 ** (self._params["BITS"] - 1)
        numbers = []
        for row, value in values.items():
            if not is_number(value):
                remedy = "give 1 or 0" if is_bool(value) else "fill it, or drop its row"
                raise InputError(
                    f"{name}[{row}] is {value!r}, which is not a number; {remedy}"
                )
            number = scaled(value, decimals, bound)
            if number is None or not -bound <= number < bound:
                raise InputError(
                    f"{name}[{row}] is beyond {self._params['BITS']} bits at {decimals} decimals; "
                    "give both parties fewer decimals or more value_bits"
                )
            numbers.append(number)
        return numbers

    def _fits(self, rows: Sequence[Any], name: str) -> None:
        if len(rows) > self._params["ROWS"]:
            raise InputError(
                f"{name} has {len(rows)} rows and the job takes {self._params['ROWS']}; give both "
                "parties more rows"
            )


class _Fits(Exception):
    """Ends a check where a run would begin."""


class _InputsAlone:
    """In the place of a session: reads the inputs and sends nothing."""

    def run(self, function: Function, inputs: Mapping[str, Any], **options: Any) -> None:
        role = function._role(inputs, options.get("role"))
        function._native.check(dict(inputs), role, options.get("shard"))
        raise _Fits


class Result(Mapping[str, Any]):
    """The results of a job by name, and the `outcome` of the run."""

    def __init__(self, values: Mapping[str, Any], outcome: Outcome) -> None:
        self._values = dict(values)
        self.outcome = outcome

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        lines = [f"{name} = {value!r}" for name, value in self.items()]
        return "\n".join([*lines, f"({self.outcome._secure()})"])

    def _repr_html_(self) -> str:
        """What is by group or quantile as a table, behind it the rest as one."""
        grouped = {name: value for name, value in self.items() if isinstance(value, dict)}
        rest = [
            {"result": name, "value": value}
            for name, value in self.items()
            if name not in grouped
        ]
        rows = [
            {"": key, **{name: values[key] for name, values in grouped.items()}}
            for key in next(iter(grouped.values()), {})
        ]
        html = "".join(Table(table)._repr_html_() for table in (rows, rest) if table)
        return f"{html}<p>{escape(self.outcome._secure())}</p>"


def is_number(value: object) -> bool:
    """Whether a value is a finite number. True and False are none."""
    try:
        if isinstance(value, (str, bytes)) or is_bool(value):
            return False
        number: Any = value
        return math.isfinite(number)
    except (TypeError, ValueError, OverflowError):
        # An integer beyond all floats.
        return isinstance(value, int)


def is_bool(value: object) -> bool:
    """Whether a value is True or False, of Python or NumPy."""
    return isinstance(value, (bool, np.bool_))


def scaled(value: Any, decimals: int, bound: int) -> int | None:
    """A number times 10 to `decimals`, rounded; None where it is further from 0 than `bound`."""
    try:
        product = value * 10**decimals
        return int(round(product)) if -bound - 1 < product < bound + 1 else None
    except ArithmeticError:  # A decimal number beyond all that are.
        return None


def listed(values: Any, what: str) -> list[Any]:
    """The values of a list, array or column that an argument of a job gives."""
    found = _columns.items(values)
    if found is None:
        raise InputError(
            f"{what} is of the class {type(values).__name__}; give a list, an array or a column"
        )
    return found


def sound(outcome: Outcome) -> Outcome:
    """The outcome, unless the program found ids that no honest party gives."""
    if not outcome.get("sound", True):
        raise PeerMisbehaved(
            "the other party gave ids that are not distinct or not in their order, which this "
            "package never does; nothing was computed"
        )
    return outcome
