"""Sealed-bid auctions between two parties."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from .._session import Session
from ..errors import InputError
from ._job import Job, Result


class Auction(Job):
    """Lots that go to the higher of two sealed bids, at the price of the lower one."""

    def run(
        self, session: Session, /, bids: Iterable[int], *, party: str, **options: Any
    ) -> Result:
        """Runs the job as `party`, `left` or `right`, with a bid for each lot, or 0 for none. Both
        learn `sold`: for each lot a dict of `winner` (`Nobody`, `Left` or `Right`) and `price`. Of
        two like bids the left one wins."""
        name = "a" if self._party(party) == "left" else "b"
        try:
            whole = [operator.index(bid) for bid in bids]
        except TypeError as error:
            raise InputError(f"a bid is not a whole number: {error}") from None
        outcome = session.run(self.function, {name: whole}, **options)
        return Result({"sold": outcome["sold"]}, outcome)


def auction(lots: int = 1, *, bid_bits: int = 32) -> Auction:
    """A second-price auction of `lots` lots with bids of `bid_bits` bits."""
    return Auction("auction", {"LOTS": lots, "BITS": bid_bits})
