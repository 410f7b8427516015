"""Models of the request bodies of the forum's routes."""

from __future__ import annotations

from typing import Annotated, Final, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    model_validator,
)

from keyplan_systems.forum.domain import Status, ThreadUpdate
from keyplan_systems.forum.entities import MAX_CHARACTERS, EventType, Id
from keyplan_systems.forum.service import Fact

SCORE_DIGITS: Final = 9
"""Number of decimal places to which scores are rounded.

Without rounding, a float could be closer to zero than the smallest positive number that DynamoDB stores (1e-130).
"""


class Body(BaseModel):
    """Base class of the request bodies, which rejects unknown fields."""

    model_config = ConfigDict(extra="forbid")


class ThreadChange(Body):
    """The requested changes to a thread. Omitted fields stay unchanged."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"status": "waiting_for_trainer", "helper_group_id": "103"}]},
    )
    status: Status | None = None
    helper_group_id: Id | None = None
    message_count: StrictInt | None = None
    message_count_increment: StrictInt | None = None

    def update(self) -> ThreadUpdate:
        """Convert the requested changes to a `ThreadUpdate` for the service."""
        return ThreadUpdate(self.status, self.helper_group_id, self.message_count, self.message_count_increment)


class Grant(Body):
    """A request to permit a group to ask another group for help."""

    group_id: Id
    helper_group_id: Id


class NewMessage(Body):
    """A message to store. Its uuid is chosen by the sender, and messages with the same uuid are stored only once."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": "Why does my loop not end?", "uuid": "0b7a3c52-9a53-4c0e-b7d4-0a9f1a6f2f11"}]
        },
    )
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARACTERS)]
    uuid: UUID

    @model_validator(mode="after")
    def _storable(self) -> NewMessage:
        try:
            self.text.encode()
        except UnicodeEncodeError as error:
            raise ValueError("the text contains a lone surrogate, which cannot be stored") from error
        return self


Score = Annotated[StrictFloat, Field(ge=0, le=100), AfterValidator(lambda score: round(score, SCORE_DIGITS))]


class FactBody(Body):
    """An attempt, submission or grade that the platform reports, with its time in epoch milliseconds."""

    type: Literal["attempt_started", "submission", "grade_updated"]
    time: Annotated[StrictInt, Field(ge=0, lt=10**13)]
    attempt_id: Id
    answer_id: Id | None = None
    score: Score | None = None
    validated: StrictBool | None = None
    score_improved: StrictBool | None = None

    @model_validator(mode="after")
    def _check_target(self) -> FactBody:
        answer_fields = (self.answer_id, self.score, self.validated)
        if self.type == "attempt_started" and any(value is not None for value in (*answer_fields, self.score_improved)):
            raise ValueError("attempt_started allows no answer_id, score, validated or score_improved")
        if self.type != "attempt_started" and self.answer_id is None:
            raise ValueError(f"{self.type} requires an answer_id")
        if self.type == "submission" and self.score_improved is not None:
            raise ValueError("score_improved is allowed only for grade_updated")
        return self

    def fact(self) -> Fact:
        """Convert the reported event to a `Fact` for the service."""
        return Fact(
            EventType(self.type),
            self.time,
            self.attempt_id,
            self.answer_id,
            self.score,
            self.validated,
            self.score_improved,
        )


class FactsBody(Body):
    """The attempts, submissions and grades that the platform reports for one thread."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "events": [
                        {"type": "attempt_started", "time": 1700000000000, "attempt_id": "1"},
                        {
                            "type": "submission",
                            "time": 1700000060000,
                            "attempt_id": "1",
                            "answer_id": "11",
                            "score": 0,
                            "validated": False,
                        },
                    ]
                }
            ]
        },
    )
    events: Annotated[list[FactBody], Field(min_length=1, max_length=500)]


class ReadStatus(Body):
    """A request to mark a notification as read or unread."""

    is_read: StrictBool
