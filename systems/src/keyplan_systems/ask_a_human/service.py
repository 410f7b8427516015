"""All operations of Ask-a-Human, which share one database connection."""

from __future__ import annotations

from dataclasses import dataclass

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.ask_a_human.address_limits import AddressLimits
from keyplan_systems.ask_a_human.agents import Agents
from keyplan_systems.ask_a_human.answers import Answers
from keyplan_systems.ask_a_human.base import Base
from keyplan_systems.ask_a_human.devices import Devices
from keyplan_systems.ask_a_human.leaderboards import Leaderboards
from keyplan_systems.ask_a_human.questions import Questions
from keyplan_systems.ask_a_human.reviews import Reviews
from keyplan_systems.ask_a_human.subscriptions import Subscriptions


@dataclass(frozen=True)
class Service:
    """All operations of Ask-a-Human, grouped by topic. Instances are thread-safe."""

    base: Base
    limits: AddressLimits
    agents: Agents
    devices: Devices
    questions: Questions
    answers: Answers
    leaderboards: Leaderboards
    subscriptions: Subscriptions
    reviews: Reviews

    @classmethod
    def from_connection(cls, connection: Connection, clock: Clock, limits: AddressLimits | None = None) -> Service:
        """Return the service that uses a database connection. If `limits` is None, requests are not limited per network
        address.
        """
        base = Base(connection, clock)
        limits = limits or AddressLimits.unlimited(connection, clock)
        return cls(
            base,
            limits,
            Agents(base),
            Devices(base),
            Questions(base),
            Answers(base, limits),
            Leaderboards(base),
            Subscriptions(base),
            Reviews(base),
        )
