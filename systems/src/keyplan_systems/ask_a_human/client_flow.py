"""The logic of the agent client as generators (flows) that request I/O from their caller (the driver).

A flow yields `Call` to send a request, `Pause` to wait, and `Seen` to report a poll. The driver sends back `Answer` or
`Lost` for a call, `Now` for a pause, and None for a reported poll. The same flow can therefore run in threads, in event
loops, and in tests with a manual clock.
"""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from keyplan_systems.ask_a_human.client_errors import AskError, UnexpectedAnswerError, UnreachableError, api_error
from keyplan_systems.ask_a_human.domain.timestamps import retry_after_s
from keyplan_systems.ask_a_human.wire import AgentQuestion, ErrorAnswer, ErrorBody

TRANSIENT = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Call:
    """An HTTP request that the driver of a flow (the caller of the generator) sends."""

    method: str
    path: str
    headers: Mapping[str, str]
    json: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """A flow's request to wait for a number of seconds. A pause of 0 only requests the current time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Seen:
    """The result of a poll. While a flow waits for answers, it reports each poll to its driver (the caller of the
    generator).
    """

    question: AgentQuestion


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """The failure of a request for which no response was received. The server may or may not have received
    the request.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Now:
    """The current time, which the driver of a flow reports: as seconds on the monotonic clock, and as seconds since the
    Unix epoch.
    """

    monotonic: float
    epoch: float


Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")
Flow = Generator[Call | Pause | Seen, Answer | Lost | Now | None, Result]


@dataclass(frozen=True, slots=True)
class Retries:
    """The retry policy for one request. Pauses start at 1 s, double up to 30 s, and have up to 10% jitter.

    If the server requests a longer pause, the client waits that long. If the requested pause exceeds `longest_pause_s`
    or the time until the request's deadline, the error is raised immediately, so that the agent can do something else.
    """

    attempts: int = 5
    first_pause_s: float = 1.0
    longest_backoff_s: float = 30.0
    longest_pause_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Polling:
    """The intervals between polls while an agent waits for answers. They start at 30 s and increase by a factor of 1.5
    up to 5 minutes.

    The published design of Ask-a-Human (see `TRACE.md`) mentions both these intervals and shorter ones (5 s to 60 s).
    The longer intervals are used because half of all first answers take more than several minutes, and because the
    limit of 600 polls per hour must be sufficient for up to 100 open questions. Each interval has 10% jitter, so that
    agents that start at the same time do not poll at the same time.
    """

    first_s: float = 30.0
    factor: float = 1.5
    longest_s: float = 300.0
    jitter: float = 0.1

    def pause(self, number: int, chance: random.Random) -> float:
        """Return the number of seconds to wait after a poll. Polls are numbered from 0. `chance` generates
        the jitter.
        """
        # The exponent is bounded, because a float would overflow if an agent polls for a long time.
        steady = min(self.longest_s, self.first_s * self.factor ** min(number, 64))
        return steady * chance.uniform(1 - self.jitter, 1 + self.jitter)


@dataclass(frozen=True, slots=True)
class Manner:
    """The settings of a client: the retry policy, the poll intervals, and the random number generator for jitter."""

    retries: Retries
    polling: Polling
    chance: random.Random


def request(call: Call, model: type[Model], manner: Manner, deadline: float = math.inf) -> Flow[Model]:
    """Send an idempotent request, and return the response as an instance of `model`. Failed requests are retried
    according to the policy in `manner`.

    `deadline` is a time on the monotonic clock. If the server requests a pause that ends after the deadline, the error
    is raised immediately.
    """
    retries = manner.retries
    for attempt in range(1, retries.attempts + 1):
        reply = yield call
        if isinstance(reply, Answer) and reply.status < 300:
            return _read(model, reply)
        error, asked_s = yield from _failure(reply)
        if attempt == retries.attempts or not _transient(reply) or asked_s > retries.longest_pause_s:
            raise error
        backoff = min(retries.longest_backoff_s, retries.first_pause_s * 2.0 ** (attempt - 1))
        pause = backoff * manner.chance.uniform(1.0, 1.1)
        if asked_s > backoff:
            remaining_s = deadline - (yield from _now()).monotonic
            if asked_s > remaining_s:
                raise error
            pause = min(remaining_s, asked_s * manner.chance.uniform(1.0, 1.1))
        yield Pause(pause)
    raise ValueError(f"{retries.attempts} attempts are too few: at least 1 is required")


def wait(poll: Call, min_answers: int | None, timeout_s: float, manner: Manner) -> Flow[AgentQuestion]:
    """Send the request `poll` repeatedly until the question is finished, it has `min_answers` answers, or `timeout_s`
    seconds have passed. Return the question.

    The last poll is sent when the timeout ends.
    """
    deadline = (yield from _now()).monotonic + timeout_s
    number = 0
    while True:
        question = yield from request(poll, AgentQuestion, manner, deadline)
        yield Seen(question)
        enough = min_answers is not None and question.current_responses >= min_answers
        remaining_s = deadline - (yield from _now()).monotonic
        if question.finished or enough or remaining_s <= 0:
            return question
        yield Pause(min(remaining_s, manner.polling.pause(number, manner.chance)))
        number += 1


def _now() -> Flow[Now]:
    reply = yield Pause(0.0)
    if not isinstance(reply, Now):
        raise TypeError(f"expected the time as the reply to a pause, got {reply!r}")
    return reply


def _transient(reply: Answer | Lost | Now | None) -> bool:
    return not isinstance(reply, Answer) or reply.status in TRANSIENT


def _failure(reply: Answer | Lost | Now | None) -> Flow[tuple[AskError, float]]:
    """Return the exception for a failed request, and the pause in seconds that the server requests, or 0 if it does not
    request a pause.
    """
    if isinstance(reply, Lost):
        return UnreachableError(reply.reason), 0.0
    if not isinstance(reply, Answer):
        raise TypeError(f"expected an Answer as the reply to a call, got {reply!r}")
    asked_s = retry_after_s(reply.headers.get("retry-after"), (yield from _now()).epoch)
    try:
        body = ErrorAnswer.model_validate_json(reply.body).error
    except ValidationError:
        if not _transient(reply):
            return UnexpectedAnswerError(
                f"answer {reply.status} does not follow this interface: {reply.body[:200]!r}"
            ), 0.0
        body = ErrorBody(code="SERVER_ERROR", message=f"answer {reply.status} without an error body")
    return api_error(body, reply.status, asked_s), asked_s or 0.0


def _read(model: type[Model], answer: Answer) -> Model:
    try:
        return model.model_validate_json(answer.body)
    except ValidationError as error:
        raise UnexpectedAnswerError(
            f"answer {answer.status} is not a {model.__name__}: {answer.body[:200]!r}"
        ) from error
