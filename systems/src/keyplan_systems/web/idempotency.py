"""Idempotency keys, which ensure that a repeated request is applied only once.

    answer = once.answer(request, work)

The transaction of the writes also stores the response. `work` reads what it needs and returns the writes and the
response. It may be called several times and writes nothing itself. The first request to commit wins, and every other
request with the same key returns the same response. Rejections and failures are not stored, so that a corrected request
can use the key again.

Each system subclasses `IdempotencyKeys` with the patterns of its table and its errors.
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
"""Status of a record whose multi-step work is in progress or was interrupted."""
MAX_ATTEMPTS: Final = 10
"""Maximum number of attempts to write items that change concurrently."""
ANSWER_RETENTION: Final = timedelta(seconds=86_400)
"""How long a repeated request gets the same answer."""


@dataclass(frozen=True)
class Request:
    """A request with its user, its idempotency key, and a fingerprint of its content."""

    user_id: str
    key: str
    fingerprint: str


@dataclass(frozen=True)
class Answer:
    """A response to a request, either new or repeated."""

    status: int
    body: bytes
    """JSON; empty if the status has no body."""
    replayed: bool = False


@dataclass(frozen=True)
class Work:
    """The writes that fulfil a request, and the response."""

    calls: Sequence[WriteCall[Any] | TransactionCall[Any]]
    status: int
    body: object = None
    """A value that can become JSON, or JSON as bytes; None if the status has no body."""
    target: tuple[str, str] | None = None
    """Primary key of the written item, for systems that record it."""

    @property
    def content(self) -> bytes:
        """The body of the response as JSON."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body or b""
        return orjson.dumps(self.body)


class Record(Protocol):
    """A stored response, as defined by the entity of each system."""

    fingerprint: str
    response_data: str
    http_status_code: int


def fingerprint(method: str, path: str, body: Any) -> str:
    """Return a hash of a request's method, path and content, to compare requests with the same key."""
    content = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(b"%s %s\n%s" % (method.encode(), path.encode(), content)).hexdigest()


class IdempotencyKeys(ABC):
    """Service that applies each request once. Threads and processes can share the table."""

    refusals: ClassVar[type[Exception]]
    """Base class of the errors with which `work` rejects a request."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection, self._clock = connection, clock
        self._never = threading.Event()

    @abstractmethod
    def read_record(self, request: Request) -> Call[Any]:
        """Return the call that reads the stored response to a request."""

    @abstractmethod
    def keep(self, request: Request, work: Work, now: datetime) -> WriteCall[Any]:
        """Return the call that stores the response unless a record exists. An expired record is overwritten."""

    @abstractmethod
    def check(self, work: Work, failed: TransactionFailedError) -> None:
        """Raise the error for a failed transaction, or return if the work should be repeated.

        The last of the failure reasons belongs to the write that stores the response.
        """

    @abstractmethod
    def key_reused(self) -> Exception:
        """Return the error for a key that was already used for a different request."""

    @abstractmethod
    def busy(self) -> Exception:
        """Return the error for a request whose items change concurrently too often."""

    def answer(self, request: Request, work: Callable[[], Work]) -> Answer:
        """Return the stored response to the request, or do the work and return the new response.

        Raises the system's errors, and RunError if the database fails.
        """
        answer = self.stored_answer(request)
        if answer is not None:
            return answer
        try:
            return self.first(request, work)
        except self.refusals:
            # An identical request may have been answered in between and be the reason: for example, it has deleted the
            # task.
            answer = self.stored_answer(request)
            if answer is None:
                raise
            return answer

    def stored_answer(self, request: Request) -> Answer | None:
        """Return the stored response to the request, or None.

        Raises the error for a key that was used for a different request.
        """
        record = self._connection.run(self.read_record(request))
        answer = None if record is None else self.replay(record, request)
        return None if answer is None or answer.status == IN_PROGRESS else answer

    def replay(self, record: Record, request: Request) -> Answer:
        """Return a stored response if it belongs to the request, or raise the error for a reused key."""
        if record.fingerprint != request.fingerprint:
            raise self.key_reused()
        return Answer(record.http_status_code, record.response_data.encode(), replayed=True)

    def first(self, request: Request, work: Callable[[], Work]) -> Answer:
        """Do the work without reading the stored response first.

        Use this for work that an identical request cannot make fail.
        """
        for attempt in range(MAX_ATTEMPTS):
            result = work()
            try:
                self._connection.transact(*result.calls, self.keep(request, result, self.now()))
            except TransactionFailedError as failed:
                if isinstance(failed.reasons[-1], AlreadyExistsError):
                    answer = self.stored_answer(request)
                    if answer is not None:
                        return answer
                else:
                    self.check(result, failed)
                self._back_off(attempt)
            else:
                return Answer(result.status, result.content)
        raise self.busy()

    def now(self) -> datetime:
        """Return the current time in whole seconds, which is the precision of stored records."""
        return datetime.fromtimestamp(int(self._clock.now()), UTC)

    def _back_off(self, attempt: int) -> None:
        """Wait for a random time that grows with each attempt, so that concurrent writers finish first."""
        self._clock.wait(self._never, self._clock.random.uniform(0, 0.005 * 2 ** min(attempt, 6)))
