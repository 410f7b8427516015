"""The uses of Ask-a-Human, put together over one connection."""

from __future__ import annotations

from dataclasses import dataclass

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.ask_a_human.answering import Answering
from keyplan_systems.ask_a_human.asking import Asking
from keyplan_systems.ask_a_human.base import Base
from keyplan_systems.ask_a_human.reviewing import Reviewing
from keyplan_systems.ask_a_human.standings import Standings
from keyplan_systems.ask_a_human.subscribing import Subscribing


@dataclass(frozen=True)
class Service:
    """Every use, by who uses it. Threads may share it."""

    base: Base
    asking: Asking
    answering: Answering
    standings: Standings
    subscribing: Subscribing
    reviewing: Reviewing

    @classmethod
    def over(cls, connection: Connection, clock: Clock) -> Service:
        """The service on the tables that a connection reaches."""
        base = Base(connection, clock)
        return cls(base, Asking(base), Answering(base), Standings(base), Subscribing(base), Reviewing(base))
