"""Limits per network address over all processes: the operator's settings, counted in `keyplan-rate-limits`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.web.rate_limits import Limit, SharedLimit, limit_from

AGENTS_VARIABLE: Final = "KEYPLAN_ASK_A_HUMAN_AGENT_LIMIT"
"""The environment variable that limits registrations of agents."""
AGENTS: Final = Limit("agent registrations", 20, 3_600, per="address")


@dataclass(frozen=True)
class AddressLimits:
    """What one address may do. Each limit raises TooManyRequestsError."""

    agents: SharedLimit

    @classmethod
    def over(cls, connection: Connection, clock: Clock, environment: Mapping[str, str] | None = None) -> AddressLimits:
        """Read the limits from the environment. Raises ValueError for a malformed one."""
        return cls(SharedLimit(connection, clock, limit_from(AGENTS_VARIABLE, AGENTS, environment)))

    @classmethod
    def off(cls, connection: Connection, clock: Clock) -> AddressLimits:
        """Return limits that nothing exceeds, for callers that are no clients of the API."""
        return cls(SharedLimit(connection, clock, None))
