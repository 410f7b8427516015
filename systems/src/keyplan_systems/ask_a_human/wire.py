"""Answers of the HTTP interface as models, shared by the routes that write them and the client that reads them."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.domain.requests import QuestionType


class _Answer(BaseModel):
    # A client must accept fields that a newer server adds.
    model_config = ConfigDict(extra="ignore", frozen=True)


class CreatedQuestion(_Answer):
    """201 of `POST /agent/questions`; a repeated key gives the same question."""

    question_id: str
    status: Status
    poll_url: str
    created_at: datetime
    expires_at: datetime


class AgentCredentials(_Answer):
    """201 of `POST /agent/register` and 200 of `POST /agent/secret`: the secret is shown only once."""

    agent_id: str
    secret: str


class HumanAnswer(_Answer):
    """Answer as agents see it: without IDs or fingerprints."""

    answer: str | None = None
    selected_option: int | None = None
    confidence: int | None = None


class AgentQuestion(_Answer):
    """200 of `GET /agent/questions/{id}`; options and summary for multiple choice, `closed_at` once closed."""

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
        """True if no further answer can arrive."""
        return not self.status.answerable


class ErrorBody(_Answer):
    """Content of `error` in every refusal."""

    code: str
    message: str
    details: dict[str, object] | None = None


class ErrorAnswer(_Answer):
    """Format of every refusal."""

    error: ErrorBody
