"""Secure two-party computation: two parties compute a function of their private inputs and learn
only its result.

>>> import tacit
>>> f = tacit.function("millionaires", bits=32)
>>> f.eval(50, 41)
True
>>> with tacit.connect("bob.example:7000", identity="alice.key", peer="tacit:...") as session:
...     session.run(f, a=50)
"""

from . import aio, errors, jobs
from ._common import Common, common, shards
from ._function import Function, Port, function, library
from ._session import Listener, Outcome, Session, connect, listen, meet
from ._table import Table
from ._tacit import Identity, __version__
from .errors import TacitError

__all__ = [
    "Common",
    "Function",
    "Identity",
    "Listener",
    "Outcome",
    "Port",
    "Session",
    "Table",
    "TacitError",
    "__version__",
    "aio",
    "common",
    "connect",
    "errors",
    "function",
    "jobs",
    "library",
    "listen",
    "meet",
    "shards",
]
