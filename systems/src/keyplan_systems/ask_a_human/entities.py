"""The four tables of Ask-a-Human and their entities."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from keyplan import GSI, Attribute, Bytes, Distinct, Entity, F, OnDemand, Table, Volume, attr, key
from keyplan_systems.ask_a_human.domain.abuse import Action, Reason
from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.domain.requests import Audience, QuestionType

Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Timestamp = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$")]
"""Stored timestamp in UTC with milliseconds, such as `2026-01-31T12:00:00.000Z`. Timestamps in this format sort
chronologically as strings.
"""
Name = Annotated[str, Field(pattern=r"^[!-~]{1,128}$", max_length=128)]
"""Type of an agent ID or another identifier that a caller chooses: 1 to 128 printable ASCII characters
without spaces.
"""
Partition = Annotated[str, Field(pattern=r"^(ALL_TIME|DAILY#[0-9-]{10}|WEEKLY#[0-9-]{10})#0[0-7]$")]
"""Key of one of the eight partitions of a leaderboard."""

# Questions.

questions = Table(
    "aah-questions",
    pk="question_id",
    indexes=[
        GSI("ByStatus", pk="feed_pk", sk="created_at"),
        GSI("ByNeed", pk="need_pk", sk="need"),
        GSI("ByAgentId", pk="agent_id", sk="created_at"),
        GSI("ByDue", pk="due_pk", sk="due_at"),
    ],
    ttl="ttl",
    billing=OnDemand(warm_write=10_000),
    point_in_time_recovery=True,
    deletion_protection=True,
)


@questions.entity(
    indexes={
        "ByStatus": key(
            "ANSWERABLE#{question_id:shard(8)}",
            attr("created_at"),
            only_if=F.status.is_in(Status.OPEN, Status.PARTIAL),
        ),
        "ByNeed": key(
            "NEEDY#{question_id:shard(8)}",
            attr("need"),
            only_if=F.status.is_in(Status.OPEN, Status.PARTIAL),
        ),
    },
    volume=Volume(
        count=20_000,
        bytes=Bytes(900, p99=3_000, most=12_000),
        distinct={
            "agent_id": Distinct(2_000, hottest=0.02),
            "status": {Status.OPEN: 0.05, Status.PARTIAL: 0.05, Status.CLOSED: 0.8, Status.EXPIRED: 0.1},
        },
        present={"closed_at": 0.8, "options": 0.5, "idempotency_key": 0.5},
    ),
)
class Question(Entity):
    """A question. The stored status can be out of date between the deadline and the next sweep, so readers compute the
    status.
    """

    question_id: Uuid
    status: Status
    prompt: str
    type: QuestionType
    options: list[str] | None = None
    audience: list[Audience]
    required_responses: int
    current_responses: int
    need: Annotated[str, Field(pattern=r"^[0-9]{3}#[0-9]{11}$")]
    """Sort key of the list of questions that need answers. It consists of the percentage of required answers that were
    received, and the deadline.
    """
    agent_id: Name
    idempotency_key: str | None = None
    created_at: Timestamp
    expires_at: int
    """Deadline of the question in epoch seconds. From this second on, the question cannot be answered."""
    closed_at: Timestamp | None = None
    ttl: int
    """Time after which DynamoDB may delete the item, in epoch seconds."""


@questions.entity(
    key=key("KEY#{agent} {idempotency_key}"), volume=Volume(count=60_000, bytes=Bytes(260)), store_key_fields=False
)
class KeyRecord(Entity):
    """A record that maps an agent's idempotency key to the question that was created with it.

    In the stored key, a space separates the agent ID from the idempotency key. An agent ID contains no space, so the
    first space is the separator.
    """

    agent: Name
    idempotency_key: Annotated[str, Field(min_length=1, max_length=200)]
    made: Annotated[Uuid, Attribute("made_question_id")]
    digest: Sha256
    created: Annotated[Timestamp, Attribute("key_created_at")]
    ttl: int


@questions.entity(
    key=key("AGENT#{agent}"),
    volume=Volume(count=2_000, bytes=Bytes(250), present={"next_secret_hash": 0.01}),
    store_key_fields=False,
)
class Agent(Entity):
    """An agent with the hashes of its secrets and the number of its open questions.

    A question counts as open until it is closed or a sweep has set its status to EXPIRED.
    """

    agent: Name
    secret_hash: Sha256 | None = None
    """Hash of the current secret.

    It is None if the agent was registered before agents had secrets and an operator has not issued a secret yet.
    """
    next_secret_hash: Sha256 | None = None
    """Hash of the secret from the latest rotation. When this secret is first used, it replaces the current secret."""
    registered_at: Timestamp | None = None
    open_questions: int = 0


@questions.entity(
    key=key("ERRAND#{kind}#{question}"),
    indexes={"ByDue": key("{kind}#{question:shard(4)}", attr("due_at"))},
    volume=Volume(count=40_000, bytes=Bytes(220), distinct={"kind": {"EXPIRE": 0.5, "PUSH": 0.5}}),
    store_key_fields=False,
)
class WorkerTask(Entity):
    """A scheduled task for a worker.

    A task of the kind EXPIRE marks a question as expired. A task of the kind PUSH notifies users about a question.
    """

    kind: Annotated[str, Field(pattern=r"^(EXPIRE|PUSH)$")]
    question: Uuid
    agent: Name
    due_at: Timestamp
    rounds_done: int = 0
    last_round_at: Timestamp | None = None
    ttl: int


# Responses, and their flags.

responses = Table(
    "aah-responses",
    pk="question_id",
    sk="response_id",
    indexes=[
        GSI("ByFingerprint", pk="fingerprint_hash", sk="created_at"),
        GSI("ByReview", pk="review_pk", sk="flagged_at"),
    ],
    ttl="ttl",
    billing=OnDemand(warm_write=12_000),
    point_in_time_recovery=True,
    deletion_protection=True,
)


@responses.entity(
    volume=Volume(
        count=6_000_000,
        bytes=Bytes(620, p99=4_200, most=21_300),
        distinct={"question_id": 800_000, "fingerprint_hash": Distinct(100_000, hottest=0.001)},
    )
)
class Response(Entity):
    """A user's answer to a question."""

    question_id: Uuid
    response_id: Uuid
    """UUIDv5 of the question and the user's fingerprint, so that the table rejects a second answer."""
    answer: str | None = None
    selected_option: int | None = None
    confidence: int | None = None
    fingerprint_hash: Sha256
    created_at: Timestamp
    response_time_ms: int | None = None
    device: Sha256 | None = None
    """Hash of the token of the device that sent the answer. If this device sends the answer again, it gets the same
    reply.
    """
    points_earned: int | None = None
    total_points: int | None = None
    new_badges: list[str] | None = None
    """IDs of the new badges in the reply to the user. The reply also contains `points_earned` and `total_points`.

    These three attributes are missing in responses that were stored before the system started to store replies.
    """
    ttl: int


@responses.entity(
    key=key("FLAG#{flag_id}", "FLAG"),
    indexes={"ByReview": key("UNREVIEWED#{flag_id:shard(4)}", attr("flagged_at"), only_if=F.action.missing())},
    volume=Volume(count=100_000, bytes=Bytes(380), present={"action": 0.9}),
    store_key_fields=False,
)
class Flag(Entity):
    """A mark on a suspicious answer. After a review, it contains the reviewer's decision."""

    flag_id: Uuid
    question: Annotated[Uuid, Attribute("flagged_question_id")]
    response: Annotated[Uuid, Attribute("flagged_response_id")]
    person: Sha256
    reason: Reason
    flagged_at: Timestamp
    reviewed: bool = False
    action: Action | None = None
    reviewed_at: Timestamp | None = None
    ttl: int


@responses.entity(
    key=key("COUNTER#{window}", "COUNTER"),
    volume=Volume(count=200_000, bytes=Bytes(130)),
    store_key_fields=False,
)
class Counter(Entity):
    """The number of requests of one kind from one caller in a time window."""

    window: Annotated[str, Field(min_length=1, max_length=400)]
    requests: int = 0
    ttl: int


# Push.

subscriptions = Table(
    "aah-subscriptions",
    pk="subscription_id",
    indexes=[
        GSI("ByLastNotified", pk="notify_pk", sk="next_eligible_at"),
        GSI("ByDue", pk="due_pk", sk="due_at"),
    ],
    ttl="ttl",
    point_in_time_recovery=True,
    deletion_protection=True,
)


@subscriptions.entity(
    indexes={
        "ByLastNotified": key(
            "ACTIVE#{subscription_id:shard(8)}",
            attr("next_eligible_at"),
            only_if=F.active == True,  # noqa: E712 - a condition on the stored value
        )
    },
    version="version",
    unique=["token_digest"],
    volume=Volume(count=100_000, bytes=Bytes(700), distinct={"active": {True: 0.8, False: 0.2}}),
)
class Subscription(Entity):
    """The push notification subscription of one browser."""

    subscription_id: Uuid
    fcm_token: str
    token_digest: Sha256
    """SHA-256 hash of the push token, which is unique among all subscriptions. It is used in keys, because the token
    itself can be too long.
    """
    fingerprint_hash: Sha256
    min_interval_minutes: int
    last_notified_at: Timestamp | None = None
    next_eligible_at: Timestamp
    created_at: Timestamp
    updated_at: Timestamp
    active: bool
    device: Sha256 | None = None
    """Hash of the token of the device that may change the subscription.

    None for subscriptions that were created before devices had tokens.
    """
    version: int = 0


@subscriptions.entity(
    key=key("DEVICE#{token_hash}"),
    volume=Volume(count=120_000, bytes=Bytes(270), present={"person": 0.95}),
    store_key_fields=False,
)
class Device(Entity):
    """A browser or app from which a user answers."""

    token_hash: Sha256
    fingerprint: Sha256
    """Hash of the fingerprint with which the device was registered."""
    person: Sha256 | None = None
    """ID of the user to whom the device belongs, or None before the device's first request, which sets the ID."""
    registered_at: Timestamp


@subscriptions.entity(
    key=key("FINGERPRINT#{fingerprint}"), volume=Volume(count=100_000, bytes=Bytes(160)), store_key_fields=False
)
class FingerprintOwner(Entity):
    """A record of the first device that used a fingerprint. The ID of this device's user is the hash of the
    fingerprint.
    """

    fingerprint: Sha256
    device: Sha256


@subscriptions.entity(
    key=key("NOTICE#{question}#{person}"), volume=Volume(count=500_000, bytes=Bytes(210)), store_key_fields=False
)
class Notice(Entity):
    """A record of when a user was notified about a question."""

    question: Uuid
    person: Sha256
    notified_at: Timestamp
    ttl: int


@subscriptions.entity(
    key=key("DELIVERY#{question}#{subscription}"),
    indexes={"ByDue": key("DELIVERY#{subscription:shard(4)}", attr("due_at"))},
    volume=Volume(count=2_000, bytes=Bytes(260)),
    store_key_fields=False,
)
class Delivery(Entity):
    """A push notification that has not been sent successfully and that the worker will send again."""

    question: Uuid
    subscription: Uuid
    attempt: int
    """Number of attempts to send the push so far."""
    claimed_at: Timestamp
    """Time at which the subscription was claimed for this push. If the subscription has since been claimed for another
    push, this push is dropped.
    """
    due_at: Timestamp
    ttl: int


# People.

user_stats = Table(
    "aah-user-stats",
    pk="fingerprint_hash",
    indexes=[GSI("ByTotalPoints", pk="_leaderboard", sk="place")],
    ttl="ttl",
    stream="NEW_AND_OLD_IMAGES",
    billing=OnDemand(warm_write=18_000),
    point_in_time_recovery=True,
    deletion_protection=True,
)


class DayRecord(BaseModel):
    """A user's points and number of answers on one UTC day."""

    points: int
    answers: int


@user_stats.entity(version="version", volume=Volume(count=100_000, bytes=Bytes(1_100, p99=1_900, most=3_000)))
class UserStats(Entity):
    """A user's points, streak, badges, and the history that the scoring rules and the abuse heuristics need."""

    fingerprint_hash: Sha256
    total_points: int
    total_answers: int
    streak_days: int
    streak_last_date: str | None = None
    badges: dict[str, Timestamp]
    """Mapping from badge ID to the time at which the badge was earned."""
    answers_by_category: dict[str, int]
    daily_points: dict[str, DayRecord]
    """Points and number of answers on each of the last seven UTC dates on which the user answered."""
    scored_at: Timestamp
    early_answers: int
    night_answers: int
    speedy_answers: int
    confident_answers: int
    text_digests: list[str]
    minimal_run: int
    created_at: Timestamp
    updated_at: Timestamp
    version: int = 0


@user_stats.entity(
    key=key("PLACE#{person}#{board}"),
    volume=Volume(count=250_000, bytes=Bytes(300), distinct={"leaderboard": Distinct(24, hottest=0.05)}),
)
class BoardRow(Entity):
    """A user's row on a leaderboard."""

    board: Annotated[str, Field(pattern=r"^(ALL_TIME|DAILY#[0-9-]{10}|WEEKLY#[0-9-]{10})$")]
    person: Sha256
    leaderboard: Annotated[Partition, Attribute("_leaderboard")]
    place: Annotated[str, Field(min_length=1, max_length=100)]
    """Sort key that orders better rows first: by points in descending order, then by the time at which the points were
    reached, and then by user ID.
    """
    total_points: int
    total_answers: int
    ttl: int | None = None


@user_stats.entity(
    key=key("HISTOGRAM#{leaderboard}"),
    volume=Volume(count=80, bytes=Bytes(900, p99=2_000)),
    store_key_fields=False,
)
class Histogram(Entity):
    """The number of users in each score bucket, for the users in one partition of a leaderboard."""

    leaderboard: Annotated[Partition, Attribute("histogram_of")]
    buckets: dict[str, int]
    ttl: int | None = None
