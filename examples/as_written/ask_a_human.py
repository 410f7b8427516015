"""Ask-a-Human's four tables exactly as their decision record describes them, faults included.

Attribute types, keys, indexes, access patterns and claims are those of the document. It specifies no index projections
and no filters for expired items. The write operations are derived from its text.
"""

from __future__ import annotations

from typing import Literal

from keyplan import GSI, TTL, Bytes, Claim, Entity, F, ItemKey, ItemWrite, KeyCondition, Rate, Table, Volume, item, pk

claims = [
    Claim("four tables with single-table design principles where beneficial", "table design"),
    Claim("ByLastNotified is sparse: only active=true", "subscriptions table"),
    Claim("on demand: no capacity planning, scales automatically", "capacity mode"),
    Claim("zero cost when idle", "consequences"),
    Claim("transactions need a single table", "alternatives"),
]

questions = Table(
    "aah-questions",
    pk="question_id",
    indexes=[
        GSI("ByStatus", pk="status", sk="created_at", project=None),
        GSI("ByAgentId", pk="agent_id", sk="created_at", project=None),
    ],
    ttl=TTL("expires_at", means="expired questions are deleted automatically", sets={"status": "EXPIRED"}),
    literal=True,
)


@questions.entity(
    found_by=[("agent_id", "idempotency_key")],
    volume=Volume(
        count=1_000_000,
        bytes=Bytes(900, p99=3_000),
        distinct={"status": {"OPEN": 0.01, "PARTIAL": 0.01, "CLOSED": 0.9, "EXPIRED": 0.08}, "agent_id": 2_000},
        present={"idempotency_key": 0.5, "closed_at": 0.9},
    ),
)
class Question(Entity):
    question_id: str
    status: Literal["OPEN", "PARTIAL", "CLOSED", "EXPIRED"]
    prompt: str
    type: Literal["text", "multiple_choice"]
    options: list[str] | None = None
    audience: list[str]
    required_responses: int
    current_responses: int
    agent_id: str
    idempotency_key: str | None = None
    created_at: str
    expires_at: int
    closed_at: str | None = None


responses = Table(
    "aah-responses",
    pk="question_id",
    sk="response_id",
    indexes=[GSI("ByFingerprint", pk="fingerprint_hash", sk="created_at", project=None)],
    literal=True,
)


@responses.entity(
    volume=Volume(
        count=10_000_000, bytes=Bytes(600, p99=6_000), distinct={"question_id": 1_000_000, "fingerprint_hash": 100_000}
    )
)
class Response(Entity):
    question_id: str
    response_id: str
    answer: str | None = None
    selected_option: int | None = None
    confidence: int | None = None
    fingerprint_hash: str
    created_at: str
    response_time_ms: int


subscriptions = Table(
    "aah-subscriptions",
    pk="subscription_id",
    indexes=[GSI("ByLastNotified", pk="active", sk="last_notified_at", project=None)],
    literal=True,
)


@subscriptions.entity(volume=Volume(count=100_000, bytes=Bytes(400), distinct={"active": {True: 0.8, False: 0.2}}))
class Subscription(Entity):
    subscription_id: str
    fcm_token: str
    min_interval_minutes: int
    last_notified_at: str | None = None
    created_at: str
    updated_at: str
    active: bool


user_stats = Table(
    "aah-user-stats",
    pk="fingerprint_hash",
    indexes=[GSI("ByTotalPoints", pk="_leaderboard", sk="total_points", project=None)],
    literal=True,
)


@user_stats.entity(volume=Volume(count=100_000, bytes=Bytes(500)))
class UserStats(Entity):
    fingerprint_hash: str
    total_points: int
    total_answers: int
    streak_days: int
    streak_last_date: str
    badges: list[str]
    answers_by_category: dict[str, int]
    created_at: str
    updated_at: str


# The access pattern table.


@questions.get(Question, rate=Rate(average=50, peak=200))
def question_by_id(question_id: str) -> ItemKey:
    """Get question by ID."""
    return item(question_id=question_id)


@questions.query(
    Question,
    index="ByStatus",
    descending=True,
    rate=Rate(average=20, peak=100),
    expected_items=20,
    limit=20,
)
def open_questions() -> KeyCondition:
    """List open questions: PK = "OPEN", newest first."""
    return pk(status="OPEN")


@questions.query(Question, index="ByAgentId")
def agents_questions(agent_id: str) -> KeyCondition:
    """Agent's questions."""
    return pk(agent_id=agent_id)


@responses.query(Response)
def responses_of_question(question_id: str) -> KeyCondition:
    """Get responses for question."""
    return pk(question_id=question_id)


@responses.query(Response, index="ByFingerprint", decides="quota", guards="submit_response")
def recent_answers(fingerprint_hash: str) -> KeyCondition:
    """List a user's recent answers, which rate limiting counts."""
    return pk(fingerprint_hash=fingerprint_hash)


@responses.query(Response, index="ByFingerprint", decides="uniqueness", guards="submit_response", expected_items=1)
def duplicate_answer(fingerprint_hash: str, question_id: str) -> KeyCondition:
    """Check duplicate answer."""
    return pk(fingerprint_hash=fingerprint_hash).filter(F.question_id == question_id)


@subscriptions.query(Subscription, index="ByLastNotified", decides="state", guards="notified")
def eligible_for_notification(threshold: str) -> KeyCondition:
    """Get eligible for notification: PK = true, SK < threshold."""
    return pk(active=True).sk.lt(last_notified_at=threshold)


@user_stats.get(UserStats)
def stats_of_user(fingerprint_hash: str) -> ItemKey:
    """Get user stats."""
    return item(fingerprint_hash=fingerprint_hash)


@user_stats.query(UserStats, index="ByTotalPoints", descending=True, rate=Rate(average=20, peak=100))
def leaderboard() -> KeyCondition:
    """Leaderboard: PK = "_leaderboard", highest points first."""
    return pk.text("_leaderboard")


# Writes that the text requires.


@questions.put(Question, rate=Rate(average=10, peak=100))
def submit_question(question: Question) -> ItemWrite:
    """Store an agent's question."""
    return item(question)


@questions.update(Question, rate=Rate(average=100, peak=1_500))
def count_response(question_id: str, status: Literal["OPEN", "PARTIAL", "CLOSED", "EXPIRED"]) -> ItemWrite:
    """Increment the denormalized count of responses and set the status."""
    return item(question_id=question_id).add(current_responses=1).set(status=status)


@responses.put(Response, rate=Rate(average=100, peak=1_500))
def submit_response(response: Response) -> ItemWrite:
    """Store a user's answer."""
    return item(response)


@subscriptions.put(Subscription)
def subscribe(subscription: Subscription) -> ItemWrite:
    """Store a user's subscription."""
    return item(subscription)


@subscriptions.update(Subscription)
def notified(subscription_id: str, last_notified_at: str) -> ItemWrite:
    """Store when a notification was sent."""
    return item(subscription_id=subscription_id).set(last_notified_at=last_notified_at)


@user_stats.update(UserStats, upsert=True, rate=Rate(average=100, peak=1_500))
def give_points(fingerprint_hash: str, points: int, badges: list[str], category: str) -> ItemWrite:
    """Add the points and badges for an answer, and count the answer in its category."""
    return (
        item(fingerprint_hash=fingerprint_hash)
        .add(total_points=points, total_answers=1)
        .append(badges=badges)
        .add(F.answers_by_category[category], 1)
    )
