"""The native module. Use the package `tacit`, which is made of it."""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, TypedDict, final

__version__: str

class Meeting(TypedDict):
    peer: str
    timeout: float
    patience: float
    stock: str | PathLike[str] | None
    ot_extension: str | None
    gpu: str
    cancel: Cancel

class Terms(TypedDict):
    role: str
    protocol: str | None
    security: str | None
    security_bits: int | None
    threads: int | None
    timeout: float | None
    chain: str | None
    replace: bool
    pin: str | None
    drop_missing: bool
    keep: str | None
    shard: tuple[int, int] | None
    progress: Callable[[int, int], object] | None

class CommonTerms(TypedDict):
    to: str
    normalize: str
    most_keys: int | None
    threads: int | None
    timeout: float | None
    shard: tuple[int, int] | None
    rows: int
    progress: Callable[[int, int], object] | None

class Common(TypedDict):
    rows: list[int] | None
    peer_ids: int
    asked: bool
    security: str
    phases: list[tuple[str, float, int, int, int]]

class Ran(TypedDict):
    outputs: dict[str, Any]
    protocol: str
    security: str
    security_bits: int | None
    of_this_run_alone: bool
    chain: str | None
    base_ots: str | None
    phases: list[tuple[str, float, int, int, int]]
    and_gates: int
    and_gates_on_the_spot: int
    run: str | None

@final
class Function:
    name: str
    documentation: str
    warnings: list[tuple[str, dict[str, Any]]]
    digest: str
    and_gates: int
    inputs: list[tuple[str, str, str]]
    outputs: list[tuple[str, str, str]]
    parties: tuple[str, str]
    @staticmethod
    def library(name: str, params: Mapping[str, int]) -> Function: ...
    @staticmethod
    def program(
        path: str | PathLike[str] | None,
        text: str | None,
        run: str | None,
        params: Mapping[str, int],
        public: dict[str, Any],
    ) -> Function: ...
    @staticmethod
    def names() -> list[str]: ...
    def evaluate(self, inputs: dict[str, Any], seed: int) -> dict[str, Any]: ...
    def check(
        self, inputs: dict[str, Any], role: str, shard: tuple[int, int] | None = None
    ) -> None: ...
    def compile(self, progress: Callable[[int, int], object] | None) -> None: ...
    def cost(self, link: str, security: str, runs: int) -> list[dict[str, Any]]: ...

@final
class Identity:
    """A key pair by which a peer knows this party."""

    @staticmethod
    def generate() -> Identity:
        """A new identity, from the operating system's randomness; `save` keeps it."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Identity:
        """Reads the identity that `save` or `tacit keygen` wrote."""
    @staticmethod
    def open(path: str | PathLike[str]) -> Identity:
        """The identity of the file at `path`, which is made where there is none."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the identity to a new file that only its owner can read."""
    def for_worker(self, name: str, *, valid: float) -> Identity:
        """A key for a worker of this party, which is this party to others for `valid` seconds, at
        most 7 days. It runs and matches without stock and chains, and alone can be pickled."""
    @staticmethod
    def of_pem(pem: str) -> Identity: ...
    @property
    def worker(self) -> str | None:
        """The worker's name, where this is the key of a worker."""
    @property
    def fingerprint(self) -> str:
        """What the other party has to know of this identity; it is no secret."""

@final
class Cancel:
    def __init__(self) -> None: ...
    def cancel(self) -> None: ...

@final
class Listener:
    def __init__(self, address: str) -> None: ...
    @property
    def address(self) -> str: ...
    def accept(self, identity: Identity, meeting: Meeting) -> Session: ...
    def close(self) -> None: ...

@final
class Session:
    peer: str | None
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def run(self, function: Function, inputs: dict[str, Any], terms: Terms) -> Ran: ...
    def prepare(
        self, function: Function, runs: int, terms: Terms
    ) -> list[tuple[str, int, int]]: ...
    def common(self, keys: list[Any], terms: CommonTerms) -> Common: ...

def normalized(ids: list[Any], how: str) -> list[Any]: ...
def shards(ids: list[Any], how: str, of: int) -> list[int]: ...
def chosen_rows(
    table: tuple[str, list[int | None], dict[int, str]],
    most: int,
    drop_missing: bool,
    keep: str | None,
) -> list[int]: ...
def most_like(name: str, known: list[str]) -> str | None: ...
def connect(address: str, identity: Identity, meeting: Meeting) -> Session: ...
def meet(
    address: str, identity: Identity, meeting: Meeting, part: tuple[int, int] | None
) -> Session: ...
