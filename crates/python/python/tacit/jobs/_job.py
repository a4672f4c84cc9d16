"""What all jobs have: a program with its numbers, and results by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import Any

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

    def _column(self, frame: Any, name: str, argument: str) -> list[Any]:
        """The values of the column that `argument` of `run` names."""
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
        listed = _columns.values(found)
        return [
            _columns.present(f"{name}[{row}]", value)
            for row, value in enumerate(found if listed is None else listed)
        ]

    def _numbers(self, values: Iterable[Any], name: str, decimals: int) -> list[int]:
        """The values, of which `name` is for messages, times 10 to `decimals`, as integers."""
        least = -(2 ** (self._params["BITS"] - 1))
        numbers = [_scaled(name, value, decimals) for value in values]
        for number in numbers:
            if not least <= number < -least:
                raise InputError(
                    f"{name} has a value beyond {self._params['BITS']} bits at {decimals} "
                    "decimals; give both parties fewer decimals or more value_bits"
                )
        return numbers

    def _amounts(self, frame: Any, name: str) -> list[int]:
        """Amounts, which are whole and not negative."""
        amounts = self._column(frame, name, "amount")
        for row, amount in enumerate(amounts):
            is_number = isinstance(amount, (int, float, Decimal))
            if not is_number or amount < 0 or amount % 1 != 0:
                raise InputError(
                    f"{name}[{row}] is {amount!r}, and amounts are whole numbers from 0; give "
                    f"cents in place of euros, such as (frame[{name!r}] * 100).round()"
                )
        return [int(amount) for amount in amounts]

    def _fits(self, rows: Sequence[Any], name: str) -> None:
        if len(rows) > self._params["ROWS"]:
            raise InputError(
                f"{name} has {len(rows)} rows and the job takes {self._params['ROWS']}; give both "
                "parties more rows"
            )

    def _ids(self, frame: Any, name: str, *, distinct: bool) -> list[int]:
        """Ids as numbers above 1: of an integer plus one the double, of the bytes of a text behind
        a 1 the double plus one, so that no text is an integer."""
        bits = self._params["ID_BITS"]
        ids = [_number(name, id) for id in self._column(frame, name, "id")]
        widest = max(ids, default=0).bit_length()
        if widest > bits:
            raise InputError(
                f"{name} has an id of {widest} bits and the job takes {bits}; give both parties "
                f"id_bits={8 * -(-widest // 8)}"
            )
        if distinct and len(set(ids)) < len(ids):
            raise InputError(f"{name} has an id more than once; add such rows up before")
        return ids


class _Fits(Exception):
    """Ends a check where a run would begin."""


class _InputsAlone:
    """In the place of a session: reads the inputs and sends nothing."""

    def run(self, function: Function, inputs: Mapping[str, Any], **options: Any) -> None:
        function._native.check(dict(inputs), function._role(inputs, options.get("role")))
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


def _number(column: str, id: object) -> int:
    if isinstance(id, str):
        return 2 * int.from_bytes(b"\1" + id.encode(), "big") + 1
    if isinstance(id, int) and not isinstance(id, bool) and id >= 0:
        return 2 * (id + 1)
    raise InputError(
        f"{column} has an id of the class {type(id).__name__}; ids are texts, or integers from 0"
    )


def _scaled(column: str, value: Any, decimals: int) -> int:
    try:
        is_number = not isinstance(value, (str, bytes)) and math.isfinite(value)
    except (TypeError, ValueError):
        is_number = False
    if not is_number:
        raise InputError(f"{column} has {value!r}, which is not a number; fill it, or drop its row")
    return int(round(value * 10**decimals))


def sound(outcome: Outcome) -> Outcome:
    if not outcome["sound"]:
        raise PeerMisbehaved(
            "the other party gave ids that are not distinct or not in their order, which this "
            "package never does; nothing was computed"
        )
    return outcome
