"""The requests of a simulated day as values with content, sender and time.

`agent` goes into the header X-Agent-Id, `person` into X-Fingerprint, `zone` into X-Timezone. The driver registers
agents and devices, and adds their credentials. Bodies are the JSON of the HTTP interface. `at_ms` is the time at which
the server acts on a request. A driver in real time replaces it by the time in the response before it passes the action
to the auditor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Ask:
    """`POST /agent/questions`. `ref` identifies the question within the simulation, also for a repeated key."""

    at_ms: int
    ref: int
    agent: str
    body: Body


@dataclass(frozen=True, slots=True)
class Answer:
    """`POST /human/responses` to the question `ref`. The driver adds the `question_id` from the server."""

    at_ms: int
    ref: int
    person: str
    zone: str
    body: Body


@dataclass(frozen=True, slots=True)
class Subscribe:
    """`POST /human/push/subscribe`."""

    at_ms: int
    person: str
    body: Body


Action = Ask | Answer | Subscribe
