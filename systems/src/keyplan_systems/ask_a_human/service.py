"""Operations of Ask-a-Human on one connection."""

from __future__ import annotations

from dataclasses import dataclass

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.ask_a_human.address_limits import AddressLimits
from keyplan_systems.ask_a_human.agents import Agents
from keyplan_systems.ask_a_human.answering import Answering
from keyplan_systems.ask_a_human.asking import Asking
from keyplan_systems.ask_a_human.base import Base
from keyplan_systems.ask_a_human.devices import Devices
from keyplan_systems.ask_a_human.reviewing import Reviewing
from keyplan_systems.ask_a_human.standings import Standings
from keyplan_systems.ask_a_human.subscribing import Subscribing


@dataclass(frozen=True)
class Service:
    """All operations, by kind of user. Threads may share it."""

    base: Base
    limits: AddressLimits
    agents: Agents
    devices: Devices
    asking: Asking
    answering: Answering
    standings: Standings
    subscribing: Subscribing
    reviewing: Reviewing

    @classmethod
    def over(cls, connection: Connection, clock: Clock, limits: AddressLimits | None = None) -> Service:
        """Return the service on the tables of a connection; without limits an address is unrestricted."""
        base = Base(connection, clock)
        limits = limits or AddressLimits.off(connection, clock)
        return cls(
            base,
            limits,
            Agents(base),
            Devices(base),
            Asking(base),
            Answering(base, limits),
            Standings(base),
            Subscribing(base),
            Reviewing(base),
        )
