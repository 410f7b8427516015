"""Response models of the HTTP API that the routes and the agent client share."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.domain.requests import QuestionType


class _ResponseModel(BaseModel):
    # A client must accept fields that a newer server adds.
    model_config = ConfigDict(extra="ignore", frozen=True)


class CreatedQuestion(_ResponseModel):
    """201 response to `POST /agent/questions`. If a request repeats an idempotency key, the response contains the
    existing question.
    """

    question_id: str
    status: Status
    poll_url: str
    created_at: datetime
    expires_at: datetime


class AgentCredentials(_ResponseModel):
    """201 response to `POST /agent/register` and 200 response to `POST /agent/secret`. The secret is shown
    only once.
    """

    agent_id: str
    secret: str


class HumanAnswer(_ResponseModel):
    """An answer as returned to agents. It does not identify the user."""

    answer: str | None = None
    selected_option: int | None = None
    confidence: int | None = None


class AgentQuestion(_ResponseModel):
    """200 response to `GET /agent/questions/{id}`.

    `options` and `summary` are set only for multiple choice questions. `closed_at` is set when the question is closed.
    """

    question_id: str
    status: Status
    prompt: str
    type: QuestionType
    options: tuple[str, ...] | None = None
    required_responses: int
    current_responses: int
    created_at: datetime
    expires_at: datetime
    closed_at: datetime | None = None
    responses: tuple[HumanAnswer, ...]
    summary: dict[str, int] | None = None

    @property
    def finished(self) -> bool:
        """Whether the question is closed or expired. If True, no more answers can arrive."""
        return not self.status.answerable


class ErrorBody(_ResponseModel):
    """The object `error` in an error response."""

    code: str
    message: str
    details: dict[str, object] | None = None


class ErrorResponse(_ResponseModel):
    """The format of every error response."""

    error: ErrorBody
