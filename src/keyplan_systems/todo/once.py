"""Writes that happen once however often they are asked for: the answer is kept in the transaction of the write.

    answer = once.answer(request, work)

`work` makes the writes and the answer from what it reads; it may be called several times, and does nothing itself.
Whoever commits first has answered for all: everybody else who sends the same key reads that answer. Refusals are not
kept, so that a corrected request may use the key again, and neither is what failed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from keyplan.clock import Clock
from keyplan.connections.connection import Connection
from keyplan.connections.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    TransactionConflictError,
    TransactionFailedError,
    UniqueTakenError,
    VersionConflictError,
)
from keyplan.design.patterns import TransactionCall, WriteCall
from keyplan_systems.todo import design
from keyplan_systems.todo.domain import ANSWERS_KEPT, moment
from keyplan_systems.todo.entities import Idempotency
from keyplan_systems.todo.refusals import ConflictError, KeyReusedError, RefusalError

UNDER_WAY = 102
"""The status of a record whose work of many steps goes on, or was interrupted."""
ATTEMPTS = 10
"""How often a write is made anew because what it rests on has changed meanwhile."""


@dataclass(frozen=True)
class Request:
    """Whose request it is, and what tells it from others."""

    user_id: str
    key: str
    """The caller's idempotency key."""
    fingerprint: str


@dataclass(frozen=True)
class Answer:
    """What a request is answered: for the first time, or again."""

    status: int
    body: bytes
    """JSON; empty where the status has no body."""
    replayed: bool = False


@dataclass(frozen=True)
class Work:
    """What answers a request: writes, and the answer that tells of them."""

    calls: Sequence[WriteCall[Any] | TransactionCall[Any]]
    status: int
    body: object = None
    target: tuple[str, str] | None = None
    """Primary key of the task that is written."""


class Once:
    """Answers requests once each. Threads and processes may share the table."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection, self._clock = connection, clock
        self._never = threading.Event()

    def answer(self, request: Request, work: Callable[[], Work]) -> Answer:
        """The answer that was given before, or that of new work. Raises RefusalError, and RunError for failures."""
        given = self.given(request)
        if given is not None:
            return given
        try:
            return self.first(request, work)
        except RefusalError:
            # It may be refused just because an equal request has been answered meanwhile: its task is deleted.
            given = self.given(request)
            if given is None:
                raise
            return given

    def given(self, request: Request) -> Answer | None:
        """The answer that the request was given. Raises KeyReusedError."""
        record = self._connection.run(design.answer_given(request.user_id, request.key))
        given = None if record is None else replay(record, request)
        return None if given is None or given.status == UNDER_WAY else given

    def begin(self, request: Request) -> Answer | None:
        """Claim the key for work of many steps; the answer if it was given before. Raises KeyReusedError."""
        claim = self._record(request, Work([], UNDER_WAY), b"")
        try:
            self._connection.run(design.remember_answer(claim))
        except AlreadyExistsError:
            return self.given(request)
        return None

    def finish(self, request: Request, body: object) -> Answer:
        """Answer work of many steps with 200, unless an equal request has been first."""
        made = Work([], 200, body)
        record = self._record(request, made, orjson.dumps(body))
        try:
            self._connection.run(design.finish_answer(record))
        except AlreadyExistsError:
            given = self.given(request)
            if given is None:
                raise
            return given
        return Answer(made.status, record.response_data.encode())

    def first(self, request: Request, work: Callable[[], Work]) -> Answer:
        """The same for work that is never refused because it has been done: it need not look first."""
        for attempt in range(ATTEMPTS):
            made = work()
            body = b"" if made.body is None else orjson.dumps(made.body)
            kept = design.remember_answer(self._record(request, made, body))
            try:
                self._connection.transact(*made.calls, kept)
            except TransactionFailedError as failed:
                given = self._meanwhile(request, failed)
                if given is not None:
                    return given
                self._rest(attempt)
            else:
                return Answer(made.status, body)
        raise ConflictError("Others keep changing the same; send the request again.")

    def _meanwhile(self, request: Request, failed: TransactionFailedError) -> Answer | None:
        """The answer that an equal request was given meanwhile; None: the work is to be made anew."""
        if isinstance(failed.reasons[-1], AlreadyExistsError):
            return self.given(request)
        for reason in failed.reasons:
            if isinstance(reason, UniqueTakenError):
                raise ConflictError("The e-mail address is another user's.") from failed
            if reason is not None and not isinstance(reason, _STALE):
                raise reason from failed
        return None

    def _record(self, request: Request, made: Work, body: bytes) -> Idempotency:
        now = moment(self._clock)
        pk, sk = made.target or (None, None)
        return Idempotency(
            user_id=request.user_id,
            request_key=request.key,
            fingerprint=request.fingerprint,
            response_data=body.decode(),
            target_task_pk=pk,
            target_task_sk=sk,
            http_status_code=made.status,
            created_at=now,
            expiration_timestamp=now + ANSWERS_KEPT,
        )

    def _rest(self, attempt: int) -> None:
        """Let those who write the same go first, for a random while that grows."""
        self._clock.wait(self._never, self._clock.random.uniform(0, 0.005 * 2 ** min(attempt, 6)))


_STALE = (AlreadyExistsError, VersionConflictError, NotFoundError, ConditionFailedError, TransactionConflictError)
"""What was read for the work has changed, or, beside that, is being changed: made anew it succeeds, or is refused."""


def replay(record: Idempotency, request: Request) -> Answer:
    """A kept answer, for the request that it was given to. Raises KeyReusedError for another."""
    if record.fingerprint != request.fingerprint:
        raise KeyReusedError("This Idempotency-Key was sent with another request before.")
    return Answer(record.http_status_code, record.response_data.encode(), replayed=True)
