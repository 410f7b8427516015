"""Parses a model's reply: finds the JSON object in the text and validates it against the rubric."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..domain.rubric import (
    MAX_FEEDBACK_CHARACTERS,
    MAX_RATIONALE_CHARACTERS,
    MAX_RATIONALES,
    MAX_SCORE,
    AllDimensions,
    Assessment,
    Dimension,
    DimensionScore,
    Feedback,
    Rationale,
)

MAX_REPLY_CHARACTERS = 100_000
MAX_OBJECT_STARTS = 200
"""Maximum number of opening braces that are tried as the start of a JSON object. The limit prevents a reply with many
braces from stalling the evaluator.
"""


class ReplyUnusable(Exception):  # noqa: N818 - never raised outside the evaluators
    """Raised if a model's reply does not contain a valid assessment. The message describes the problem and is sent to
    the model with the next request.
    """


def _cut(limit: int) -> BeforeValidator:
    """Return a validator that truncates text to `limit` characters. A long text does not invalidate the reply, because
    the scores matter most.
    """
    return BeforeValidator(
        lambda text: f"{text[: limit - 1]}…" if isinstance(text, str) and len(text) > limit else text
    )


class _Dimension(BaseModel):
    """A dimension in the model's reply. Scores must be JSON integers, not strings or Booleans."""

    model_config = ConfigDict(extra="ignore")

    name: Dimension
    score: int = Field(ge=0, le=MAX_SCORE, strict=True)
    rationale: list[Annotated[Rationale, _cut(MAX_RATIONALE_CHARACTERS)]] = Field(
        min_length=1, max_length=MAX_RATIONALES
    )


class _Reply(BaseModel):
    """A complete reply from the model. Additional fields, such as an overall score, are ignored."""

    model_config = ConfigDict(extra="ignore")

    dimensions: list[_Dimension]
    feedback: Annotated[Feedback, _cut(MAX_FEEDBACK_CHARACTERS)]


class _DimensionScores(BaseModel):
    """The dimensions in a reply, in which each of the eight dimensions must occur exactly once."""

    dimensions: AllDimensions


def assessment_in(text: str, model_id: str) -> Assessment:
    """Return the assessment in a model's reply, ignoring the text around the JSON object.

    Raises ReplyUnusable if the reply does not contain a valid assessment.
    """
    if len(text) > MAX_REPLY_CHARACTERS:
        raise ReplyUnusable(f"it has {len(text)} characters, more than {MAX_REPLY_CHARACTERS}")
    candidate = next((parsed for parsed in _objects(text) if "dimensions" in parsed), None)
    if candidate is None:
        raise ReplyUnusable("it contains no JSON object with 'dimensions'")
    try:
        reply = _Reply.model_validate(candidate)
        result = _DimensionScores(dimensions=tuple(_score(entry) for entry in reply.dimensions))
    except ValidationError as error:
        raise ReplyUnusable(_first_findings(error)) from error
    return Assessment(dimensions=result.dimensions, feedback=reply.feedback, model_id=model_id)


def _score(entry: _Dimension) -> DimensionScore:
    return DimensionScore(name=entry.name, score=entry.score, rationale=tuple(entry.rationale))


def _objects(text: str) -> Iterator[dict[str, object]]:
    """Yield the outermost JSON objects in a text, in order."""
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(MAX_OBJECT_STARTS):
        start = text.find("{", position)
        if start < 0:
            return
        try:
            parsed, position = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError):
            position = start + 1
        else:
            yield parsed


def _first_findings(error: ValidationError) -> str:
    findings = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, finding['loc']))}: {finding['msg']}" for finding in findings[:3])
