"""Models of request bodies, with their validation rules.

The length of a text is the number of Unicode characters in the text as sent. A text that consists only of white space
is rejected.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from keyplan_systems.ask_a_human.domain.refusals import InvalidRequestError

KEY_MAX_CHARS = 200
Body = TypeVar("Body", bound=BaseModel)
Item = TypeVar("Item")

_IDENTIFIER = re.compile(r"[\x21-\x7e]{1,128}")


class QuestionType(StrEnum):
    """The type of a question: an answer is either a text or one of the question's options."""

    TEXT = "text"
    MULTIPLE_CHOICE = "multiple_choice"


class Audience(StrEnum):
    """A target audience of questions. The first audience tag of a question is its category."""

    TECHNICAL = "technical"
    PRODUCT = "product"
    ETHICS = "ethics"
    CREATIVE = "creative"
    GENERAL = "general"


def _check_visible(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _check_distinct(items: list[Item]) -> list[Item]:
    if len(set(items)) != len(items):
        raise ValueError("must not repeat an entry")
    return items


Prompt = Annotated[str, Field(min_length=10, max_length=2000), AfterValidator(_check_visible)]
Option = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_check_visible)]
AnswerText = Annotated[str, Field(min_length=1, max_length=5000), AfterValidator(_check_visible)]
Key = Annotated[str, Field(min_length=1, max_length=KEY_MAX_CHARS), AfterValidator(_check_visible)]


class QuestionRequest(BaseModel):
    """The body of `POST /agent/questions`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Prompt
    type: QuestionType
    options: Annotated[list[Option], Field(min_length=2, max_length=10), AfterValidator(_check_distinct)] | None = None
    audience: Annotated[list[Audience], Field(min_length=1), AfterValidator(_check_distinct)] = [Audience.GENERAL]
    min_responses: Annotated[int, Field(strict=True, ge=1, le=50)] = 5
    timeout_seconds: Annotated[int, Field(strict=True, ge=60, le=86_400)] = 3600
    idempotency_key: Key | None = None

    @model_validator(mode="after")
    def _options_fit_type(self) -> Self:
        if self.type is QuestionType.MULTIPLE_CHOICE and self.options is None:
            raise ValueError("options are required for multiple_choice")
        if self.type is QuestionType.TEXT and self.options is not None:
            raise ValueError("options are only for multiple_choice")
        return self

    def digest(self) -> str:
        """Return the SHA-256 hash of the body without its idempotency key. A request that repeats a key with a
        different hash is rejected.
        """
        body = self.model_dump_json(exclude={"idempotency_key"})
        return hashlib.sha256(body.encode()).hexdigest()


class AgentRegistration(BaseModel):
    """The body of `POST /agent/register`. If `agent_id` is omitted, the server generates a UUID."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent_id: Annotated[str, Field(pattern=r"^[!-~]{1,128}$", max_length=128)] | None = None


class AnswerRequest(BaseModel):
    """The body of `POST /human/responses`. `response_time_ms` is the time in milliseconds between opening the question
    and sending the answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    question_id: str
    answer: AnswerText | None = None
    selected_option: Annotated[int, Field(strict=True, ge=0)] | None = None
    confidence: Annotated[int, Field(strict=True, ge=1, le=5)] | None = None
    response_time_ms: Annotated[int, Field(strict=True, ge=0, le=86_400_000)] | None = None


class SubscribeRequest(BaseModel):
    """The body of `POST /human/push/subscribe`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fcm_token: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_check_visible)]
    min_interval_minutes: Annotated[int, Field(strict=True, ge=5, le=1440)] = 30


class SubscriptionChange(BaseModel):
    """The body of `PUT /human/push/subscribe/{id}`: a new token, a new interval, or both."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fcm_token: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_check_visible)] | None = None
    min_interval_minutes: Annotated[int, Field(strict=True, ge=5, le=1440)] | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.fcm_token is None and self.min_interval_minutes is None:
            raise ValueError("send fcm_token, min_interval_minutes or both")
        return self


def parse(model: type[Body], body: object) -> Body:
    """Validate a request body and return it as an instance of `model`.

    Raises InvalidRequestError if the body is invalid. The error message describes the first invalid field.
    """
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise refusal(error.errors(include_url=False)) from error


def refusal(errors: Sequence[Mapping[str, Any]]) -> InvalidRequestError:
    """Convert pydantic's validation errors to an InvalidRequestError.

    The message describes the first error, and the details contain all errors.
    """
    details = [_error_detail(error["loc"], error["msg"], error["type"]) for error in errors]
    first = details[0]
    return InvalidRequestError(f"{first['field']}: {first['problem']}", {**first, "problems": details})


def _error_detail(location: tuple[int | str, ...], problem: str, constraint: str) -> dict[str, str]:
    field = ".".join(str(part) for part in location) or "body"
    return {"field": field, "constraint": constraint, "problem": problem.removeprefix("Value error, ")}


def idempotency_key(body_key: str | None, header_key: str | None) -> str | None:
    """Return the idempotency key from the request body or from the header `X-Idempotency-Key`, or None if both are
    missing.

    Raises InvalidRequestError if the two keys differ or the header is invalid.
    """
    if header_key is not None and not (header_key.strip() and len(header_key) <= KEY_MAX_CHARS):
        raise InvalidRequestError(
            f"X-Idempotency-Key must have 1 to {KEY_MAX_CHARS} characters",
            {"field": "X-Idempotency-Key", "constraint": "length", "min": 1, "max": KEY_MAX_CHARS},
        )
    if body_key is not None and header_key is not None and body_key != header_key:
        raise InvalidRequestError(
            "X-Idempotency-Key and idempotency_key differ: send one of them",
            {"field": "idempotency_key", "constraint": "conflict"},
        )
    return body_key if body_key is not None else header_key


def agent_id(header: str | None) -> str:
    """Return the agent ID from the header `X-Agent-Id`. Raises InvalidRequestError if the header is missing
    or invalid.
    """
    return _identifier("X-Agent-Id", header)


def fingerprint_hash(header: str | None) -> str:
    """Return the SHA-256 hash of the value of the header `X-Fingerprint`. The value itself is never stored.

    Raises InvalidRequestError if the header is missing or invalid.
    """
    return hashlib.sha256(_identifier("X-Fingerprint", header).encode()).hexdigest()


def _identifier(name: str, header: str | None) -> str:
    if header is None or not _IDENTIFIER.fullmatch(header):
        raise InvalidRequestError(
            f"{name} must have 1 to 128 visible ASCII characters",
            {"field": name, "constraint": "missing" if header is None else "format", "min": 1, "max": 128},
        )
    return header
