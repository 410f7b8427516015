"""The requests of a simulated day as data classes, which contain the content, the sender and the time of each request.

`agent` is sent in the header X-Agent-Id, `person` in X-Fingerprint, and `zone` in X-Timezone. The bodies have the JSON
format of the HTTP API. The driver registers agents and devices, and adds their credentials. `at_ms` is the time at
which the server processes the request. A driver that runs in real time replaces it with the time from the response
before it passes the request to the auditor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Body = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Ask:
    """A request `POST /agent/questions`. `ref` identifies the question in the simulation. A request that repeats an
    idempotency key has the `ref` of the original request.
    """

    at_ms: int
    ref: int
    agent: str
    body: Body


@dataclass(frozen=True, slots=True)
class Answer:
    """A request `POST /human/responses` to answer the question `ref`. The driver adds the `question_id` that the server
    returned.
    """

    at_ms: int
    ref: int
    person: str
    zone: str
    body: Body


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A request `POST /human/push/subscribe` by the user `person`."""

    at_ms: int
    person: str
    body: Body


Action = Ask | Answer | Subscribe
