"""The operations that agents perform: asking a question, reading a question with its answers, and listing the agent's
questions.
"""

from __future__ import annotations

from dataclasses import dataclass

from keyplan import Page
from keyplan.client.errors import AlreadyExistsError, ConditionFailedError, TransactionFailedError
from keyplan_systems.ask_a_human import design_questions, design_responses, records
from keyplan_systems.ask_a_human.base import (
    ATTEMPTS,
    TRANSIENT,
    Base,
    BusyError,
    convert_readable,
    log_unreadable,
    unknown_question,
)
from keyplan_systems.ask_a_human.domain import limits, notifications, questions
from keyplan_systems.ask_a_human.domain.limits import Allowance
from keyplan_systems.ask_a_human.domain.questions import KeyRecord, Question, Response
from keyplan_systems.ask_a_human.domain.requests import QuestionRequest
from keyplan_systems.ask_a_human.domain.timestamps import DAY_S, SECOND_MS, iso, parse_iso
from keyplan_systems.ask_a_human.entities import KeyRecord as StoredKey
from keyplan_systems.ask_a_human.entities import WorkerTask

EXPIRE, PUSH = "EXPIRE", "PUSH"
SWEPT_WITHIN_S = 30 * DAY_S
"""Maximum time in seconds for which the sweep of expired questions can be interrupted without permanent effects.

After a longer interruption, some expired questions count toward their agents' quotas permanently.
"""


@dataclass(frozen=True)
class AskResult:
    """A new question, or the existing question if the request repeats an idempotency key. `allowance` is the number of
    requests that the agent may still send, or None for a repeated request, which does not count against the rate limit.
    """

    question: Question
    allowance: Allowance | None

    @property
    def is_repeat(self) -> bool:
        """Whether the question already existed because an earlier request used the same idempotency key."""
        return self.allowance is None


class Questions:
    """The operations that agents perform. Instances are thread-safe."""

    def __init__(self, base: Base) -> None:
        self._base, self._connection = base, base.connection

    def ask(self, agent: str, request: QuestionRequest, key: str | None) -> AskResult:
        """Create a question, or return the existing question if the idempotency key was already used.

        Raises a subclass of RefusedError if the request is rejected.
        """
        allowance = None
        for attempt in range(ATTEMPTS):
            now_ms = self._base.now_ms
            if key is not None and (existing := self._existing_question(agent, request, key, now_ms)) is not None:
                return AskResult(existing, None)
            allowance = allowance or self._base.count(limits.QUESTIONS, agent)
            question = questions.create(request, agent, questions.new_question_id(self._base.clock.random), key, now_ms)
            if self._write(question, request.digest()):
                return AskResult(question, allowance)
            self._base.back_off(attempt)
        raise BusyError("too many concurrent requests with the same idempotency key: try again")

    def read(self, agent: str, question_id: str) -> tuple[Question, list[Response]]:
        """Return one of the agent's questions with its answers, oldest first.

        Raises QuestionNotFoundError if the question does not exist or belongs to another agent. The question and its
        answers are read separately. An answer that is stored between the two reads is omitted, so that the number of
        answers matches the count in the question.
        """
        question = self._base.question(question_id, self._base.now_ms)
        if question.agent_id != agent:
            raise unknown_question(question_id)
        items = self._connection.iterate(design_responses.responses_of_question(question_id), unreadable=log_unreadable)
        responses = convert_readable(records.response, items)
        responses = sorted(responses, key=lambda response: (response.created_at_ms, response.response_id))
        return question, responses[: question.current_responses]

    def list_for_agent(self, agent: str, limit: int, cursor: str | None) -> Page[Question]:
        """Return a page of the agent's questions, newest first.

        The list is eventually consistent, so a question that was just created may be missing. Raises CursorError if the
        cursor comes from a different list.
        """
        call = design_questions.agents_questions(agent)
        page = self._connection.run(call, limit=limit, cursor=cursor, unreadable=log_unreadable)
        return Page(tuple(convert_readable(records.question, page)), page.cursor)

    def _existing_question(self, agent: str, request: QuestionRequest, key: str, now_ms: int) -> Question | None:
        item = self._connection.run(design_questions.key_record(agent, key))
        record = None if item is None else KeyRecord(item.made, item.digest, parse_iso(item.created))
        question_id = questions.repeated_question_id(record, request.digest(), now_ms)
        return None if question_id is None else self._base.question(question_id, now_ms)

    def _write(self, question: Question, digest: str) -> bool:
        """Write a question together with its worker tasks and, if it has an idempotency key, the record of the key. The
        record contains `digest`, the hash of the request body.

        Return True if the question was written, or False if the key is in use or the write conflicts with another
        write.
        """
        expired_before = iso(question.created_at_ms - questions.KEY_VALID_S * SECOND_MS)
        call = design_questions.ask(
            records.question_item(question),
            agent=question.agent_id,
            max_open=limits.OPEN_QUESTIONS_MAX,
            tasks=_worker_tasks(question),
            records=_key(question, digest),
            expired_before=expired_before,
        )
        try:
            self._connection.run(call)
        except TransactionFailedError as error:
            # Check the key first. If an identical request was faster, it may have used the last question of the quota,
            # and this request repeats it.
            if isinstance(error.reasons[-1], AlreadyExistsError | ConditionFailedError):
                return False
            if any(isinstance(reason, TRANSIENT) for reason in error.reasons):
                return False
            if isinstance(error.reasons[1], ConditionFailedError):
                raise limits.quota_refusal() from error
            raise
        return True


def _worker_tasks(question: Question) -> list[WorkerTask]:
    first_ms = notifications.next_round(question, 0, None, question.created_at_ms)
    assert first_ms is not None, "a new question is open for at least a minute"
    ttl_s = questions.ttl_s(question)
    question_id, agent = question.question_id, question.agent_id
    return [
        WorkerTask(
            kind=EXPIRE,
            question=question_id,
            agent=agent,
            due_at=iso(question.deadline_ms),
            ttl=ttl_s + SWEPT_WITHIN_S,
        ),
        WorkerTask(kind=PUSH, question=question_id, agent=agent, due_at=iso(first_ms), ttl=ttl_s),
    ]


def _key(question: Question, digest: str) -> list[StoredKey]:
    if question.idempotency_key is None:
        return []
    return [
        StoredKey(
            agent=question.agent_id,
            idempotency_key=question.idempotency_key,
            made=question.question_id,
            digest=digest,
            created=iso(question.created_at_ms),
            ttl=questions.key_ttl_s(question.created_at_ms),
        )
    ]
