"""The operations that users perform on questions: listing open questions, reading a question, and answering it in one
transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from keyplan import Page
from keyplan.client.errors import ConditionFailedError, TransactionFailedError
from keyplan.design.declaring.patterns import Call
from keyplan_systems.ask_a_human import design_people, design_push, design_questions, design_responses, records
from keyplan_systems.ask_a_human.address_limits import AddressLimits
from keyplan_systems.ask_a_human.base import (
    ATTEMPTS,
    STALE,
    TRANSIENT,
    Base,
    BusyError,
    convert_readable,
    log_unreadable,
)
from keyplan_systems.ask_a_human.design_questions import AnswerEffect
from keyplan_systems.ask_a_human.devices import Identity
from keyplan_systems.ask_a_human.domain import abuse, boards, limits, questions, requests, scoring
from keyplan_systems.ask_a_human.domain.abuse import AnswerHistory, Assessment
from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.domain.limits import Allowance
from keyplan_systems.ask_a_human.domain.questions import Question, Response
from keyplan_systems.ask_a_human.domain.refusals import (
    AddressQuotaError,
    AlreadyAnsweredError,
    InvalidRequestError,
)
from keyplan_systems.ask_a_human.domain.requests import AnswerRequest, Audience
from keyplan_systems.ask_a_human.domain.scoring import Reply, ScoredAnswer
from keyplan_systems.ask_a_human.domain.timestamps import SECOND_MS, iso, parse_iso
from keyplan_systems.ask_a_human.entities import Question as StoredQuestion
from keyplan_systems.ask_a_human.entities import Response as StoredResponse
from keyplan_systems.ask_a_human.entities import UserStats

RECENT_ANSWERS = 100
"""Maximum number of the user's most recent answers that are read to mark the answered questions in a list."""


@dataclass(frozen=True)
class AnswerResult:
    """A stored answer and the reply to the user. `allowance` is the number of requests that the user may still send, or
    None for a repeated answer, which does not count against the rate limit.
    """

    response: Response
    reply: Reply
    allowance: Allowance | None

    @property
    def is_repeat(self) -> bool:
        """Whether an earlier request already stored this answer."""
        return self.allowance is None


class Answers:
    """The operations that users perform on questions. Instances are thread-safe."""

    def __init__(self, base: Base, limits: AddressLimits) -> None:
        self._base, self._connection, self._limits = base, base.connection, limits

    def feed(self, audience: Audience | None, limit: int, cursor: str | None) -> Page[Question]:
        """Return a page of answerable questions, newest first.

        If `audience` is given, only questions for this audience are returned. Raises CursorError if the cursor comes
        from a different list.
        """
        now_s = self._base.now_ms // SECOND_MS
        call = (
            design_questions.open_questions(now_s)
            if audience is None
            else design_questions.open_questions_for(now_s, audience.value)
        )
        return self._page(call, limit, cursor)

    def neediest(self, audience: Audience | None, limit: int, cursor: str | None) -> Page[Question]:
        """Return a page of answerable questions, sorted by the percentage of required answers received, lowest first.

        If `audience` is given, only questions for this audience are returned. Raises CursorError if the cursor comes
        from a different list.
        """
        now_s = self._base.now_ms // SECOND_MS
        call = (
            design_questions.needy_questions(now_s)
            if audience is None
            else design_questions.needy_questions_for(now_s, audience.value)
        )
        return self._page(call, limit, cursor)

    def _page(self, call: Call[Page[StoredQuestion]], limit: int, cursor: str | None) -> Page[Question]:
        page = self._connection.run(call, limit=limit, cursor=cursor, unreadable=log_unreadable)
        return Page(tuple(convert_readable(records.question, page)), page.cursor)

    def answered_question_ids(self, caller: Identity) -> frozenset[str]:
        """Return the IDs of the questions that the caller answered most recently.

        The IDs are read from an index that is eventually consistent, so a question that was just answered can be
        missing.
        """
        call = design_responses.recent_answers(caller.person)
        page = self._connection.run(call, limit=RECENT_ANSWERS, unreadable=log_unreadable)
        return frozenset(question.question_id for question in page)

    def find_answer(self, question_id: str, caller: Identity) -> tuple[Response, Reply | None] | None:
        """Return the caller's answer to a question and the reply to that answer, or None if the caller has not
        answered.

        The reply (points and badges) is None unless the request comes from the device that sent the answer.
        """
        item = self._response(question_id, caller)
        if item is None:
            return None
        is_own = caller.device is not None and item.device == caller.device
        return records.response(item), records.reply(item) if is_own else None

    def view(self, question_id: str, caller: Identity) -> tuple[Question, bool]:
        """Return a question and a Boolean. The Boolean is True if the question is open and the caller has not answered
        it.

        Raises QuestionNotFoundError if the question does not exist or was removed.
        """
        now_ms = self._base.now_ms
        question = self._base.question(question_id, now_ms)
        can_answer = questions.status_at(question, now_ms).answerable and self._response(question_id, caller) is None
        return question, can_answer

    def answer(
        self, caller: Identity, zone: ZoneInfo, body: Mapping[str, object], address: str | None = None
    ) -> AnswerResult:
        """Store an answer. The same transaction updates the question, the user's points and badges, and the
        leaderboards.

        If the same device repeats an answer, it gets the original reply. `zone` is the user's time zone, and `body` is
        the JSON body of the request. `address` is the client's network address, or None for a call within this process.
        Raises a subclass of RefusedError for the first rule that the answer violates, and TooManyRequestsError if the
        address exceeds its limit.
        """
        question_id = body.get("question_id")
        if not isinstance(question_id, str):
            raise InvalidRequestError("question_id is required", {"field": "question_id", "constraint": "required"})
        allowance: Allowance | None = None
        for attempt in range(ATTEMPTS):
            now_ms = self._base.now_ms
            question = self._base.question(question_id, now_ms)
            stored_response = self._response(question_id, caller)
            if (
                stored_response is not None
                and (repeated_result := _repeated_result(stored_response, caller, body)) is not None
            ):
                return repeated_result
            questions.require_answerable(question, now_ms)
            if stored_response is not None:
                raise AlreadyAnsweredError("you have already answered this question", {"question_id": question_id})
            allowance = allowance or self._count_request(caller.person, address)
            content = requests.parse(AnswerRequest, body)
            response = questions.create_response(
                question, content, caller.person, now_ms, fingerprint=caller.fingerprint
            )
            scored_answer = self._store_answer(question, response, zone, now_ms, device=caller.device, address=address)
            if scored_answer is not None:
                return AnswerResult(response, scored_answer.reply, allowance)
            self._base.back_off(attempt)
        raise BusyError("too many concurrent answers to this question: try again")

    def _response(self, question_id: str, caller: Identity) -> StoredResponse | None:
        response_id = questions.response_id(question_id, caller.fingerprint)
        return self._connection.run(design_responses.response_of(question_id, response_id))

    def _count_request(self, person: str, address: str | None) -> Allowance:
        self._base.count(limits.RESPONSE_PACE, person)  # first, so that rejection does not use up the hourly limit
        allowance = self._base.count(limits.RESPONSES, person)
        if address is not None:  # checked last, because other users behind the address share the limit
            self._limits.answers.take(address)
        return allowance

    def _store_answer(
        self,
        question: Question,
        response: Response,
        zone: ZoneInfo,
        now_ms: int,
        *,
        device: str | None,
        address: str | None,
    ) -> ScoredAnswer | None:
        """Write an answer in a transaction, and return the user's changed record with the points and badges for the
        answer. Return None if an item on which the points depend has changed since it was read.
        """
        person = response.fingerprint_hash
        stored_stats = self._connection.run(design_people.stats_of_user(person))
        notice = self._connection.run(design_push.notice_of(question.question_id, person))
        notified_at_ms = None if notice is None else parse_iso(notice.notified_at)
        facts = scoring.answer_facts(question, response, zone, notified_at_ms)
        stats = scoring.new_stats(person, now_ms) if stored_stats is None else records.stats(stored_stats)
        scored_answer = scoring.apply_answer(stats, facts, now_ms)
        stored_response = records.response_item(response, device, scored_answer.reply)
        assessment = abuse.assess(
            AnswerHistory() if stored_stats is None else records.answer_history(stored_stats), question.type, response
        )
        max_answers = None if address is None else self._limits.answers_per_question
        quota = None if max_answers is None else (f"answers_by_address#{question.question_id}#{address}", max_answers)
        try:
            self._connection.run(
                _transaction(question, stored_response, scored_answer, assessment, stored_stats, now_ms, quota)
            )
        except TransactionFailedError as error:
            reasons = [reason for reason in error.reasons if reason is not None]
            if quota is not None and len(reasons) == 1 and isinstance(error.reasons[-1], ConditionFailedError):
                message = f"at most {max_answers} answers to a question are accepted from one network address"
                raise AddressQuotaError(message, {"max": max_answers}) from error
            if reasons and all(isinstance(reason, (*STALE, *TRANSIENT)) for reason in reasons):
                return None
            raise
        return scored_answer


def _repeated_result(
    stored_response: StoredResponse, caller: Identity, body: Mapping[str, object]
) -> AnswerResult | None:
    """Return the original reply if the request repeats the answer in `stored_response`, or None otherwise.

    A request is a repetition if it comes from the same device and has the same content.
    """
    reply, response = records.reply(stored_response), records.response(stored_response)
    if reply is None or caller.device is None or stored_response.device != caller.device:
        return None
    try:
        content = requests.parse(AnswerRequest, body)
    except InvalidRequestError:
        return None
    return AnswerResult(response, reply, None) if questions.same_content(response, content) else None


def _transaction(  # noqa: PLR0917 - the parts of one answer
    question: Question,
    response: StoredResponse,
    scored_answer: ScoredAnswer,
    assessment: Assessment,
    stored_stats: UserStats | None,
    now_ms: int,
    quota: tuple[str, int] | None,
) -> Call[None]:
    answered_question = questions.add_answer(question, now_ms)
    stats = records.stats_item(
        scored_answer.stats, assessment.history, 0 if stored_stats is None else stored_stats.version
    )
    return design_people.answer_question(
        response,
        AnswerEffect(
            question_id=question.question_id,
            before=question.current_responses,
            now_s=now_ms // SECOND_MS,
            current_responses=answered_question.current_responses,
            need=questions.need(answered_question),
            status=answered_question.status,
            closed_at=None if answered_question.closed_at_ms is None else iso(answered_question.closed_at_ms),
            ttl=questions.ttl_s(answered_question),
        ),
        new_stats=[stats] if stored_stats is None else [],
        changed_stats=[] if stored_stats is None else [stats],
        rows=[records.row_item(boards.row(scored_answer.stats, period, now_ms), period, now_ms) for period in Period],
        flags=[records.flag_item(flag) for flag in abuse.flags(records.response(response), assessment.reasons, now_ms)],
        closed_question_agents=[] if answered_question.status.answerable else [question.agent_id],
        closed_questions=[] if answered_question.status.answerable else [question.question_id],
        windows=[] if quota is None else [quota[0]],
        allowed=0 if quota is None else quota[1],
        windows_end=questions.ttl_s(answered_question),
    )
