"""Sealed-bid auctions between two parties."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._session import Session
from ..errors import InputError
from ._job import Job, Result, listed


class Auction(Job):
    """Lots that go to the higher of two sealed bids, at the price of the lower one."""

    def run(
        self, session: Session, /, bids: Iterable[int], *, party: str, **options: Any
    ) -> Result:
        """Runs the job as `party`, `left` or `right`, with a bid for each lot, or 0 for none. Both
        learn `sold`: for each lot a dict of `winner` (`Nobody`, `Left` or `Right`) and `price`. Of
        two like bids the left one wins."""
        name = "a" if self._party(party) == "left" else "b"
        given = listed(bids, "bids")
        for lot, bid in enumerate(given):
            if isinstance(bid, bool) or not isinstance(bid, int):
                raise InputError(f"bids[{lot}] is {bid!r}, which is not a whole number")
        outcome = session.run(self.function, {name: given}, **options)
        return Result({"sold": outcome["sold"]}, outcome)


def auction(lots: int = 1, *, bid_bits: int = 32) -> Auction:
    """A second-price auction of `lots` lots with bids of `bid_bits` bits."""
    return Auction("auction", {"LOTS": lots, "BITS": bid_bits})
