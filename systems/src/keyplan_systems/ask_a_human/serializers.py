"""Converts the results of operations to response models of the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keyplan_systems.ask_a_human.answers import AnswerResult
from keyplan_systems.ask_a_human.domain import badges, boards, questions, scoring
from keyplan_systems.ask_a_human.domain.boards import Entry
from keyplan_systems.ask_a_human.domain.notifications import Subscription
from keyplan_systems.ask_a_human.domain.questions import Question, Response, Status
from keyplan_systems.ask_a_human.domain.requests import QuestionType
from keyplan_systems.ask_a_human.domain.timestamps import as_datetime
from keyplan_systems.ask_a_human.leaderboards import Position, UserRecord
from keyplan_systems.ask_a_human.shapes import (
    AcceptedAnswer,
    BadgeView,
    EntryView,
    HumanQuestion,
    LeaderboardView,
    ListedQuestion,
    PositionView,
    StatsView,
    SubscriptionView,
    ViewedQuestion,
)
from keyplan_systems.ask_a_human.wire import AgentQuestion, CreatedQuestion, HumanAnswer


def created_question(question: Question, poll_url: str, now_ms: int) -> CreatedQuestion:
    """Return the API response for a new question. `poll_url` is the URL for reading the answers."""
    return CreatedQuestion(
        question_id=question.question_id,
        status=questions.status_at(question, now_ms),
        poll_url=poll_url,
        created_at=as_datetime(question.created_at_ms),
        expires_at=as_datetime(question.deadline_ms),
    )


def agent_question(question: Question, responses: Sequence[Response], now_ms: int) -> AgentQuestion:
    """Return the API response that shows a question and its answers to the question's agent. The answers do not
    identify the users.
    """
    is_choice = question.type is QuestionType.MULTIPLE_CHOICE
    closed_at = None if question.closed_at_ms is None else as_datetime(question.closed_at_ms)
    return AgentQuestion(
        question_id=question.question_id,
        status=questions.status_at(question, now_ms),
        prompt=question.prompt,
        type=question.type,
        options=question.options if is_choice else None,
        required_responses=question.required_responses,
        current_responses=question.current_responses,
        created_at=as_datetime(question.created_at_ms),
        expires_at=as_datetime(question.deadline_ms),
        closed_at=closed_at,
        responses=tuple(
            HumanAnswer(
                answer=response.answer, selected_option=response.selected_option, confidence=response.confidence
            )
            for response in responses
        ),
        summary=questions.tally(question, responses) if is_choice else None,
    )


def listed_question(question: Question, now_ms: int) -> ListedQuestion:
    """Return a question as an element of the list that the API returns to the question's agent."""
    return ListedQuestion(
        question_id=question.question_id,
        status=questions.status_at(question, now_ms),
        prompt=question.prompt,
        type=question.type,
        required_responses=question.required_responses,
        current_responses=question.current_responses,
        created_at=as_datetime(question.created_at_ms),
        expires_at=as_datetime(question.deadline_ms),
        closed_at=None if question.closed_at_ms is None else as_datetime(question.closed_at_ms),
    )


def human_question(question: Question) -> HumanQuestion:
    """Return a question as an element of the list that the API returns to users."""
    return HumanQuestion(
        question_id=question.question_id,
        prompt=question.prompt,
        type=question.type,
        options=list(question.options) or None,
        audience=list(question.audience),
        responses_needed=question.responses_needed,
        created_at=as_datetime(question.created_at_ms),
        expires_at=as_datetime(question.deadline_ms),
    )


def viewed_question(question: Question, now_ms: int, *, can_answer: bool) -> ViewedQuestion:
    """Return the API response that shows a question to a user. It also reports whether the user can answer the
    question.
    """
    status: Status = questions.status_at(question, now_ms)
    return ViewedQuestion(**human_question(question).model_dump(), status=status, can_answer=can_answer)


def accepted_answer(result: AnswerResult) -> AcceptedAnswer:
    """Return the API response for an accepted answer."""
    reply, at_ms = result.reply, result.response.created_at_ms
    return AcceptedAnswer(
        response_id=result.response.response_id,
        created_at=as_datetime(at_ms),
        points_earned=reply.points_earned,
        new_badges=_badges(dict.fromkeys(reply.new_badges, at_ms)),
        total_points=reply.total_points,
    )


def stats_view(record: UserRecord, now_ms: int) -> StatsView:
    """Return the API response for a user's statistics. The statistics of a user without answers are zero."""
    stats = record.stats or scoring.new_stats("", now_ms)
    return StatsView(
        total_points=stats.total_points,
        total_answers=stats.total_answers,
        points_today=scoring.day_totals(stats, now_ms).points,
        streak_days=record.streak_days,
        badges=_badges(stats.badges),
        answers_by_category={tag.value: count for tag, count in stats.answers_by_category.items()},
        rank=record.rank,
    )


def leaderboard_view(period: boards.Period, entries: Sequence[Entry], position: Position | None) -> LeaderboardView:
    """Return the API response for a leaderboard, with the caller's own position."""
    rows = [
        EntryView(rank=entry.rank, points=entry.points, answers=entry.answers, is_current_user=entry.is_current_user)
        for entry in entries
    ]
    caller_position = None if position is None else PositionView(rank=position.rank, points=position.points)
    return LeaderboardView(period=period, entries=rows, you=caller_position)


def subscription_view(subscription: Subscription) -> SubscriptionView:
    """Return the API response for a push subscription. It does not contain the push token."""
    return SubscriptionView(
        subscription_id=subscription.subscription_id,
        min_interval_minutes=subscription.min_interval_minutes,
        active=subscription.active,
    )


def _badges(earned_at_ms: Mapping[str, int]) -> list[BadgeView]:
    """Return badges for the API, in the order in which they were earned. `earned_at_ms` maps each badge ID to a time in
    epoch milliseconds.
    """
    return [
        BadgeView(id=badge, name=badges.NAMES[badge], earned_at=as_datetime(at_ms))
        for badge, at_ms in sorted(earned_at_ms.items(), key=lambda entry: (entry[1], entry[0]))
    ]
