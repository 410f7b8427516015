"""Response models of the routes for users, and of the list of an agent's questions. `wire` contains the other response
models for agents.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from keyplan_systems.ask_a_human.domain.boards import Period
from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.domain.requests import Audience, QuestionType

QUESTION_ID = "6f1b3c1e-7d7e-4a53-9f0e-3f1d4b1c2a55"
ASK_EXAMPLE: dict[str, Any] = {
    "prompt": "Which label is clearer for the last step?",
    "type": "multiple_choice",
    "options": ["Send", "Submit"],
    "audience": ["product"],
    "min_responses": 3,
    "timeout_seconds": 900,
    "idempotency_key": "release-14/label",
}
REGISTER_EXAMPLE: dict[str, Any] = {"agent_id": "release-bot"}
ANSWER_EXAMPLE: dict[str, Any] = {
    "question_id": QUESTION_ID,
    "selected_option": 0,
    "confidence": 4,
    "response_time_ms": 8400,
}
SUBSCRIBE_EXAMPLE: dict[str, Any] = {"fcm_token": "dGhpcyBpcyBhIHRva2Vu", "min_interval_minutes": 60}


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True)


class ListedQuestion(_Shape):
    """A question as shown in the list of its agent's questions, without the answers."""

    question_id: str
    status: Status
    prompt: str
    type: QuestionType
    required_responses: int
    current_responses: int
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None


class ListedQuestions(_Shape):
    """200 response to `GET /agent/questions`. `cursor` selects the next page."""

    questions: list[ListedQuestion]
    cursor: str | None = None


class DeviceCredentials(_Shape):
    """201 response to `POST /human/devices`. The token is shown only once."""

    token: str


class HumanQuestion(_Shape):
    """A question as shown to users. It does not identify the agent."""

    question_id: str
    prompt: str
    type: QuestionType
    options: list[str] | None = None
    audience: list[Audience]
    responses_needed: int
    created_at: datetime
    expires_at: datetime


class Feed(_Shape):
    """200 response to `GET /human/questions`: answerable questions, newest first. `cursor` selects the next page."""

    questions: list[HumanQuestion]
    cursor: str | None = None


class ViewedQuestion(HumanQuestion):
    """200 response to `GET /human/questions/{id}`. `can_answer` is false if the user has already answered the question
    or the question has ended.
    """

    status: Status
    can_answer: bool


class BadgeView(_Shape):
    """A badge and the time at which it was earned."""

    id: str
    name: str
    earned_at: datetime


class AcceptedAnswer(_Shape):
    """201 response to `POST /human/responses`. `created_at` is the time at which the answer was stored. A retry gets
    the same response.
    """

    response_id: str
    created_at: datetime
    points_earned: int
    new_badges: list[BadgeView]
    total_points: int


class StatsView(_Shape):
    """200 response to `GET /human/stats`. The rank is null before the user's first answer."""

    total_points: int
    total_answers: int
    points_today: int
    streak_days: int
    badges: list[BadgeView]
    answers_by_category: dict[str, int]
    rank: int | None = None


class EntryView(_Shape):
    """A row of a leaderboard. It does not identify the user."""

    rank: int
    points: int
    answers: int
    is_current_user: bool


class PositionView(_Shape):
    """The caller's position on a leaderboard. The rank is null if the caller has not answered in the period."""

    rank: int | None = None
    points: int


class LeaderboardView(_Shape):
    """200 response to `GET /human/leaderboard`. If the request contains a fingerprint, `you` is the
    caller's position.
    """

    period: Period
    entries: list[EntryView]
    you: PositionView | None = None


class SubscriptionView(_Shape):
    """201 response to `POST /human/push/subscribe` and 200 response to `PUT /human/push/subscribe/{id}`.

    The device that created the subscription sends `subscription_id` to change or end the subscription.
    """

    subscription_id: str
    min_interval_minutes: int
    active: bool
