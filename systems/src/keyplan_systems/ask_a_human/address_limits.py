"""Rate limits per network address. All server processes share the request counters in the table
`keyplan-rate-limits`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from keyplan.client.connection import Connection
from keyplan.clock import Clock
from keyplan_systems.web.rate_limits import Limit, SharedLimit, limit_from, rate_limits

AGENTS_VARIABLE: Final = "KEYPLAN_ASK_A_HUMAN_AGENT_LIMIT"
"""Environment variable that overrides the limit on agent registrations per address."""
AGENTS: Final = Limit("agent registrations", 20, 3_600, per="address")


DEVICES_VARIABLE: Final = "KEYPLAN_ASK_A_HUMAN_DEVICE_LIMIT"
"""Environment variable that overrides the limit on device registrations per address."""
DEVICES: Final = Limit("device registrations", 60, 3_600, per="address")
ANSWERS_VARIABLE: Final = "KEYPLAN_ASK_A_HUMAN_ANSWER_LIMIT"
"""Environment variable that overrides the limit on answers per address, across all questions."""
ANSWERS: Final = Limit("answers", 120, 3_600, per="address")
PER_QUESTION_VARIABLE: Final = "KEYPLAN_ASK_A_HUMAN_ANSWERS_PER_ADDRESS"
"""Environment variable with the maximum number of answers from one network address to one question, or "off" for no
maximum.
"""
PER_QUESTION: Final = 3
"""Default maximum number of answers from one network address to one question.

Three people behind one address, such as a family, can all answer, but their answers alone do not close a question.
"""


@dataclass(frozen=True)
class AddressLimits:
    """The limits that apply to each network address: rate limits, which raise TooManyRequestsError when they are
    exceeded, and a maximum number of answers to one question.
    """

    agents: SharedLimit
    devices: SharedLimit
    answers: SharedLimit
    answers_per_question: int | None
    """Maximum number of answers from one network address to one question, or None for no maximum. The transaction that
    stores an answer enforces this maximum.
    """

    @classmethod
    def from_environment(
        cls, connection: Connection, clock: Clock, environment: Mapping[str, str] | None = None
    ) -> AddressLimits:
        """Return the default limits, overridden by the environment variables that this module defines.

        The request counters are stored in the database of `connection`, in a table that is created if it does not
        exist. If `environment` is None, `os.environ` is used. Raises ValueError for a malformed limit.
        """
        defaults = ((AGENTS_VARIABLE, AGENTS), (DEVICES_VARIABLE, DEVICES), (ANSWERS_VARIABLE, ANSWERS))
        limits = [limit_from(variable, default, environment) for variable, default in defaults]
        if any(limits):
            connection.create_tables(rate_limits)
        agents, devices, answers = (SharedLimit(connection, clock, limit, create=False) for limit in limits)
        return cls(agents, devices, answers, _per_question(os.environ if environment is None else environment))

    @classmethod
    def unlimited(cls, connection: Connection, clock: Clock) -> AddressLimits:
        """Return limits that never reject a request. Use them if the service is called directly by code in the same
        process, not over HTTP.
        """
        no_limit = SharedLimit(connection, clock, None)
        return cls(no_limit, no_limit, no_limit, None)


def _per_question(environment: Mapping[str, str]) -> int | None:
    text = environment.get(PER_QUESTION_VARIABLE) or str(PER_QUESTION)
    if text == "off":
        return None
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ValueError(f'{PER_QUESTION_VARIABLE}: expected a number of answers such as "3", or "off", got {text!r}')
    return int(text)
