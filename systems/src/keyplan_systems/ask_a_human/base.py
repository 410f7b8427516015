"""Common parts of all operations: connection, clock, request limits, and failures caused by stale reads."""

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
"""Maximum number of attempts if items change concurrently, which exceeds the number of answers to a question."""


STALE = (AlreadyExistsError, ConditionFailedError, NotFoundError, VersionConflictError)
"""Failures of a write whose items have changed since they were read."""
PASSING = (ThrottledError, WriteConflictError)
"""Failures of a transaction's part that may succeed if the transaction is repeated unchanged."""
UNREADABLE = (UnreadableItemError, ValueError)
"""Errors for unreadable items: the item does not match its entity, or the rules do not know its values."""


class BusyError(Exception):
    """Raised if the same items change concurrently too often."""


@dataclass(frozen=True)
class Failures:
    """The failures of a worker, which continues with the other units and reports failures at the end."""

    found: list[Exception] = field(default_factory=list)

    def each(self, do: Callable[[Input], Result | None], inputs: Iterable[Input]) -> list[Result]:
        """Return the results for all inputs, without None. A failure does not block later inputs."""
        return list(self.some(do, inputs))

    def some(self, do: Callable[[Input], Result | None], inputs: Iterable[Input]) -> Iterator[Result]:
        """Yield the same results as `each`, sequentially."""
        for value in inputs:
            result = self._try(partial(do, value))
            if result is not None:
                yield result

    def first(self, do: Callable[[Input], Result | None], inputs: Iterable[Input], most: int) -> list[Result]:
        """Return the results of at most `most` inputs. Inputs with unreadable items do not count."""
        results: list[Result] = []
        tried, waiting = 0, iter(inputs)
        while tried < most and (value := self._try(lambda: next(waiting, None))) is not None:
            before = len(self.found)
            result = self._try(partial(do, value))
            if result is not None:
                results.append(result)
            tried += not any(isinstance(error, UNREADABLE) for error in self.found[before:])
        return results

    def _try(self, do: Callable[[], Result | None]) -> Result | None:
        try:
            return do()
        except (RunError, ValueError) as error:
            self.found.append(error)
            return None

    def tell(self, done: int) -> None:
        """Raise an UnfinishedError with the failures and the number of completed units, if there were failures."""
        if self.found:
            raise UnfinishedError.of(self.found, done)


@dataclass(frozen=True)
class Base:
    """The connection and clock of the operations."""

    connection: Connection
    clock: Clock
    _never: threading.Event = field(default_factory=threading.Event)

    @property
    def now_ms(self) -> int:
        """The current time in whole milliseconds."""
        return from_seconds(self.clock.now())

    def count(self, limit: Limit, caller: str) -> Allowance:
        """Count one request of a caller. Raises RateLimitedError if the limit of the window is reached."""
        now_ms = self.now_ms
        window = limits.window(limit, caller, now_ms)
        call = design_responses.count_request(window.key, limit.allowed, window.ttl_s)
        try:
            counter = self.connection.run(call)
        except ConditionFailedError as failed:
            raise limits.refusal(window, now_ms) from failed
        except OutcomeUnknownError:
            # The outcome is unknown. Counting the request again makes the limit stricter by at most one.
            return self._again(window, now_ms)
        return limits.allowance(window, counter.requests)

    def _again(self, window: limits.Window, now_ms: int) -> Allowance:
        call = design_responses.count_request(window.key, window.limit.allowed, window.ttl_s)
        try:
            self.decide(call)
        except ConditionFailedError as failed:
            raise limits.refusal(window, now_ms) from failed
        counter = self.connection.run(design_responses.counter_of(window.key))
        return limits.allowance(window, counter.requests if counter is not None else 1)

    def decide(self, call: Call[Any]) -> None:
        """Run a write as a transaction, which can be repeated if a response is lost. Raises its first failure."""
        try:
            if isinstance(call, WriteCall):
                self.connection.transact(call)
            else:
                self.connection.run(call)
        except TransactionFailedError as failed:
            raise failed.reason from failed

    def question(self, question_id: str, now_ms: int) -> Question:
        """Return a stored question that has not expired. Raises QuestionNotFoundError."""
        stored = self.connection.run(design_questions.question_by_id(question_id)) if is_uuid(question_id) else None
        question = None if stored is None else records.question(stored)
        if question is None or questions.removable(question, now_ms):
            raise unknown_question(question_id)
        return question

    def back_off(self, attempt: int) -> None:
        """Wait for a random time that grows with each attempt, so that concurrent writers finish first."""
        self.clock.wait(self._never, self.clock.random.uniform(0, 0.004 * 2 ** min(attempt, 5)))


def readable(read: Callable[[Input], Result], stored: Iterable[Input]) -> list[Result]:
    """Convert stored items to domain values. Items with unknown values are omitted and logged."""
    values = []
    for item in stored:
        try:
            values.append(read(item))
        except ValueError as error:
            log_unreadable(error)
    return values


def log_unreadable(error: Exception) -> None:
    """Log an unreadable item that is omitted from a list."""
    _log.error("an item cannot be read and is left out", exc_info=error)


def unknown_question(question_id: str) -> QuestionNotFoundError:
    """Return the error for a question ID that does not exist or that the caller may not view."""
    return QuestionNotFoundError("no such question", {"question_id": question_id})


def is_uuid(text: str) -> bool:
    """Return True if a caller's text is a valid ID. Other texts are not passed to the database."""
    parts = text.split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and all(char in "0123456789abcdef-" for char in text)
