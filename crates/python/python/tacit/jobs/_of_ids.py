"""What jobs have whose rows belong together by ids.

Without `rows` a job joins the tables, which takes any number of rows and ids as they are, against
semi-honest parties. With `rows` it merges tables that are sorted by ids and filled up to that many
rows, which any protocol runs, up to some thousand rows; beyond them it joins tables of that size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from .. import _columns, _ids, _tacit
from .._function import Function
from .._session import Outcome, Session
from .._table import Table
from ..errors import InputError, PeerIncompatible, ProgramError, UsageError
from . import _size
from ._job import Job, is_number, sound
from ._noise import Plan

Keep = Literal["first"] | None

LEAST_HASHED_BITS = 64
"""Of fewer bits no digest of an id is made: two would soon be the same."""


class Sizes(NamedTuple):
    """The sizes of a job's tables, and what is sized by them."""

    rows: Mapping[str, int | None]
    """How many rows a table has at most, by the param of the merge."""
    id_bits: int
    values: Callable[[int], int]
    """How many values a merge has of so many rows."""
    of_join: Mapping[str, int] = {}
    """Params that the join alone has."""


class Cleaned(NamedTuple):
    """The rows of a table that a run takes."""

    ids: list[Any]
    """Their ids, in the form in which they are compared."""
    kinds: tuple[str, ...]
    values: dict[str, dict[int, Any]]
    """Their cells in other columns, by the argument that names the column and by row."""


class OfIds(Job):
    """A job over two tables whose rows belong together by ids."""

    _less = "fewer ids"
    """What helps where the tables have more ids than a run takes."""

    def __init__(
        self,
        name: str,
        params: Mapping[str, int],
        sizes: Sizes,
        normalize: _ids.Normalize,
        planned: Plan | None = None,
    ) -> None:
        if normalize not in get_args(_ids.Normalize):
            known = ", ".join(get_args(_ids.Normalize))
            raise UsageError(f"normalize is {normalize!r}; give one of {known}")
        given = {name: rows for name, rows in sizes.rows.items() if rows is not None}
        if given and len(given) < len(sizes.rows):
            known = " and ".join(sizes.rows).lower()
            raise UsageError(f"give {known} together, or leave all of them out")
        self._joins = not given or sizes.values(max(given.values())) > _size.MOST_VALUES
        self._normalize: _ids.Normalize = normalize
        if self._joins:
            name += "_join"
            most = list(given.values())
            params = {**params, **sizes.of_join, **(dict(N=most[0], M=most[-1]) if most else {})}
        else:
            alike = get_args(_ids.Normalize).index(normalize)
            of_merge = {"ID_BITS": sizes.id_bits, "NORMALIZE": alike}
            params = {**params, **given, **of_merge}
        self._functions: dict[tuple[str, ...], Function] = {}
        self._public = planned.public if planned else None
        super().__init__(name, params, self._public, planned.budget if planned else None)
        if self._joins:
            self._source = Path(__file__).with_name(f"{name}.tacit")
            self.function = self._of_kinds(("text",))
            self.program = _with_ids(self.program, ("text",), normalize)

    def cost(
        self, link: str = "500us,1gbit", *, ids: tuple[int, int] | None = None, **options: Any
    ) -> Table:
        """What a run costs; see `tacit.Function.cost`. `ids` is how many ids the left and the right
        party have, where the job has no `rows`."""
        if ids is None or not self._joins:
            return super().cost(link, **options)
        try:
            return self._made(("text",), N=ids[0], M=ids[1]).cost(link, **options)
        except ProgramError as error:
            raise self._too_large(error) from None

    def _too_large(self, error: ProgramError) -> UsageError:
        """The error of a join whose function has too many parts for so many ids."""
        limit = str(error).partition("\n")[0].removeprefix("error: ")
        return UsageError(
            f"the tables have more ids than one run of this job takes: give both parties "
            f"{self._less}, or split the tables by ids ({limit})"
        )

    def _of_kinds(self, kinds: tuple[str, ...]) -> Function:
        """The join of tables with ids of these kinds."""
        if kinds not in self._functions:
            self._functions[kinds] = self._made(kinds)
        return self._functions[kinds]

    def _made(self, kinds: tuple[str, ...], **sizes: int) -> Function:
        text = _with_ids(self._source.read_text(), kinds, self._normalize)
        params, public = {**self._params, **sizes}, dict(self._public or {})
        return Function(_tacit.Function.program(self._source, text, None, params, public))

    def _cleaned(
        self,
        frame: Any,
        id: str | Sequence[str],
        columns: Mapping[str, str],
        *,
        distinct: bool,
        drop_missing: bool,
        keep: Keep,
    ) -> Cleaned:
        """The rows of a frame that a run takes, with the columns that arguments of `run` name."""
        names = [id] if isinstance(id, str) else list(id)
        parts = [self._cells(frame, name, "id") for name in names or [""]]
        others = {of: self._cells(frame, name, of) for of, name in columns.items()}
        for column in (*parts, *others.values()):
            if len(column) != len(parts[0]):
                raise InputError(
                    f"the frame has columns of {len(parts[0])} and of {len(column)} values"
                )
        label = ", ".join(names)
        ids = parts[0] if len(parts) == 1 else list(zip(*parts))
        named = {columns[argument]: cells for argument, cells in others.items()}
        given = _ids.Rows(label, _ids.normalized(ids, self._normalize), named)
        keys = given.present
        kinds: tuple[str, ...] = ("text",)
        if self._joins:
            kinds = _ids.kinds(label, keys)
        else:
            bits = self._params["ID_BITS"]
            keys = {row: _number(f"{label}[{row}]", id, bits) for row, id in keys.items()}
        rows = given.chosen(drop_missing=drop_missing, keep=keep, distinct=distinct)
        values = {of: {row: cells[row] for row in rows} for of, cells in others.items()}
        return Cleaned([keys[row] for row in rows], kinds, values)

    def _amounts(self, amounts: Mapping[int, Any], name: str) -> list[int]:
        """The amounts by row, which are whole and not negative."""
        bits = self._params["AMOUNT_BITS"]
        for row, amount in amounts.items():
            at = f"{name}[{row}]"
            if not is_number(amount):
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
        return [int(amount) for amount in amounts.values()]

    def _run(
        self,
        session: Session,
        table: str,
        cleaned: Cleaned,
        columns: Mapping[str, Sequence[Any]],
        options: Mapping[str, Any],
    ) -> Outcome:
        """Runs the job with this party's table, of its ids and these other columns."""
        function, ids = self.function, {"id": cleaned.ids}
        if self._joins:
            if options.get("security") == "malicious":
                raise UsageError(
                    "security is 'malicious', and this job joins tables, which is secure against "
                    "semi-honest parties only; give both parties rows=, some thousand at most"
                )
            function = self._of_kinds(cleaned.kinds)
            names = _names(cleaned.kinds)
            if len(names) > 1:
                ids = {name: [id[part] for id in cleaned.ids] for part, name in enumerate(names)}
        try:
            return sound(session.run(function, {table: {**ids, **columns}}, **options))
        except ProgramError as error:
            raise self._too_large(error) from None
        except PeerIncompatible as error:
            if not self._joins:
                raise
            words = f"{_ids.words(cleaned.kinds)}, with normalize={self._normalize!r}"
            raise PeerIncompatible(
                f"{error}; this party's ids are {words}: both parties' have to be alike"
            ) from None


def _names(kinds: Sequence[str]) -> list[str]:
    """The names of the columns of ids of these kinds."""
    return [f"id_{part + 1}" for part in range(len(kinds))] if len(kinds) > 1 else ["id"]


def _with_ids(program: str, kinds: Sequence[str], normalize: _ids.Normalize) -> str:
    """A program of a join by `id: text`, without its tests, for ids of these kinds."""
    program, *_ = program.split("\ntest ", 1)
    names = _names(kinds)
    fields = ", ".join(f"{name}: {kind}" for name, kind in zip(names, kinds))
    is_alike = [kind == "text" and normalize != "none" for kind in kinds]
    parts = [f"{normalize}({name})" if is_it else name for name, is_it in zip(names, is_alike)]
    key = f"({', '.join(parts)})" if len(parts) > 1 else parts[0]
    return program.replace("id: text", fields).replace("by id", f"by {key}")


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
    elif isinstance(id, int) and not isinstance(id, bool):
        raise InputError(f"{at} is {id}, and with rows= ids are texts, or integers from 0")
    else:
        raise InputError(
            f"{at} is of the class {type(id).__name__}, and with rows= ids are texts, or integers "
            "from 0" + f"; {_ids.WHOLE_FLOATS}" * isinstance(id, float)
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
