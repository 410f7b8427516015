"""Support for idempotency keys. If a client repeats a request with the same key, the request is executed only once.

    response = keys.answer(request, make_plan)

`make_plan` reads the items that it needs, and returns the writes and the response. It must not write to the database
itself, because it can be called several times. One transaction executes the writes and stores the response. If several
requests have the same key, only the first transaction succeeds, and all requests get its response. Errors are not
stored, so that a corrected request can use the key again.

Each system has a subclass of `IdempotencyKeys` with the access patterns of its table and its exceptions.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final, Protocol

import orjson

from keyplan.client.connection import Connection
from keyplan.client.errors import AlreadyExistsError, TransactionFailedError
from keyplan.clock import Clock
from keyplan.design.declaring.patterns import Call, TransactionCall, WriteCall

IN_PROGRESS: Final = 102
"""HTTP status that is stored for a request that consists of several steps, while the request is in progress or after it
was interrupted.
"""
MAX_ATTEMPTS: Final = 10
"""Maximum number of attempts to execute a request if concurrent writes change the items that it uses."""
ANSWER_RETENTION: Final = timedelta(seconds=86_400)
"""Time for which a response is stored and returned to repeated requests."""


@dataclass(frozen=True)
class Request:
    """A request to be executed only once: the ID of its user, its idempotency key, and a fingerprint of its content."""

    user_id: str
    key: str
    fingerprint: str


@dataclass(frozen=True)
class Answer:
    """The response to a request. `replayed` is True if the response was stored by an earlier request."""

    status: int
    body: bytes
    """Body of the response as JSON. It is empty if responses with this status do not have a body."""
    replayed: bool = False


@dataclass(frozen=True)
class WritePlan:
    """The writes that execute a request, and the response to the request."""

    calls: Sequence[WriteCall[Any] | TransactionCall[Any]]
    status: int
    body: object = None
    """Body of the response: a value that can be encoded as JSON, or bytes that contain JSON. It is None if responses
    with this status do not have a body.
    """
    target: tuple[str, str] | None = None
    """Primary key of the written item, for systems that store this key together with the response."""

    @property
    def content(self) -> bytes:
        """The body of the response, encoded as JSON."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body or b""
        return orjson.dumps(self.body)


class Record(Protocol):
    """An item that contains the stored response to a request. Each system defines an entity with these fields."""

    fingerprint: str
    response_data: str
    http_status_code: int


def fingerprint(method: str, path: str, body: Any) -> str:
    """Return a hash of a request's method, path and body. A request that repeats an idempotency key with a different
    hash is rejected.
    """
    content = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(b"%s %s\n%s" % (method.encode(), path.encode(), content)).hexdigest()


class IdempotencyKeys(ABC):
    """Executes requests with the same idempotency key only once, even across threads and processes."""

    refusals: ClassVar[type[Exception]]
    """Base class of the exceptions that `make_plan` raises to reject a request."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection, self._clock = connection, clock
        self._never = threading.Event()

    @abstractmethod
    def read_record(self, request: Request) -> Call[Any]:
        """Return the call that reads the stored response to a request."""

    @abstractmethod
    def store_record(self, request: Request, plan: WritePlan, now: datetime) -> WriteCall[Any]:
        """Return the write that stores the response to the request. The write must fail if an unexpired response is
        already stored.
        """

    @abstractmethod
    def check_failure(self, plan: WritePlan, error: TransactionFailedError) -> None:
        """Raise the system's exception for a failed transaction, or return normally if the request should be tried
        again.

        The last element of `error.reasons` belongs to the write that stores the response.
        """

    @abstractmethod
    def key_reused_error(self) -> Exception:
        """Return the exception for a key that was already used for a different request."""

    @abstractmethod
    def busy_error(self) -> Exception:
        """Return the exception for a request that failed after all attempts because of concurrent writes."""

    def answer(self, request: Request, make_plan: Callable[[], WritePlan]) -> Answer:
        """Return the stored response to a request, or execute the request and return the new response.

        If the request is rejected, the exception from `make_plan`, `check_failure`, `key_reused_error` or `busy_error`
        is raised. Raises RunError if the database fails.
        """
        answer = self.stored_answer(request)
        if answer is not None:
            return answer
        try:
            return self.execute(request, make_plan)
        except self.refusals:
            # An identical request may have been processed in between and be the reason: for example, it has deleted the
            # task.
            answer = self.stored_answer(request)
            if answer is None:
                raise
            return answer

    def stored_answer(self, request: Request) -> Answer | None:
        """Return the stored response to a request, or None if no response is stored or the request is still in
        progress.

        Raises the exception from `key_reused_error` if the idempotency key was already used for a different request.
        """
        record = self._connection.run(self.read_record(request))
        answer = None if record is None else self.replay(record, request)
        return None if answer is None or answer.status == IN_PROGRESS else answer

    def replay(self, record: Record, request: Request) -> Answer:
        """Return the response in a stored record. Raises the exception from `key_reused_error` if the record belongs to
        a different request.
        """
        if record.fingerprint != request.fingerprint:
            raise self.key_reused_error()
        return Answer(record.http_status_code, record.response_data.encode(), replayed=True)

    def execute(self, request: Request, make_plan: Callable[[], WritePlan]) -> Answer:
        """Execute a request without first looking for a stored response.

        `make_plan` must not raise an exception for a request that was already executed, because the caller would then
        get the exception instead of the stored response.
        """
        for attempt in range(MAX_ATTEMPTS):
            plan = make_plan()
            try:
                self._connection.transact(*plan.calls, self.store_record(request, plan, self.now()))
            except TransactionFailedError as error:
                if isinstance(error.reasons[-1], AlreadyExistsError):
                    answer = self.stored_answer(request)
                    if answer is not None:
                        return answer
                else:
                    self.check_failure(plan, error)
                self._back_off(attempt)
            else:
                return Answer(plan.status, plan.content)
        raise self.busy_error()

    def now(self) -> datetime:
        """Return the current time, truncated to whole seconds, which is the precision of the stored records."""
        return datetime.fromtimestamp(int(self._clock.now()), UTC)

    def _back_off(self, attempt: int) -> None:
        """Wait for a random time, so that concurrent writers can finish. The maximum wait increases with the number of
        attempts.
        """
        self._clock.wait(self._never, self._clock.random.uniform(0, 0.005 * 2 ** min(attempt, 6)))
