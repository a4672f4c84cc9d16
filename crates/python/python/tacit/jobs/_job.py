"""What all jobs have: a program with its numbers, and results by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
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
        return [
            _columns.present(f"{name}[{row}]", value)
            for row, value in enumerate(listed(found, f"the column {name!r}"))
        ]

    def _numbers(self, values: Iterable[Any], name: str, decimals: int) -> list[int]:
        """The values, of which `name` is for messages, times 10 to `decimals`, as integers."""
        bound = 2 ** (self._params["BITS"] - 1)
        numbers = []
        for row, value in enumerate(values):
            if not is_number(value):
                raise InputError(
                    f"{name}[{row}] is {value!r}, which is not a number; fill it, or drop its row"
                )
            number = scaled(value, decimals, bound)
            if number is None or not -bound <= number < bound:
                raise InputError(
                    f"{name}[{row}] is beyond {self._params['BITS']} bits at {decimals} decimals; "
                    "give both parties fewer decimals or more value_bits"
                )
            numbers.append(number)
        return numbers

    def _amounts(self, frame: Any, name: str) -> list[int]:
        """Amounts, which are whole and not negative."""
        amounts = self._column(frame, name, "amount")
        bits = self._params["AMOUNT_BITS"]
        for row, amount in enumerate(amounts):
            at = f"{name}[{row}]"
            if isinstance(amount, bool) or not is_number(amount):
                raise InputError(
                    f"{at} is {amount!r}, and amounts are whole numbers from 0; name a column of "
                    "numbers"
                )
            if amount >= 2**bits:
                raise InputError(
                    f"{at} is greater than the job takes in {bits} bits; give both parties more "
                    "amount_bits"
                )
            if amount < 0 or amount != int(amount):
                raise InputError(
                    f"{at} is {amount!r}, and amounts are whole numbers from 0; give cents in "
                    f"place of euros, such as (frame[{name!r}] * 100).round()"
                )
        return [int(amount) for amount in amounts]

    def _fits(self, rows: Sequence[Any], name: str) -> None:
        if len(rows) > self._params["ROWS"]:
            raise InputError(
                f"{name} has {len(rows)} rows and the job takes {self._params['ROWS']}; give both "
                "parties more rows"
            )

    def _ids(self, frame: Any, name: str, *, distinct: bool) -> list[int]:
        """Ids as numbers above 1, each of at most ID_BITS bits. Those of integers are even and
        those of texts odd, so that no text is an integer."""
        bits = self._params["ID_BITS"]
        column = self._column(frame, name, "id")
        ids = [_number(f"{name}[{row}]", id, bits) for row, id in enumerate(column)]
        if distinct:
            rows: dict[int, list[int]] = {}
            for row, number in enumerate(ids):
                rows.setdefault(number, []).append(row)
            twice = [alike for alike in rows.values() if len(alike) > 1]
            if twice:
                shown = "; ".join(_rows(alike) for alike in twice[:MOST_NAMED])
                more = len(twice) - MOST_NAMED
                raise InputError(
                    f"{name} has an id more than once: the same in rows {shown}"
                    + f", and {more} more ids" * (more > 0)
                    + "; make one row of these before, counted from 0"
                )
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


MOST_NAMED = 5
"""Ids, or rows of an id, that one message names."""

LEAST_HASHED_BITS = 64
"""Of fewer bits no digest of an id is made: two would soon be the same."""


def _rows(alike: Sequence[int]) -> str:
    shown = ", ".join(map(str, alike[:MOST_NAMED]))
    return shown + f" and {len(alike) - MOST_NAMED} more" * (len(alike) > MOST_NAMED)


def _number(at: str, id: object, bits: int) -> int:
    """An id as a number of at most `bits` bits: of an integer plus one the double; of a text with a
    1 before its bytes the double plus one, where that has fewer bits, or else a digest between a 1
    as the first bit and a 1 as the last. Both parties' ids become numbers by the same rule, which
    depends on the id and on `bits` alone."""
    if isinstance(id, str):
        text = _columns.encoded(at, id)
        needed = 8 * len(text) + 2
        if needed < bits or needed == bits < LEAST_HASHED_BITS:
            return 2 * int.from_bytes(b"\1" + text, "big") + 1
        if bits >= LEAST_HASHED_BITS:
            return 1 << (bits - 1) | _digest(text, bits - 2) << 1 | 1
        needed = min(needed, LEAST_HASHED_BITS)
    elif isinstance(id, int) and not isinstance(id, bool) and id >= 0:
        needed = (id + 1).bit_length() + 1
        if needed <= bits:
            return 2 * (id + 1)
    else:
        raise InputError(
            f"{at} is of the class {type(id).__name__}, and ids are texts, or integers from 0"
            + "; a column of floats that are whole is one of integers by .astype('int64')"
            * isinstance(id, float)
        )
    raise InputError(
        f"{at} is an id of {needed} bits and the job takes {bits}; give both parties "
        f"id_bits={8 * -(-needed // 8)}"
    )


def _digest(text: bytes, bits: int) -> int:
    """So many bits of SHA-256 of a text, of SHA-256 in counter mode where that has fewer."""
    blocks = range(-(-bits // 256))
    digests = (sha256(b"tacit id v1" + bytes([block]) + text).digest() for block in blocks)
    return int.from_bytes(b"".join(digests), "big") >> 256 * len(blocks) - bits


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    try:
        number: Any = value
        return not isinstance(number, (str, bytes)) and math.isfinite(number)
    except (TypeError, ValueError, OverflowError):
        # An integer beyond all floats.
        return isinstance(value, int)


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
    if not outcome["sound"]:
        raise PeerMisbehaved(
            "the other party gave ids that are not distinct or not in their order, which this "
            "package never does; nothing was computed"
        )
    return outcome
