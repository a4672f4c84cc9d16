"""Two parties in one process: each has an identity and a stock of its own, and they meet by TLS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import tacit


class Parties(NamedTuple):
    """Alice, who listens, and bob, who connects."""

    alice: tacit.Identity
    bob: tacit.Identity
    folder: Path

    def meet(
        self,
        alice: Callable[[tacit.Session], Any],
        bob: Callable[[tacit.Session], Any],
        patience: float = 60,
        **terms: Any,
    ) -> tuple[Any, Any]:
        """What the two do with their sessions on these terms, at the same time."""
        listener = tacit.Listener("127.0.0.1:0")

        def listen() -> Any:
            stock, peer = self.folder / "alice", self.bob.fingerprint
            accepted = listener.accept(
                identity=self.alice,
                peer=peer,
                stock=stock,
                patience=patience,
                **terms,
            )
            with accepted as session:
                return alice(session)

        def connect() -> Any:
            stock, peer = self.folder / "bob", self.alice.fingerprint
            connected = tacit.connect(
                listener.address,
                identity=self.bob,
                peer=peer,
                stock=stock,
                patience=patience,
                **terms,
            )
            with connected as session:
                return bob(session)

        with ThreadPoolExecutor(2) as threads:
            both = [threads.submit(listen), threads.submit(connect)]
            return both[0].result(), both[1].result()


@pytest.fixture
def parties(tmp_path: Path) -> Iterator[Parties]:
    yield Parties(tacit.Identity.generate(), tacit.Identity.generate(), tmp_path)
