"""What all uses share: connection and clock, requests counted against limits, failures that mean something stale."""

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
from keyplan_systems.ask_a_human.domain.moments import from_seconds
from keyplan_systems.ask_a_human.domain.questions import Question
from keyplan_systems.ask_a_human.domain.refusals import QuestionNotFoundError
from keyplan_systems.web.system import UnfinishedError

_log = logging.getLogger(__name__)

Thing = TypeVar("Thing")
Given = TypeVar("Given")
ATTEMPTS = 80
"""How often something is made anew because what it rests on has changed: more often than a question takes answers."""


STALE = (AlreadyExistsError, ConditionFailedError, NotFoundError, VersionConflictError)
"""What a write fails with because something has changed since it was read."""
PASSING = (ThrottledError, WriteConflictError)
"""What a part of a transaction fails with that may be done a moment later, as it is."""
UNREADABLE = (UnreadableItemError, ValueError)
"""What nobody can read, now or later: no item of its entity, or one of values that the rules do not know."""


class BusyError(Exception):
    """Others kept changing the same for longer than a caller can be made to wait."""


@dataclass(frozen=True)
class Failures:
    """What a worker could not do just now: it goes on with the rest, and tells in the end."""

    found: list[Exception] = field(default_factory=list)

    def each(self, do: Callable[[Thing], Given | None], things: Iterable[Thing]) -> list[Given]:
        """What is given for each thing, where something is; a thing that fails keeps none behind it waiting."""
        return list(self.some(do, things))

    def some(self, do: Callable[[Thing], Given | None], things: Iterable[Thing]) -> Iterator[Given]:
        """The same, one after the other."""
        for thing in things:
            given = self._try(partial(do, thing))
            if given is not None:
                yield given

    def first(self, do: Callable[[Thing], Given | None], things: Iterable[Thing], most: int) -> list[Given]:
        """The same for so many things; those that rest on what nobody can read, now or later, take no place."""
        given: list[Given] = []
        tried, waiting = 0, iter(things)
        while tried < most and (thing := self._try(lambda: next(waiting, None))) is not None:
            before = len(self.found)
            one = self._try(partial(do, thing))
            if one is not None:
                given.append(one)
            tried += not any(isinstance(error, UNREADABLE) for error in self.found[before:])
        return given

    def _try(self, do: Callable[[], Given | None]) -> Given | None:
        try:
            return do()
        except (RunError, ValueError) as error:
            self.found.append(error)
            return None

    def tell(self, done: int) -> None:
        """Raise an UnfinishedError of what failed, if anything did, beside so much that was done."""
        if self.found:
            raise UnfinishedError.of(self.found, done)


@dataclass(frozen=True)
class Base:
    """Where everything happens, and by which time."""

    connection: Connection
    clock: Clock
    _never: threading.Event = field(default_factory=threading.Event)

    @property
    def now_ms(self) -> int:
        """The moment, in whole milliseconds."""
        return from_seconds(self.clock.now())

    def count(self, limit: Limit, caller: str) -> Allowance:
        """Count one request of a caller. Raises RateLimitedError if its window is used up."""
        now_ms = self.now_ms
        window = limits.window(limit, caller, now_ms)
        call = design_responses.count_request(window.key, limit.allowed, window.ttl_s)
        try:
            counter = self.connection.run(call)
        except ConditionFailedError as failed:
            raise limits.refusal(window, now_ms) from failed
        except OutcomeUnknownError:
            # Counted or not, nobody knows. Counting again can only make the limit stricter by one.
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
        """Run a write as a transaction, which is repeated safely after lost answers. Raises its first failure."""
        try:
            if isinstance(call, WriteCall):
                self.connection.transact(call)
            else:
                self.connection.run(call)
        except TransactionFailedError as failed:
            raise failed.reason from failed

    def question(self, question_id: str, now_ms: int) -> Question:
        """A question that is still kept. Raises QuestionNotFoundError."""
        stored = self.connection.run(design_questions.question_by_id(question_id)) if is_uuid(question_id) else None
        found = None if stored is None else records.question(stored)
        if found is None or questions.removable(found, now_ms):
            raise unknown_question(question_id)
        return found

    def rest(self, attempt: int) -> None:
        """Let those who write the same go first, for a random while that grows."""
        self.clock.wait(self._never, self.clock.random.uniform(0, 0.004 * 2 ** min(attempt, 5)))


def readable(read: Callable[[Thing], Given], stored: Iterable[Thing]) -> list[Given]:
    """What is stored, as the rules know it; one whose values they do not know is left out and logged."""
    found = []
    for one in stored:
        try:
            found.append(read(one))
        except ValueError as error:
            log_unreadable(error)
    return found


def log_unreadable(error: Exception) -> None:
    """Tell the log of an item that a list is shown without, because nobody can read it."""
    _log.error("an item cannot be read and is left out", exc_info=error)


def unknown_question(question_id: str) -> QuestionNotFoundError:
    """Return the refusal of a question id that names no question, or none that the caller may see."""
    return QuestionNotFoundError("there is no such question", {"question_id": question_id})


def is_uuid(text: str) -> bool:
    """Whether a caller's text can be an id at all; other texts are not handed to the store."""
    parts = text.split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and all(char in "0123456789abcdef-" for char in text)
