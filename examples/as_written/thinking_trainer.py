"""The critical-thinking trainer's tables exactly as its schema page describes them, faults included."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from keyplan import (
    GSI,
    Bytes,
    Claim,
    Entity,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Provisioned,
    Rate,
    Table,
    Volume,
    item,
    pk,
)

claims = [
    Claim("single-table design per entity type", "table design philosophy"),
    Claim("sort key timestamp (descending)", "index UserAttempts and table Profiles"),
    Claim("schemaVersion attribute on all items", "schema versioning"),
    Claim("under $10 a month for 1,000 users and 10 attempts each", "estimated costs"),
]


class Answer(BaseModel):
    questionId: str  # noqa: N815 - the page's names
    questionText: str  # noqa: N815
    answer: str
    wordCount: int  # noqa: N815


class Dimension(BaseModel):
    name: str
    score: int
    rationale: list[str]


class Evaluation(BaseModel):
    overallScore: int  # noqa: N815
    dimensions: list[Dimension]
    feedback: str
    modelId: str  # noqa: N815
    evaluatedAt: str  # noqa: N815


attempts = Table(
    "Attempts",
    pk="attemptId",
    indexes=[GSI("UserAttempts", pk="userId", sk="timestamp")],
    stream="NEW_IMAGE",
    literal=True,
)


@attempts.entity(volume=Volume(count=120_000, bytes=Bytes(8_000, p99=40_000), distinct={"userId": 1_000}))
class Attempt(Entity):
    attemptId: str  # noqa: N815
    userId: str  # noqa: N815
    scenarioId: str  # noqa: N815
    timestamp: str
    answers: list[Answer]
    evaluation: Evaluation | None = None
    durationSeconds: int  # noqa: N815
    status: Literal["completed", "in-progress", "abandoned"]


@attempts.get(Attempt)
def attempt_by_id(attemptId: str) -> ItemKey:  # noqa: N803 - the page's names
    """Get attempt by ID."""
    return item(attemptId=attemptId)


@attempts.query(Attempt, index="UserAttempts", descending=True)
def attempts_of_user(userId: str) -> KeyCondition:  # noqa: N803
    """List user attempts, newest first."""
    return pk(userId=userId)


@attempts.query(Attempt, index="UserAttempts", limit=10, after=["submit"], rate=Rate.monthly(10_000))
def recent_attempts(userId: str) -> KeyCondition:  # noqa: N803
    """Get recent attempts for profile: limit 10."""
    return pk(userId=userId)


@attempts.put(Attempt, rate=Rate.monthly(10_000))
def submit(attempt: Attempt) -> ItemWrite:
    """Store a submitted attempt."""
    return item(attempt)


@attempts.on_change(Attempt)
def update_profile(change: Inserted[Attempt]) -> None:
    """Trigger the profile update when a new attempt is created."""


class DimensionStatistics(BaseModel):
    name: str
    movingAverage: float  # noqa: N815
    standardDeviation: float  # noqa: N815
    trend: str
    recentScores: list[int]  # noqa: N815


class Weakness(BaseModel):
    dimension: str
    score: float
    gap: float


profiles = Table("Profiles", pk="userId", sk="timestamp", literal=True)


@profiles.entity(volume=Volume(count=120_000, bytes=Bytes(2_500), distinct={"userId": 1_000}))
class Profile(Entity):
    userId: str  # noqa: N815
    timestamp: str
    attemptCount: int  # noqa: N815
    dimensions: list[DimensionStatistics]
    weaknesses: list[Weakness]
    improvements: list[dict[str, float | str]]
    recommendations: list[str]
    overallAverage: float  # noqa: N815


@profiles.query(Profile, descending=True, limit=1)
def latest_profile(userId: str) -> KeyCondition:  # noqa: N803
    """Get latest profile."""
    return pk(userId=userId)


@profiles.query(Profile, descending=True)
def profile_history(userId: str) -> KeyCondition:  # noqa: N803
    """Get profile history."""
    return pk(userId=userId)


@profiles.put(Profile, rate=Rate.monthly(10_000))
def write_profile(profile: Profile) -> ItemWrite:
    """Update profile: PutItem, triggered by the stream."""
    return item(profile)


class Question(BaseModel):
    questionId: str  # noqa: N815
    text: str
    type: Literal["short", "long"]
    targetWordCount: int  # noqa: N815
    focusAreas: list[str]  # noqa: N815


scenarios = Table(
    "Scenarios",
    pk="scenarioId",
    billing=Provisioned(read=5, write=1),
    indexes=[GSI("ActiveScenarios", pk="active", sk="difficulty")],
    literal=True,
)


@scenarios.entity(
    volume=Volume(
        count=20,
        bytes=Bytes(4_000),
        distinct={
            "active": {True: 0.9, False: 0.1},
            "difficulty": {"beginner": 0.3, "intermediate": 0.4, "advanced": 0.3},
        },
    )
)
class Scenario(Entity):
    scenarioId: str  # noqa: N815
    title: str
    description: str
    difficulty: Literal["beginner", "intermediate", "advanced"]
    tags: set[str]
    questions: list[Question]
    active: bool
    createdAt: str  # noqa: N815
    estimatedMinutes: int  # noqa: N815


@scenarios.get(Scenario)
def scenario_by_id(scenarioId: str) -> ItemKey:  # noqa: N803
    """Get scenario by ID."""
    return item(scenarioId=scenarioId)


@scenarios.query(Scenario, index="ActiveScenarios", ordered_by="difficulty", rate=Rate(average=1, peak=5))
def active_scenarios() -> KeyCondition:
    """List active scenarios."""
    return pk(active=True)


@scenarios.query(Scenario, index="ActiveScenarios")
def scenarios_by_difficulty(difficulty: Literal["beginner", "intermediate", "advanced"]) -> KeyCondition:
    """List scenarios by difficulty."""
    return pk(active=True).sk(difficulty=difficulty)


@scenarios.batch_put(Scenario)
def seed(scenarios_: list[Scenario]) -> ItemWrite:
    """Create 10 to 20 seed scenarios with a script."""
    return item(scenarios_)
