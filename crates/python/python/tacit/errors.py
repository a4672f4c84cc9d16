"""What can go wrong, one class for each kind; all are a `TacitError`.

A message says what happened, what was expected and what to do.
"""

from __future__ import annotations

from typing import Any


class TacitError(Exception):
    """Something did not work. Every exception of this package is one."""


class UsageError(TacitError, ValueError):
    """The package was used wrongly."""


class InputError(TacitError, ValueError):
    """An input, function or key file is not right. Nothing was sent."""


class ProgramError(InputError):
    """A program is wrong. The message shows where, with the lines of the source."""

    def __init__(self, message: str, places: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.places = places or []
        """Each error's `file`, `line`, `column`, `message`, `label` and `help`."""


class ProgramWarning(UserWarning):
    """A program is right and may do something else than it seems to, such as a sum that wraps. The
    message shows where, with the lines of the source."""

    def __init__(self, message: str, place: dict[str, Any]) -> None:
        super().__init__(message)
        self.place = place
        """Its `file`, `line`, `column`, `message`, `label` and `help`."""


class StockWarning(UserWarning):
    """Copies of both parties' stocks could be restored and nobody would notice."""


class PeerMisbehaved(TacitError):
    """The other party sent what no honest party sends."""


class PeerIncompatible(TacitError):
    """The other party wants something else, such as another function."""


class PeerAborted(TacitError):
    """The other party gave up and said why."""


class SessionOver(TacitError):
    """The other party has ended the session between two runs."""


class NetworkError(TacitError, ConnectionError):
    """The network failed, or the party at the other end is another one."""


class NetworkTimeout(NetworkError, TimeoutError):
    """Something took longer than was allowed."""


class StockError(TacitError):
    """What was prepared is damaged, used up or not to be trusted."""


class NothingChecked(StockError):
    """No checked execution of the function is in stock for the protocol `batch`."""


class Cancelled(TacitError):
    """The session was cancelled from another thread."""
