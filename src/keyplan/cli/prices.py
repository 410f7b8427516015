"""Prices of a region that is named on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keyplan.cli.output import refusal

if TYPE_CHECKING:
    from keyplan.cost.prices import PriceBook


def book_of(command: str, region: str) -> PriceBook:
    """The newest prices that are shipped; ends the command with 2 where there are none of the region."""
    from keyplan.cost.prices import PriceDataError, book  # noqa: PLC0415 - `keyplan --help` needs no prices

    try:
        return book(region)
    except PriceDataError as error:
        raise refusal(f"keyplan {command}: {error}") from None
