"""Idempotency keys of the to-do system. For a request with several steps, the key is reserved before the first step."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    TransactionFailedError,
    UniqueTakenError,
    VersionConflictError,
    WriteConflictError,
)
from keyplan.design.declaring.patterns import Call, WriteCall
from keyplan_systems.todo import design
from keyplan_systems.todo.entities import Idempotency
from keyplan_systems.todo.refusals import AddressTakenError, ConflictError, KeyReusedError, RefusalError
from keyplan_systems.web import idempotency
from keyplan_systems.web.idempotency import ANSWER_RETENTION, IN_PROGRESS, MAX_ATTEMPTS, Answer, Request, WritePlan

__all__ = ["IN_PROGRESS", "MAX_ATTEMPTS", "Answer", "IdempotencyKeys", "Request", "WritePlan"]

_STALE = (AlreadyExistsError, VersionConflictError, NotFoundError, ConditionFailedError, WriteConflictError)
"""Errors that are raised if an item was changed concurrently. The request is then repeated with the current items."""


class IdempotencyKeys(idempotency.IdempotencyKeys):
    """Storage of idempotency keys, which ensures that each request is executed only once. Threads and processes can
    share the table.
    """

    refusals = RefusalError

    def begin(self, request: Request) -> Answer | None:
        """Reserve the key of a request with several steps.

        Return the stored response if the request was already completed. Return None otherwise, which means that the
        caller must execute or continue the request. Raises KeyReusedError if the key belongs to a different request.
        """
        try:
            self._connection.run(self.store_record(request, WritePlan([], IN_PROGRESS), self.now()))
        except AlreadyExistsError:
            return self.stored_answer(request)
        return None

    def finish(self, request: Request, body: object) -> Answer:
        """Store `body` as the response to a request with several steps, with status 200, and return the response.

        If an identical request has already stored a response, that response is returned.
        """
        plan = WritePlan([], 200, body)
        try:
            self._connection.run(design.finish_answer(_record(request, plan, self.now())))
        except AlreadyExistsError:
            answer = self.stored_answer(request)
            if answer is None:
                raise
            return answer
        return Answer(plan.status, plan.content)

    def read_record(self, request: Request) -> Call[Any]:
        """Return the call that reads the stored response to a request."""
        return design.answer_given(request.user_id, request.key)

    def store_record(self, request: Request, plan: WritePlan, now: datetime) -> WriteCall[Any]:
        """Return the call that stores the response to a request, unless a response with the same key is already stored.
        An expired response is overwritten.
        """
        return design.remember_answer(_record(request, plan, now))

    def check_failure(self, plan: WritePlan, error: TransactionFailedError) -> None:  # noqa: ARG002 - all requests are repeated in the same way
        """Raise the cause of a failed transaction, or return if the only causes are concurrent changes. After a return,
        the caller repeats the work with the current items.

        Raises AddressTakenError if the email address is in use. Otherwise, raises the first cause that is not a
        concurrent change.
        """
        for reason in error.reasons:
            if isinstance(reason, UniqueTakenError):
                raise AddressTakenError.from_error(reason) from error
            if reason is not None and not isinstance(reason, _STALE):
                raise reason from error

    def key_reused_error(self) -> KeyReusedError:
        """Return the error for a key that was already used for a different request."""
        return KeyReusedError("This Idempotency-Key was already used for a different request.")

    def busy_error(self) -> ConflictError:
        """Return the error for a request that failed after all attempts because of concurrent writes."""
        return ConflictError("Concurrent requests change the same items; send the request again.")


def _record(request: Request, plan: WritePlan, now: datetime) -> Idempotency:
    pk, sk = plan.target or (None, None)
    return Idempotency(
        user_id=request.user_id,
        request_key=request.key,
        fingerprint=request.fingerprint,
        response_data=plan.content.decode(),
        target_task_pk=pk,
        target_task_sk=sk,
        http_status_code=plan.status,
        created_at=now,
        expiration_timestamp=now + ANSWER_RETENTION,
    )
