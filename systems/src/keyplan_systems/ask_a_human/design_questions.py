"""Access patterns for questions: reads by agents and users, updates after answers and sweeps, and worker tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field

from keyplan import F, ItemKey, ItemWrite, KeyCondition, Rate, WriteCall, each, every_shard, item, pk, transaction
from keyplan_systems.ask_a_human.domain.questions import Status
from keyplan_systems.ask_a_human.entities import Agent, KeyRecord, Question, Timestamp, WorkerTask, questions

T = TypeVar("T")
AtMostOne = Annotated[list[T], Field(max_length=1)]
"""A list with at most one element, for an optional write in a transaction."""
AtMostTwo = Annotated[list[T], Field(max_length=2)]


@dataclass(frozen=True)
class AnswerEffect:
    """The effect of a new answer on a question.

    `before` is the number of answers that the question had when it was read. The other fields contain the new state of
    the question.
    """

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
    """List answerable questions whose deadline has not passed, newest first."""
    return pk(question_id=every_shard()).filter(F.expires_at > now_s)


@questions.query(
    Question, index="ByStatus", descending=True, rate=Rate(average=5, peak=30), expected_items=20, expected_scanned=160
)
def open_questions_for(now_s: int, audience: str) -> KeyCondition:
    """List answerable questions for an audience, newest first."""
    return pk(question_id=every_shard()).filter((F.expires_at > now_s) & F.audience.contains(audience))


@questions.query(Question, index="ByNeed", rate=Rate(average=20, peak=100), expected_items=20, expected_scanned=160)
def needy_questions(now_s: int) -> KeyCondition:
    """List answerable questions, sorted by the percentage of required answers that were received, lowest first."""
    return pk(question_id=every_shard()).filter(F.expires_at > now_s)


@questions.query(Question, index="ByNeed", rate=Rate(average=5, peak=30), expected_items=20, expected_scanned=160)
def needy_questions_for(now_s: int, audience: str) -> KeyCondition:
    """List answerable questions for an audience, sorted by the percentage of required answers, lowest first."""
    return pk(question_id=every_shard()).filter((F.expires_at > now_s) & F.audience.contains(audience))


@questions.query(Question, index="ByAgentId", descending=True, rate=Rate(average=1, peak=10), expected_items=20)
def agents_questions(agent_id: str) -> KeyCondition:
    """List an agent's questions, newest first."""
    return pk(agent_id=agent_id)


@questions.get(KeyRecord, consistent=True, rate=Rate(average=5, peak=50))
def key_record(agent: str, idempotency_key: str) -> ItemKey:
    """Get the record of an agent's idempotency key, to find the question that was created with the key."""
    return item(agent=agent, idempotency_key=idempotency_key)


@questions.create(Question)
def add_question(question: Question) -> ItemWrite:
    """Add a question."""
    return item(question)


@questions.create(KeyRecord)
def keep_key(record: KeyRecord, expired_before: Timestamp) -> ItemWrite:
    """Store the record of an idempotency key.

    Fails if the key already has a record that was created after the time `expired_before`.
    """
    return item(record).replace_if(F.created <= expired_before)


@questions.get(Agent, consistent=True, rate=Rate(average=61, peak=310), after=["confirm_secret"])
def agent_by_id(agent: str) -> ItemKey:
    """Get an agent by ID, to verify its secret."""
    return item(agent=agent)


@questions.create(Agent, rate=Rate.monthly(2_000))
def add_agent(agent: Agent) -> ItemWrite:
    """Add an agent, if its ID is not in use."""
    return item(agent)


@questions.update(Agent, rate=Rate.monthly(200))
def rotate_secret(agent: str, next_secret_hash: str) -> ItemWrite:
    """Store a new secret for an agent. The current secret stays valid."""
    return item(agent=agent).set(next_secret_hash=next_secret_hash)


@questions.update(Agent, rate=Rate.monthly(200))
def confirm_secret(agent: str, secret_hash: str) -> ItemWrite:
    """Replace an agent's current secret with the secret from its latest rotation."""
    return (
        item(agent=agent)
        .set(secret_hash=secret_hash, next_secret_hash=None)
        .condition(F.next_secret_hash == secret_hash)
    )


@questions.update(Agent, rate=Rate.monthly(10))
def issue_secret(agent: str, secret_hash: str) -> ItemWrite:
    """Replace all secrets of an agent with a new one."""
    return item(agent=agent).set(secret_hash=secret_hash, next_secret_hash=None)


@questions.update(Agent, upsert=True)
def open_one(agent: str, max_open: int) -> ItemWrite:
    """Increment an agent's number of open questions, if it is less than `max_open`."""
    return item(agent=agent).add(open_questions=1).condition(F.open_questions.missing() | (F.open_questions < max_open))


@questions.update(Agent)
def end_one(agent: str) -> ItemWrite:
    """Decrement an agent's number of open questions."""
    return item(agent=agent).add(open_questions=-1)


@questions.create(WorkerTask)
def add_errand(task: WorkerTask) -> ItemWrite:
    """Schedule a worker task for a question."""
    return item(task)


@questions.query(WorkerTask, index="ByDue", rate=Rate(average=1, peak=4), expected_items=10)
def due_errands(kind: str, now: Timestamp) -> KeyCondition:
    """List the worker tasks of one kind that are due."""
    return pk(kind=kind, question=every_shard()).sk.lte(due_at=now)


@questions.update(WorkerTask, rate=Rate(average=3, peak=30))
def claim_round(kind: str, question: str, known_rounds: int, last_round_at: Timestamp, due_at: Timestamp) -> ItemWrite:
    """Claim the right to send the next round of push notifications for a question.

    `known_rounds` is the number of completed rounds that the worker read. If several workers try, only one succeeds.
    """
    return (
        item(kind=kind, question=question)
        .add(rounds_done=1)
        .set(last_round_at=last_round_at, due_at=due_at)
        .condition(F.rounds_done == known_rounds)
    )


@questions.delete(WorkerTask, rate=Rate(average=10, peak=100))
def claim_last_round(kind: str, question: str, known_rounds: int) -> ItemWrite:
    """Claim the right to send the last round of push notifications for a question, by deleting its worker task.

    `known_rounds` is the number of completed rounds that the worker read. If several workers try, only one succeeds.
    """
    return item(kind=kind, question=question).condition(F.rounds_done == known_rounds)


@questions.delete(WorkerTask)
def end_errand(kind: str, question: str) -> ItemWrite:
    """Delete a worker task that is completed or no longer needed."""
    return item(kind=kind, question=question)


@questions.delete(WorkerTask)
def take_errand(kind: str, question: str) -> ItemWrite:
    """Delete a worker task if it still exists. If several workers try, only one of their transactions succeeds."""
    return item(kind=kind, question=question).condition(F.due_at.exists())


@questions.update(Question)
def count_response(effect: AnswerEffect) -> ItemWrite:
    """Increment a question's number of answers, if the question is answerable and has no new answers since it was read.

    The condition compares the stored number of answers with `effect.before`, the number when the question was read.
    """
    return (
        item(question_id=effect.question_id)
        .set(
            current_responses=effect.current_responses,
            need=effect.need,
            status=effect.status,
            closed_at=effect.closed_at,
            ttl=effect.ttl,
        )
        .condition(
            (F.current_responses == effect.before)
            & F.status.is_in(Status.OPEN, Status.PARTIAL)
            & (F.expires_at > effect.now_s)
        )
    )


@questions.update(Question)
def store_expiry(question_id: str, now_s: int) -> ItemWrite:
    """Set a question's status to EXPIRED, if it is still answerable and its deadline has passed."""
    return (
        item(question_id=question_id)
        .set(status=Status.EXPIRED)
        .condition(F.status.is_in(Status.OPEN, Status.PARTIAL) & (F.expires_at <= now_s))
    )


@transaction(rate=Rate(average=10, peak=100))
def ask(
    question: Question,
    *,
    agent: str,
    max_open: int,
    tasks: AtMostTwo[WorkerTask],
    records: AtMostOne[KeyRecord],
    expired_before: Timestamp,
) -> list[WriteCall[Any]]:
    """Create a question with its worker tasks and, if it has an idempotency key, the record of the key.

    Fails if the agent has the maximum number of open questions.
    """
    return [
        add_question(question),
        open_one(agent, max_open),
        add_errand(each(tasks)),
        keep_key(each(records), expired_before),
    ]


@transaction(rate=Rate(average=1, peak=10))
def expire(question_id: str, agent: str, now_s: int, kind: str) -> list[WriteCall[Any]]:
    """Set a question's status to EXPIRED, and decrement its agent's number of open questions.

    The worker task that expires the question is deleted in the same transaction.
    """
    return [store_expiry(question_id, now_s), end_one(agent), take_errand(kind, question_id)]


@transaction(rate=Rate.monthly(10))
def give_back(agent: str, kind: str, question_id: str) -> list[WriteCall[Any]]:
    """Decrement an agent's number of open questions, because a question was deleted before it was marked as EXPIRED.

    The question's worker task is deleted in the same transaction.
    """
    return [end_one(agent), take_errand(kind, question_id)]
