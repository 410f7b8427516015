"""Patterns of questions: reads by agents and users, effects of answers and sweeps, and worker errands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field

from keyplan import F, ItemKey, ItemWrite, KeyCondition, Rate, WriteCall, each, every_shard, item, pk, transaction
from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.entities import Agent, Errand, KeyRecord, Question, Timestamp, questions

T = TypeVar("T")
One = Annotated[list[T], Field(max_length=1)]
"""Optional parts of a transaction."""
Two = Annotated[list[T], Field(max_length=2)]


@dataclass(frozen=True)
class Counted:
    """The effect of another answer on a question: the state that was read, and the next state."""

    question_id: str
    before: int
    now_s: int
    current_responses: int
    need: str
    status: Status
    closed_at: str | None
    ttl: int


@questions.get(Question, consistent=True, rate=Rate(average=50, peak=200), after=["answer_question"])
def question_by_id(question_id: str) -> ItemKey:
    """Get a question by ID."""
    return item(question_id=question_id)


@questions.query(
    Question,
    index="ByStatus",
    descending=True,
    rate=Rate(average=20, peak=100),
    expected_items=20,
    expected_scanned=160,
)
def open_questions(now_s: int) -> KeyCondition:
    """List open questions before their deadline, newest first."""
    return pk(question_id=every_shard()).filter(F.expires_at > now_s)


@questions.query(
    Question, index="ByStatus", descending=True, rate=Rate(average=5, peak=30), expected_items=20, expected_scanned=160
)
def open_questions_for(now_s: int, audience: str) -> KeyCondition:
    """List open questions for an audience."""
    return pk(question_id=every_shard()).filter((F.expires_at > now_s) & F.audience.contains(audience))


@questions.query(Question, index="ByNeed", rate=Rate(average=20, peak=100), expected_items=20, expected_scanned=160)
def needy_questions(now_s: int) -> KeyCondition:
    """List open questions, starting with the smallest share of answers."""
    return pk(question_id=every_shard()).filter(F.expires_at > now_s)


@questions.query(Question, index="ByNeed", rate=Rate(average=5, peak=30), expected_items=20, expected_scanned=160)
def needy_questions_for(now_s: int, audience: str) -> KeyCondition:
    """List open questions for an audience, starting with the smallest share of answers."""
    return pk(question_id=every_shard()).filter((F.expires_at > now_s) & F.audience.contains(audience))


@questions.query(Question, index="ByAgentId", descending=True, rate=Rate(average=1, peak=10), expected_items=20)
def agents_questions(agent_id: str) -> KeyCondition:
    """List an agent's questions, newest first."""
    return pk(agent_id=agent_id)


@questions.get(KeyRecord, consistent=True, rate=Rate(average=5, peak=50))
def key_record(agent: str, idempotency_key: str) -> ItemKey:
    """Read the question of an idempotency key."""
    return item(agent=agent, idempotency_key=idempotency_key)


@questions.create(Question)
def add_question(question: Question) -> ItemWrite:
    """Add a question."""
    return item(question)


@questions.create(KeyRecord)
def keep_key(record: KeyRecord, over: Timestamp) -> ItemWrite:
    """Store an idempotency key unless it belongs to a question that was created after a time."""
    return item(record).replace_if(F.created <= over)


@questions.get(Agent, consistent=True, rate=Rate(average=61, peak=310), after=["confirm_secret"])
def agent_by_id(agent: str) -> ItemKey:
    """Get an agent, to verify its secret."""
    return item(agent=agent)


@questions.create(Agent, rate=Rate.monthly(2_000))
def add_agent(agent: Agent) -> ItemWrite:
    """Add an agent unless its ID is registered or in use."""
    return item(agent)


@questions.update(Agent, rate=Rate.monthly(200))
def rotate_secret(agent: str, next_secret_hash: str) -> ItemWrite:
    """Give an agent another secret in addition to its current one."""
    return item(agent=agent).set(next_secret_hash=next_secret_hash)


@questions.update(Agent, rate=Rate.monthly(200))
def confirm_secret(agent: str, secret_hash: str) -> ItemWrite:
    """Replace an agent's secret by the secret of its last rotation."""
    return (
        item(agent=agent)
        .set(secret_hash=secret_hash, next_secret_hash=None)
        .condition(F.next_secret_hash == secret_hash)
    )


@questions.update(Agent, rate=Rate.monthly(10))
def issue_secret(agent: str, secret_hash: str) -> ItemWrite:
    """Replace all secrets of an agent."""
    return item(agent=agent).set(secret_hash=secret_hash, next_secret_hash=None)


@questions.update(Agent, upsert=True)
def open_one(agent: str, most: int) -> ItemWrite:
    """Increment an agent's open questions, up to the maximum."""
    return item(agent=agent).add(open_questions=1).condition(F.open_questions.missing() | (F.open_questions < most))


@questions.update(Agent)
def end_one(agent: str) -> ItemWrite:
    """Decrement an agent's open questions."""
    return item(agent=agent).add(open_questions=-1)


@questions.create(Errand)
def add_errand(errand: Errand) -> ItemWrite:
    """Schedule an errand for a question."""
    return item(errand)


@questions.query(Errand, index="ByDue", rate=Rate(average=1, peak=4), expected_items=10)
def due_errands(kind: str, now: Timestamp) -> KeyCondition:
    """Read the errands that are due."""
    return pk(kind=kind, question=every_shard()).sk.lte(due_at=now)


@questions.update(Errand, rate=Rate(average=3, peak=30))
def claim_round(kind: str, question: str, seen: int, last_round_at: Timestamp, due_at: Timestamp) -> ItemWrite:
    """Claim a question's round of pushes. Only one of several workers succeeds."""
    return (
        item(kind=kind, question=question)
        .add(rounds_done=1)
        .set(last_round_at=last_round_at, due_at=due_at)
        .condition(F.rounds_done == seen)
    )


@questions.delete(Errand, rate=Rate(average=10, peak=100))
def claim_last_round(kind: str, question: str, seen: int) -> ItemWrite:
    """Claim a question's last round of pushes, or end the rounds of an unanswerable question."""
    return item(kind=kind, question=question).condition(F.rounds_done == seen)


@questions.delete(Errand)
def end_errand(kind: str, question: str) -> ItemWrite:
    """Delete a completed errand."""
    return item(kind=kind, question=question)


@questions.delete(Errand)
def take_errand(kind: str, question: str) -> ItemWrite:
    """Delete an errand in the transaction that completes it, for one worker."""
    return item(kind=kind, question=question).condition(F.due_at.exists())


@questions.update(Question)
def count_response(step: Counted) -> ItemWrite:
    """Increment the number of answers if it is unchanged since it was read and the question is answerable."""
    return (
        item(question_id=step.question_id)
        .set(
            current_responses=step.current_responses,
            need=step.need,
            status=step.status,
            closed_at=step.closed_at,
            ttl=step.ttl,
        )
        .condition(
            (F.current_responses == step.before)
            & F.status.is_in(Status.OPEN, Status.PARTIAL)
            & (F.expires_at > step.now_s)
        )
    )


@questions.update(Question)
def store_expiry(question_id: str, now_s: int) -> ItemWrite:
    """Store EXPIRED if the question is still answerable and its deadline has passed."""
    return (
        item(question_id=question_id)
        .set(status=Status.EXPIRED)
        .condition(F.status.is_in(Status.OPEN, Status.PARTIAL) & (F.expires_at <= now_s))
    )


@transaction(rate=Rate(average=10, peak=100))
def ask(
    question: Question, *, agent: str, most: int, errands: Two[Errand], records: One[KeyRecord], over: Timestamp
) -> list[WriteCall[Any]]:
    """Create a question within its agent's quota, with the worker errands and optionally an idempotency key."""
    return [
        add_question(question),
        open_one(agent, most),
        add_errand(each(errands)),
        keep_key(each(records), over),
    ]


@transaction(rate=Rate(average=1, peak=10))
def expire(question_id: str, agent: str, now_s: int, kind: str) -> list[WriteCall[Any]]:
    """Sweep a question: store EXPIRED, release the agent's quota and delete the errand."""
    return [store_expiry(question_id, now_s), end_one(agent), take_errand(kind, question_id)]


@transaction(rate=Rate.monthly(10))
def give_back(agent: str, kind: str, question_id: str) -> list[WriteCall[Any]]:
    """Release the quota of a question that was removed before the sweep."""
    return [end_one(agent), take_errand(kind, question_id)]
