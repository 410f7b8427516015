"""Request programs, the drivers that send their requests, the retry logic, and the capacity meter.

A request program is a generator. It yields `(operation, request)` or a `Wait`, and receives the response. If DynamoDB
returns an error, the error is raised at the yield. Drivers do not depend on patterns, and programs do not depend on
sockets or event loops. Therefore, the same programs serve blocking and asynchronous connections.

Errors are of three kinds. After throttling or a conflict, nothing was written, and the request is retried. After a
server error or a missing response, a write may have been applied. The request is retried only if that is safe, and
`Outcome` records for the program that the outcome is uncertain. Every other error is passed to the program.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol, TypeVar

from keyplan.client.errors import (
    NoAnswerError,
    OutcomeUnknownError,
    RunError,
    ThrottledError,
    UnavailableError,
    WriteConflictError,
)
from keyplan.clock import Clock, check_seconds
from keyplan.cost.units import READS, ConsumedUnits, consumed_units
from keyplan.design.planning.plan import Plan
from keyplan.design.requests.writes import with_time
from keyplan.design.schema import Schema
from keyplan.errors import CONFLICTS, THROTTLED, ServiceError

R = TypeVar("R")
Request = dict[str, Any]
Response = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wait:
    """A value that a request program yields to wait for a number of seconds."""

    seconds: float


Step = tuple[str, Request] | Wait
Program = Generator[Step, Any, R]


class Transport(Protocol):
    """The interface of blocking transports, which send requests and raise ServiceError for error responses."""

    def call(self, operation: str, request: Request) -> Response:
        """Send a request and return the response, with binary values as bytes."""

    def close(self) -> None:
        """Close the transport, including its network connections and files."""


class AsyncTransport(Protocol):
    """The interface of transports for asyncio, which send requests and raise ServiceError for error responses."""

    async def call(self, operation: str, request: Request) -> Response:
        """Send a request and return the response, with binary values as bytes."""

    def immediate(self, operation: str) -> Callable[[str, Request], Response] | None:
        """Return a blocking function for an operation if it is fast enough to run in the event loop's thread, otherwise
        None.
        """

    async def close(self) -> None:
        """Close the transport, including its network connections and files."""


def drive(program: Program[R], call: Callable[[str, Request], Response], wait: Callable[[float], object]) -> R:
    """Run a request program (a generator that yields requests) to completion.

    `call` sends its requests, and `wait` waits for a number of seconds.
    """
    try:
        step = next(program)
        while True:
            if isinstance(step, tuple):
                try:
                    response = call(*step)
                except ServiceError as error:
                    step = program.throw(error)
                else:
                    step = program.send(response)
            else:
                wait(step.seconds)
                step = program.send(None)
    except StopIteration as stop:
        result: R = stop.value
        return result


def fail_first(error: ServiceError, call: Callable[[str, Request], Response]) -> Callable[[str, Request], Response]:
    """Return a function that raises `error` for its first request, and passes later requests to `call`.

    `error` is the response to the first request, which was already sent.
    """
    errors = [error]

    def call_after_error(operation: str, request: Request) -> Response:
        if errors:
            raise errors.pop()
        return call(operation, request)

    return call_after_error


def fail_first_async(
    error: ServiceError, call: Callable[[str, Request], Awaitable[Response]]
) -> Callable[[str, Request], Awaitable[Response]]:
    """Return a function that raises `error` for its first request, and passes later requests to `call`.

    `error` is the response to the first request, which was already sent.
    """
    errors = [error]

    async def call_after_error(operation: str, request: Request) -> Response:
        if errors:
            raise errors.pop()
        return await call(operation, request)

    return call_after_error


async def drive_async(
    program: Program[R],
    call: Callable[[str, Request], Awaitable[Response]],
    wait: Callable[[float], Awaitable[object]],
) -> R:
    """Run a request program (a generator that yields requests) to completion.

    `call` sends its requests, and `wait` waits for a number of seconds. Both are awaited.
    """
    try:
        step = next(program)
        while True:
            if isinstance(step, tuple):
                try:
                    response = await call(*step)
                except ServiceError as error:
                    step = program.throw(error)
                else:
                    step = program.send(response)
            else:
                await wait(step.seconds)
                step = program.send(None)
    except StopIteration as stop:
        result: R = stop.value
        return result


_DOUBLINGS = 60  # the maximum exponent, which exceeds every useful limit without overflow


def jittered_s(attempt: int, first_s: float, most_s: float, clock: Clock) -> float:
    """Return a random wait in seconds, from 0 to a limit that starts at `first_s` and doubles with each attempt.

    The limit never exceeds `most_s`.
    """
    return clock.random.uniform(0.0, min(most_s, first_s * 2.0 ** min(attempt - 1, _DOUBLINGS)))


@dataclass(frozen=True)
class Retries:
    """The settings for the number of attempts and the random waits between them.

    Raises ValueError if the number of attempts is less than 1, or a wait is not a valid number of seconds.
    """

    attempts: int = 10
    """The maximum number of attempts per request."""
    first_s: float = 0.025
    """The upper limit of the random wait after the first attempt, in seconds. The limit doubles with each attempt."""
    most_s: float = 2.0
    """The longest possible wait between two attempts, in seconds."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {self.attempts!r}")
        check_seconds(first_s=self.first_s, most_s=self.most_s)

    def wait_s(self, attempt: int, clock: Clock) -> float:
        """Return the number of seconds to wait after the given attempt. The wait is random, with full jitter."""
        return jittered_s(attempt, self.first_s, self.most_s, clock)


@dataclass(eq=False)
class Context:
    """The settings of a connection, with caches of the plans and tables that were already checked."""

    clock: Clock
    cursor_key: bytes
    retries: Retries = field(default_factory=Retries)
    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """The physical name of each table, by declared table name."""
    creates_tables: bool = False
    """Whether missing tables are created when they are first used."""
    ready: set[Plan] = field(default_factory=set)
    """The plans that were checked and have no faults."""
    tables: set[Schema] = field(default_factory=set)
    """The tables that were checked, and created if they were missing."""
    token_times: dict[str, float] = field(default_factory=dict)
    """The time of the first attempt of each transaction, in seconds since 1970, by idempotency token."""
    meter: Meter | None = None
    """The meter of capacity units, or None. Without a meter, requests do not ask for the consumed capacity."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """The lock that is held while `token_times` is changed, because threads share a connection."""

    def table(self, schema: Schema) -> str:
        """Return the physical name of a table, including the prefix."""
        name = self.names.get(schema.name)
        return self.prefix + schema.name if name is None else name

    def arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call, with the current time added."""
        return with_time(arguments, self.clock.now())


WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
CANCELLED = "TransactionCanceledException"
_FAILED_STATUS = 500


@dataclass(slots=True)
class Outcome:
    """A record of whether a write may have been applied even though no attempt returned a successful response."""

    uncertain: bool = False
    """Whether an earlier attempt received no response or a server error, so the write may have been applied."""


def send(
    context: Context, operation: str, request: Request, outcome: Outcome | None = None, *, repeatable: bool = True
) -> Program[Response]:
    """Send a request, and retry it after transient errors.

    Raises ServiceError for other error responses, and RunError if the last attempt fails. If `repeatable` is False, the
    request is not retried after an attempt that may have applied a write.
    """
    attempt = 0
    while True:
        try:
            response: Response = yield operation, request
        except ServiceError as error:
            failed = error
        else:
            return response
        if not is_transient(failed):
            raise failed
        attempt += 1
        if attempt >= context.retries.attempts:
            break
        _record_uncertainty(failed, outcome, repeatable=repeatable)
        yield Wait(context.retries.wait_s(attempt, context.clock))
    is_known = not is_uncertain(failed) and not (outcome is not None and outcome.uncertain)
    raise final_error(failed, context.retries.attempts, is_known=is_known or operation not in WRITES) from failed


def _record_uncertainty(failed: ServiceError, outcome: Outcome | None, *, repeatable: bool) -> None:
    if not is_uncertain(failed):
        return
    if not repeatable:
        raise OutcomeUnknownError(
            f"the write may or may not have been applied, and a retry could apply it twice: {failed.message}",
            code=failed.code,
        ) from failed
    if outcome is not None:
        outcome.uncertain = True


def is_uncertain(error: ServiceError) -> bool:
    """Return True if a write that failed with this error may have been applied."""
    if isinstance(error, NoAnswerError):
        return error.sent
    return error.status >= _FAILED_STATUS


def is_transient(error: ServiceError) -> bool:
    """Return True if a request that failed with this error may succeed when it is retried, for example after
    throttling.
    """
    if error.code == CANCELLED:
        codes = {reason.get("Code", "None") for reason in reasons_of(error)} - {"None"}
        return bool(codes) and codes <= THROTTLED | CONFLICTS
    return (
        error.code in THROTTLED
        or error.code in CONFLICTS
        or isinstance(error, NoAnswerError)
        or error.status >= _FAILED_STATUS
    )


def is_throttled(error: ServiceError) -> bool:
    """Return True if a request failed because throughput was exceeded, or if a transaction was cancelled for this
    reason.
    """
    return error.code in THROTTLED or any(reason.get("Code") in THROTTLED for reason in reasons_of(error))


def reasons_of(error: ServiceError) -> list[dict[str, Any]]:
    """Return the cancellation reasons of a transaction, one for each action. Return an empty list for other errors."""
    reasons: list[dict[str, Any]] = error.members.get("CancellationReasons", [])
    return reasons


def final_error(error: ServiceError, attempts: int, *, is_known: bool = True) -> RunError:
    """Return the error to raise after the last attempt of a request.

    `is_known` is False if it is unknown whether the request was applied.
    """
    attempts_text = f"after {attempts} attempts: {error.message}"
    if not is_known:
        return OutcomeUnknownError(f"the write may or may not have been applied, {attempts_text}", code=error.code)
    codes = {reason.get("Code") for reason in reasons_of(error)}
    if error.code in CONFLICTS or codes & CONFLICTS:
        return WriteConflictError(f"other clients keep writing the same items, {attempts_text}", code=error.code)
    if is_throttled(error):
        return ThrottledError(f"the throughput of the table is exceeded, {attempts_text}", code=error.code)
    return UnavailableError(f"the service is not available, {attempts_text}", code=error.code)


_MEASURED = READS | WRITES


@dataclass(frozen=True, slots=True)
class Usage:
    """The number of calls, requests and capacity units of one pattern."""

    calls: int = 0
    requests: int = 0
    """The number of requests. It includes requests for further pages, the reads before and after a write,
    and retries.
    """
    throttled: int = 0
    """The number of throttled requests."""
    consumed: ConsumedUnits = field(default_factory=ConsumedUnits)
    """The consumed capacity units by table name, or by "table/index" for an index."""
    failed: int = 0
    """The number of requests that failed with an error other than throttling, such as a false condition."""
    elapsed_s: float = field(default=0.0, compare=False)
    """The total duration of all requests in seconds, excluding the waits between them."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.requests + other.requests,
            self.throttled + other.throttled,
            self.consumed + other.consumed,
            self.failed + other.failed,
            self.elapsed_s + other.elapsed_s,
        )

    @property
    def per_call(self) -> ConsumedUnits:
        """The average number of capacity units per call."""
        return self.consumed.divided_by(max(1, self.calls))


def _failed_usage(error: ServiceError, elapsed_s: float) -> Usage:
    throttled = is_throttled(error)
    return Usage(requests=1, throttled=int(throttled), failed=int(not throttled), elapsed_s=elapsed_s)


UNDECLARED = "undeclared "
"""The prefix of the labels that capacity meters use for ad-hoc calls."""


class Meter:
    """Counts the capacity units that calls consume. Connections can share a meter.

    Pass a meter to a connection: `connect("data.db", meter=meter)`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usage_by_name: dict[str, Usage] = {}

    def read(self) -> dict[str, Usage]:
        """Return the usage of each pattern since the meter was created or last reset by `take`.

        Calls without a declared pattern have labels such as `transact(take, give)` and `undeclared get Task`.
        """
        with self._lock:
            return dict(self._usage_by_name)

    def take(self) -> dict[str, Usage]:
        """Return the usage of each pattern and reset the meter, for programs that report usage periodically."""
        with self._lock:
            usage, self._usage_by_name = self._usage_by_name, {}
        return usage

    def measured(self, name: str, program: Program[R]) -> Program[R]:
        """Run the program of a call, and count the capacity units that it consumes under the label `name`."""
        usage = Usage(calls=1)
        try:
            step = next(program)
            while True:
                if not isinstance(step, tuple):
                    step = program.send((yield step))
                    continue
                operation, request = step
                if operation in _MEASURED:
                    request = {**request, "ReturnConsumedCapacity": "INDEXES"}
                start = perf_counter()
                try:
                    response = yield operation, request
                except ServiceError as error:
                    usage += _failed_usage(error, perf_counter() - start)
                    step = program.throw(error)
                else:
                    elapsed_s = perf_counter() - start
                    usage += Usage(requests=1, consumed=consumed_units(operation, response), elapsed_s=elapsed_s)
                    step = program.send(response)
        except StopIteration as stop:
            result: R = stop.value
            return result
        finally:
            program.close()
            with self._lock:
                self._usage_by_name[name] = self._usage_by_name.get(name, Usage()) + usage
