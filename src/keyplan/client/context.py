"""What all programs of one connection share."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from keyplan.clock import Clock, check_seconds
from keyplan.design.plan import Plan
from keyplan.design.schema import Schema

if TYPE_CHECKING:
    from keyplan.client.meter import Meter

_DOUBLINGS = 60  # beyond any bound, and still a number


def jittered_s(attempt: int, first_s: float, most_s: float, clock: Clock) -> float:
    """A wait drawn evenly from 0 to a bound that doubles with each attempt, up to the most."""
    return clock.random.uniform(0.0, min(most_s, first_s * 2.0 ** min(attempt - 1, _DOUBLINGS)))


@dataclass(frozen=True)
class Retries:
    """How often and how patiently requests are repeated; each wait is drawn evenly from 0 to its bound.

    Raises ValueError for what cannot be.
    """

    attempts: int = 10
    """How often a request is sent at most."""
    first_s: float = 0.025
    """The bound of the first wait; each next one is twice the last."""
    most_s: float = 2.0
    """The bound of every wait."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is how often a request is sent, at least once: {self.attempts!r}")
        check_seconds(first_s=self.first_s, most_s=self.most_s)

    def wait_s(self, attempt: int, clock: Clock) -> float:
        """How long to wait after so many attempts, with full jitter."""
        return jittered_s(attempt, self.first_s, self.most_s, clock)


@dataclass(eq=False)
class Context:
    """One connection's settings, and what it has learnt."""

    clock: Clock
    cursor_key: bytes
    retries: Retries = field(default_factory=Retries)
    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """By a table's declared name: its real one."""
    creates_tables: bool = False
    """Whether tables that are missing are made at their first use."""
    ready: set[Plan] = field(default_factory=set)
    """Plans that are known to work."""
    tables: set[Schema] = field(default_factory=set)
    """Tables that are known to be there, where missing ones are made."""
    moments: dict[str, int] = field(default_factory=dict)
    """By the token of a transaction: the moment that its first attempt was made, seconds since 1970."""
    meter: Meter | None = None
    """What counts the calls' units; None: they are not asked for."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the moments are changed: threads share a connection."""

    def table(self, schema: Schema) -> str:
        """The real name of a table."""
        name = self.names.get(schema.name)
        return self.prefix + schema.name if name is None else name

    def now_s(self) -> int:
        """The present moment as expiry is compared with, whole seconds since 1970."""
        return int(self.clock.now())
