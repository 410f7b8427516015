"""The base class of all operations, with the database connection, the clock and rate limits, and helpers for retries
and for items that cannot be read.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from keyplan.client.connection import Connection
from keyplan.client.errors import (
    AlreadyExistsError,
    ConditionFailedError,
    NotFoundError,
    OutcomeUnknownError,
    RunError,
    ThrottledError,
    TransactionFailedError,
    UnreadableItemError,
    VersionConflictError,
    WriteConflictError,
)
from keyplan.clock import Clock
from keyplan.design.declaring.patterns import Call, WriteCall
from keyplan_systems.ask_a_human import design_questions, design_responses, records
from keyplan_systems.ask_a_human.domain import limits, questions
from keyplan_systems.ask_a_human.domain.limits import Allowance, Limit
from keyplan_systems.ask_a_human.domain.questions import Question
from keyplan_systems.ask_a_human.domain.refusals import QuestionNotFoundError
from keyplan_systems.ask_a_human.domain.timestamps import from_seconds
from keyplan_systems.web.system import UnfinishedError

_log = logging.getLogger(__name__)

Input = TypeVar("Input")
Result = TypeVar("Result")
ATTEMPTS = 80
"""Maximum number of attempts to run a transaction if concurrent writes change the items that it uses. It is greater
than the maximum number of answers to a question, because each answer can make one attempt fail.
"""


STALE = (AlreadyExistsError, ConditionFailedError, NotFoundError, VersionConflictError)
"""Errors that show that an item has changed since it was read."""
TRANSIENT = (ThrottledError, WriteConflictError)
"""Errors after which the same transaction can succeed on a retry."""
UNREADABLE = (UnreadableItemError, ValueError)
"""Errors for an item that does not match its entity, or that contains a value that the domain rules do not support."""


class BusyError(Exception):
    """Raised if an operation still fails after the maximum number of attempts because other requests change the same
    items.
    """


@dataclass(frozen=True)
class Failures:
    """Collects the errors of a worker's tasks, so that the worker can run the remaining tasks after an error.
    `raise_if_any` raises all errors at the end.
    """

    errors: list[Exception] = field(default_factory=list)

    def run_all(self, operation: Callable[[Input], Result | None], inputs: Iterable[Input]) -> list[Result]:
        """Call `operation` for each input and return a list of the results, omitting None. If a call fails, the error
        is recorded and the next input is processed.
        """
        return list(self.run_lazily(operation, inputs))

    def run_lazily(self, operation: Callable[[Input], Result | None], inputs: Iterable[Input]) -> Iterator[Result]:
        """Call `operation` for each input and yield the results as they become available, omitting None. If a call
        fails, the error is recorded and the next input is processed.
        """
        for value in inputs:
            result = self._try(partial(operation, value))
            if result is not None:
                yield result

    def run_up_to(
        self, operation: Callable[[Input], Result | None], inputs: Iterable[Input], limit: int
    ) -> list[Result]:
        """Call `operation` for at most `limit` inputs and return the results, omitting None. Inputs that fail because
        an item is unreadable do not count toward `limit`.
        """
        results: list[Result] = []
        attempts, remaining = 0, iter(inputs)
        while attempts < limit and (value := self._try(lambda: next(remaining, None))) is not None:
            error_count = len(self.errors)
            result = self._try(partial(operation, value))
            if result is not None:
                results.append(result)
            attempts += not any(isinstance(error, UNREADABLE) for error in self.errors[error_count:])
        return results

    def _try(self, operation: Callable[[], Result | None]) -> Result | None:
        try:
            return operation()
        except (RunError, ValueError) as error:
            self.errors.append(error)
            return None

    def raise_if_any(self, completed: int) -> None:
        """Raise an UnfinishedError that contains all recorded errors. Does nothing if no error was recorded.

        `completed` is the number of tasks that were completed.
        """
        if self.errors:
            raise UnfinishedError.from_errors(self.errors, completed)


@dataclass(frozen=True)
class Base:
    """Base class of all operations. It provides the database connection and the clock."""

    connection: Connection
    clock: Clock
    _never: threading.Event = field(default_factory=threading.Event)

    @property
    def now_ms(self) -> int:
        """The current time in whole milliseconds."""
        return from_seconds(self.clock.now())

    def count(self, limit: Limit, caller: str) -> Allowance:
        """Count one request of a caller against a rate limit, and return the caller's remaining allowance.

        Raises RateLimitedError if the caller has reached the limit for the current time window.
        """
        now_ms = self.now_ms
        window = limits.window(limit, caller, now_ms)
        call = design_responses.count_request(window.key, limit.allowed, window.ttl_s)
        try:
            counter = self.connection.run(call)
        except ConditionFailedError as error:
            raise limits.refusal(window, now_ms) from error
        except OutcomeUnknownError:
            # The outcome is unknown. Counting the request again makes the limit stricter by at most one.
            return self._count_again(window, now_ms)
        return limits.allowance(window, counter.requests)

    def _count_again(self, window: limits.Window, now_ms: int) -> Allowance:
        call = design_responses.count_request(window.key, window.limit.allowed, window.ttl_s)
        try:
            self.write(call)
        except ConditionFailedError as error:
            raise limits.refusal(window, now_ms) from error
        counter = self.connection.run(design_responses.counter_of(window.key))
        return limits.allowance(window, counter.requests if counter is not None else 1)

    def write(self, call: Call[Any]) -> None:
        """Run a single write or a transaction. If the response is lost, the request is repeated with the same
        idempotency token, so that it is executed only once.

        If a transaction fails, the error of the first failed write is raised.
        """
        try:
            if isinstance(call, WriteCall):
                self.connection.transact(call)
            else:
                self.connection.run(call)
        except TransactionFailedError as error:
            raise error.reason from error

    def question(self, question_id: str, now_ms: int) -> Question:
        """Return a question. Raises QuestionNotFoundError if it does not exist or its retention time has passed."""
        item = self.connection.run(design_questions.question_by_id(question_id)) if is_uuid(question_id) else None
        question = None if item is None else records.question(item)
        if question is None or questions.is_removable(question, now_ms):
            raise unknown_question(question_id)
        return question

    def back_off(self, attempt: int) -> None:
        """Wait for a random time, so that concurrent writers can finish. The maximum wait increases with the number of
        attempts.
        """
        self.clock.wait(self._never, self.clock.random.uniform(0, 0.004 * 2 ** min(attempt, 5)))


def convert_readable(convert: Callable[[Input], Result], items: Iterable[Input]) -> list[Result]:
    """Convert stored items to domain values with `convert`. Items that raise ValueError are logged and omitted."""
    values = []
    for item in items:
        try:
            values.append(convert(item))
        except ValueError as error:
            log_unreadable(error)
    return values


def log_unreadable(error: Exception) -> None:
    """Log an unreadable item that is omitted from a list."""
    _log.error("cannot read an item; omitting it from the list", exc_info=error)


def unknown_question(question_id: str) -> QuestionNotFoundError:
    """Return the error for a question that does not exist or that the caller may not view."""
    return QuestionNotFoundError("no such question", {"question_id": question_id})


def is_uuid(text: str) -> bool:
    """Return True if the text has the format of a question ID. Callers do not look up other texts in the database."""
    parts = text.split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and all(char in "0123456789abcdef-" for char in text)
