"""The logic of the agent client as generators (flows) that request I/O from their caller (the driver).

A flow yields `HttpRequest` to send a request, `WaitRequest` to wait, and `PollResult` to report a poll. The driver
sends back `HttpResponse` or `RequestFailure` for a request, `CurrentTime` for a wait, and None for a reported poll. The
same flow can therefore run in threads, in event loops, and in tests with a manual clock.
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
from keyplan_systems.ask_a_human.wire import AgentQuestion, ErrorBody, ErrorResponse

TRANSIENT = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """An HTTP request that the driver of a flow (the caller of the generator) sends."""

    method: str
    path: str
    headers: Mapping[str, str]
    json: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True)
class WaitRequest:
    """A flow's request to wait for a number of seconds. With a wait of 0, the flow only receives the current time."""

    seconds: float


@dataclass(frozen=True, slots=True)
class PollResult:
    """The result of a poll. While a flow waits for answers, it reports each poll to its driver (the caller of the
    generator).
    """

    question: AgentQuestion


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An HTTP response. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """The failure of a request for which no response was received. The server may or may not have received
    the request.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class CurrentTime:
    """The current time in seconds, on the monotonic clock and since the Unix epoch. The driver of a flow sends it in
    reply to a `WaitRequest`.
    """

    monotonic: float
    epoch: float


Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")
Flow = Generator[HttpRequest | WaitRequest | PollResult, HttpResponse | RequestFailure | CurrentTime | None, Result]


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
    The longer intervals are used because half of all questions wait several minutes or longer for the first answer, and
    because the limit of 600 polls per hour must be sufficient for up to 100 open questions. Each interval has 10%
    jitter, so that agents that start at the same time do not poll at the same time.
    """

    first_s: float = 30.0
    factor: float = 1.5
    longest_s: float = 300.0
    jitter: float = 0.1

    def pause(self, number: int, rng: random.Random) -> float:
        """Return the number of seconds to wait after a poll. Polls are numbered from 0. `rng` generates
        the jitter.
        """
        # The exponent is bounded, because a float would overflow if an agent polls for a long time.
        interval_s = min(self.longest_s, self.first_s * self.factor ** min(number, 64))
        return interval_s * rng.uniform(1 - self.jitter, 1 + self.jitter)


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The settings of a client: the retry policy, the poll intervals, and the random number generator for jitter."""

    retries: Retries
    polling: Polling
    rng: random.Random


def request(
    http_request: HttpRequest, model: type[Model], settings: ClientSettings, deadline: float = math.inf
) -> Flow[Model]:
    """Send an idempotent request, and return the response as an instance of `model`. Failed requests are retried
    according to the policy in `settings`.

    `deadline` is a time on the monotonic clock. If the server requests a pause that ends after the deadline, the error
    is raised immediately.
    """
    retries = settings.retries
    for attempt in range(1, retries.attempts + 1):
        reply = yield http_request
        if isinstance(reply, HttpResponse) and reply.status < 300:
            return _parse(model, reply)
        error, requested_s = yield from _failure(reply)
        if attempt == retries.attempts or not _is_transient(reply) or requested_s > retries.longest_pause_s:
            raise error
        backoff = min(retries.longest_backoff_s, retries.first_pause_s * 2.0 ** (attempt - 1))
        pause_s = backoff * settings.rng.uniform(1.0, 1.1)
        if requested_s > backoff:
            remaining_s = deadline - (yield from _current_time()).monotonic
            if requested_s > remaining_s:
                raise error
            pause_s = min(remaining_s, requested_s * settings.rng.uniform(1.0, 1.1))
        yield WaitRequest(pause_s)
    raise ValueError(f"attempts must be at least 1, not {retries.attempts}")


def wait(poll: HttpRequest, min_answers: int | None, timeout_s: float, settings: ClientSettings) -> Flow[AgentQuestion]:
    """Send the request `poll` repeatedly until the question is closed or expired, it has at least `min_answers`
    answers, or `timeout_s` seconds have passed. Return the question.

    If `min_answers` is None, the number of answers does not end the wait. The last poll is sent when the timeout ends.
    """
    deadline = (yield from _current_time()).monotonic + timeout_s
    number = 0
    while True:
        question = yield from request(poll, AgentQuestion, settings, deadline)
        yield PollResult(question)
        has_enough = min_answers is not None and question.current_responses >= min_answers
        remaining_s = deadline - (yield from _current_time()).monotonic
        if question.finished or has_enough or remaining_s <= 0:
            return question
        yield WaitRequest(min(remaining_s, settings.polling.pause(number, settings.rng)))
        number += 1


def _current_time() -> Flow[CurrentTime]:
    reply = yield WaitRequest(0.0)
    if not isinstance(reply, CurrentTime):
        raise TypeError(f"expected the current time as the reply to a wait, got {reply!r}")
    return reply


def _is_transient(reply: HttpResponse | RequestFailure | CurrentTime | None) -> bool:
    return not isinstance(reply, HttpResponse) or reply.status in TRANSIENT


def _failure(reply: HttpResponse | RequestFailure | CurrentTime | None) -> Flow[tuple[AskError, float]]:
    """Return the exception for a failed request, and the pause in seconds that the server requests, or 0 if it does not
    request a pause.
    """
    if isinstance(reply, RequestFailure):
        return UnreachableError(reply.reason), 0.0
    if not isinstance(reply, HttpResponse):
        raise TypeError(f"expected an HttpResponse as the reply to a request, got {reply!r}")
    requested_s = retry_after_s(reply.headers.get("retry-after"), (yield from _current_time()).epoch)
    try:
        body = ErrorResponse.model_validate_json(reply.body).error
    except ValidationError:
        if not _is_transient(reply):
            return UnexpectedAnswerError(
                f"response with status {reply.status} is not in the API's error format: {reply.body[:200]!r}"
            ), 0.0
        body = ErrorBody(code="SERVER_ERROR", message=f"response with status {reply.status} has no error body")
    return api_error(body, reply.status, requested_s), requested_s or 0.0


def _parse(model: type[Model], response: HttpResponse) -> Model:
    try:
        return model.model_validate_json(response.body)
    except ValidationError as error:
        raise UnexpectedAnswerError(
            f"response with status {response.status} is not a valid {model.__name__}: {response.body[:200]!r}"
        ) from error
