"""A design for tests: tasks, comments and members on one table, readings and counters on separate tables."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Literal, NewType

from pydantic import BaseModel, Field

from keyplan import (
    GSI,
    Attribute,
    Entity,
    F,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Table,
    WriteCall,
    attr,
    each,
    every_shard,
    everything,
    item,
    key,
    pk,
    transaction,
)

UserId = NewType("UserId", str)
TaskId = NewType("TaskId", str)

app = Table(
    "app",
    pk="PK",
    sk="SK",
    ttl="expires_at",
    stream="NEW_AND_OLD_IMAGES",
    indexes=[
        GSI("due", pk="GSI1PK", sk="GSI1SK"),
        GSI("by_points", pk="GSI2PK", sk="points", project=["title"]),
    ],
)


class Priority(Enum):
    low = "low"
    high = "high"


class Place(BaseModel):
    city: str
    street: Annotated[str | None, Attribute("st")] = None


@app.entity(
    key=key("USER#{user_id}", "TASK#{task_id}"),
    version="version",
    unique=("external_ref",),
    indexes={
        "due": key("DUE#{user_id}", "{due_at:utc_ms}", only_if=F.status == "open"),
        "by_points": key("POINTS#{priority}", attr("points")),
    },
)
class Task(Entity):
    user_id: UserId
    task_id: TaskId
    title: Annotated[str, Field(min_length=1, max_length=200)]
    external_ref: str | None = None
    status: Literal["open", "done"] = "open"
    priority: Priority = Priority.low
    points: int | None = None
    due_at: datetime | None = None
    tags: set[str] = Field(default_factory=set)
    notes: list[str] = Field(default_factory=list)
    place: Place | None = None
    tally: dict[str, int] = Field(default_factory=dict)
    expires_at: datetime | None = None
    version: int = 0


@app.entity(key=key("USER#{user_id}", "TASK#{task_id}#COMMENT#{number:04d}"))
class Comment(Entity):
    user_id: UserId
    task_id: Annotated[TaskId, Field(pattern="^[a-z0-9-]+$")]
    number: int
    text: str


@app.entity(key=key("USER#{user_id}", "PROFILE"), unique=("email",), store_key_fields=False)
class Profile(Entity):
    user_id: UserId
    email: str
    open_tasks: int = 0


@app.get(Task)
def task(user_id: UserId, task_id: TaskId) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)


@app.get(Task, expired=True, consistent=True)
def task_even_expired(user_id: UserId, task_id: TaskId) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)


@app.get(Profile)
def profile(user_id: UserId) -> ItemKey:
    return item(user_id=user_id)


@app.query(Task)
def tasks(user_id: UserId) -> KeyCondition:
    return pk(user_id=user_id)


@app.query(Task, descending=True, limit=2)
def last_two(user_id: UserId) -> KeyCondition:
    return pk(user_id=user_id)


@app.query(Task)
def tasks_tagged(user_id: UserId, tag: str) -> KeyCondition:
    return pk(user_id=user_id).filter(F.tags.contains(tag))


@app.query(Task, Comment, Profile)
def everything_of(user_id: UserId) -> KeyCondition:
    return pk(user_id=user_id)


@app.query(Comment)
def comments(user_id: UserId, task_id: TaskId) -> KeyCondition:
    return pk(user_id=user_id).sk(task_id=task_id)


@app.query(Comment)
def comments_between(user_id: UserId, task_id: TaskId, first: int, last: int) -> KeyCondition:
    return pk(user_id=user_id).sk(task_id=task_id).sk.between(number=(first, last))


@app.query(Task, index="due")
def tasks_due(user_id: UserId, before: datetime) -> KeyCondition:
    return pk(user_id=user_id).sk.lt(due_at=before)


@app.query(Task, index="due")
def tasks_due_of(user_ids: list[UserId]) -> KeyCondition:
    return pk(user_id=each(user_ids))


@app.query(Task, index="due", descending=True)
def tasks_due_of_latest_first(user_ids: list[UserId]) -> KeyCondition:
    return pk(user_id=each(user_ids))


@app.count(Task)
def task_count(user_id: UserId) -> KeyCondition:
    return pk(user_id=user_id)


@app.count(Task, index="due")
def due_count(user_ids: list[UserId]) -> KeyCondition:
    return pk(user_id=each(user_ids))


@app.scan(Task)
def all_tasks() -> KeyCondition:
    return everything()


@app.scan(Profile)
def all_profiles() -> KeyCondition:
    return everything()


@app.batch_get(Task)
def some_tasks(user_id: UserId, task_ids: list[TaskId]) -> ItemKey:
    return item(user_id=user_id, task_id=each(task_ids))


@app.create(Task)
def add_task(new: Task) -> ItemWrite:
    return item(new)


@app.create(Task)
def reopen(new: Task) -> ItemWrite:
    return item(new).replace_if(F.status == "done")


@app.put(Task)
def save_task(new: Task) -> ItemWrite:
    return item(new)


@app.replace(Task)
def replace_task(new: Task) -> ItemWrite:
    return item(new)


@app.update(Task)
def finish(user_id: UserId, task_id: TaskId) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(status="done")


@app.update(Task)
def finish_if(user_id: UserId, task_id: TaskId, points: int) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(status="done").condition(F.points >= points)


@app.update(Task)
def set_due(user_id: UserId, task_id: TaskId, due_at: datetime | None, status: str) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(due_at=due_at).assuming(status=status)


@app.update(Task)
def set_status(user_id: UserId, task_id: TaskId, status: str, due_at: datetime | None) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(status=status).assuming(due_at=due_at)


@app.update(Task)
def set_priority(user_id: UserId, task_id: TaskId, priority: Priority, points: int | None) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(priority=priority).assuming(points=points)


@app.update(Task)
def set_points(user_id: UserId, task_id: TaskId, points: int | None, priority: Priority) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(points=points).assuming(priority=priority)


@app.update(Task)
def rename(user_id: UserId, task_id: TaskId, title: str, version: int) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(title=title).if_version(version)


@app.update(Task)
def refer(user_id: UserId, task_id: TaskId, external_ref: str | None) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(external_ref=external_ref)


@app.update(Task)
def expire(user_id: UserId, task_id: TaskId, expires_at: datetime | None) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).set(expires_at=expires_at)


@app.update(Task)
def tag(user_id: UserId, task_id: TaskId, more: set[str], less: str) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).add_to_set(tags=more).set_if_missing(title="-")


@app.update(Task)
def untag(user_id: UserId, task_id: TaskId, less: str) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).remove_from_set(tags=less)


@app.update(Task)
def note(user_id: UserId, task_id: TaskId, text: str) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).append(notes=text)


@app.update(Task)
def drop_first_note(user_id: UserId, task_id: TaskId) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).remove(F.notes[0])


@app.update(Task)
def vote(user_id: UserId, task_id: TaskId, choice: str, votes: int) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).add(F.tally[choice], votes)


@app.update(Task)
def unvote(user_id: UserId, task_id: TaskId, choice: str, votes: int) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).subtract(F.tally[choice], votes).condition(F.tally[choice] >= votes)


@app.update(Task)
def move(user_id: UserId, task_id: TaskId, street: str) -> ItemWrite:
    return (
        item(user_id=user_id, task_id=task_id)
        .set(F.place["street"], street)
        .condition((F.place["city"] == "Bern") | ~F.tags.exists())
    )


@app.update(Task)
def forget_place(user_id: UserId, task_id: TaskId) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).remove("place")


@app.delete(Task)
def drop(user_id: UserId, task_id: TaskId) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id)


@app.delete(Task)
def drop_done(user_id: UserId, task_id: TaskId) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id).condition(F.status == "done")


@app.check(Profile)
def has_profile(user_id: UserId) -> ItemWrite:
    return item(user_id=user_id)


@app.create(Profile)
def join(new: Profile) -> ItemWrite:
    return item(new)


@app.update(Profile)
def change_email(user_id: UserId, email: str) -> ItemWrite:
    return item(user_id=user_id).set(email=email)


@app.update(Profile)
def keep_email(user_id: UserId, email: str | None) -> ItemWrite:
    return item(user_id=user_id).set_if_missing(open_tasks=email)


@app.update(Profile)
def count_task(user_id: UserId, by: int) -> ItemWrite:
    return item(user_id=user_id).add(open_tasks=by)


@app.update(Profile)
def count_done(user_id: UserId, done: int) -> ItemWrite:
    return item(user_id=user_id).subtract(open_tasks=done).condition(F.open_tasks >= done)


@app.create(Comment)
def comment(new: Comment) -> ItemWrite:
    return item(new)


@app.batch_put(Comment)
def add_comments(new: list[Comment]) -> ItemWrite:
    return item(new)


@app.batch_delete(Comment)
def drop_comments(user_id: UserId, task_id: TaskId, numbers: list[int]) -> ItemWrite:
    return item(user_id=user_id, task_id=task_id, number=each(numbers))


@transaction()
def open_task(user_id: UserId, new: Task) -> list[WriteCall[object]]:
    return [count_task(user_id, 1), add_task(new)]


@transaction()
def greet_all(user_id: UserId, new: list[Comment]) -> list[WriteCall[object]]:
    return [has_profile(user_id), comment(each(new))]


# Readings, spread over shards, by day; no sort key templates, a discriminator.

readings = Table(
    "readings", pk="PK", sk="SK", discriminator="type", indexes=[GSI("by_level", pk=("kind", "place"), sk=("level",))]
)


@readings.entity(key=key("R#{sensor:shard(4)}", "{at:utc_ms}#{sensor}"))
class Reading(Entity):
    sensor: str
    at: datetime
    kind: str = "heat"
    place: str = "roof"
    level: int | None = None


@readings.entity(key=key("R#{sensor:shard(4)}", "{at:utc_ms}#{sensor}#ALARM"))
class Alarm(Entity):
    sensor: str
    at: datetime
    text: str


@readings.create(Reading)
def read_sensor(new: Reading) -> ItemWrite:
    return item(new)


@readings.create(Alarm)
def sound(new: Alarm) -> ItemWrite:
    return item(new)


@readings.query(Reading)
def latest() -> KeyCondition:
    return pk(sensor=every_shard())


@readings.query(Reading, Alarm)
def all_latest() -> KeyCondition:
    return pk(sensor=every_shard())


@readings.count(Alarm)
def alarm_count() -> KeyCondition:
    return pk(sensor=every_shard())


@readings.query(Reading, index="by_level")
def levels(kind: str, place: str, above: int) -> KeyCondition:
    return pk(kind=kind, place=place).sk.gt(level=above)


# Counters: a table without templates, made by updates alone.

counters = Table("counters", pk="name", ttl="until")


@counters.entity()
class Counter(Entity):
    name: str
    count: int = 0
    until: int | None = None


@counters.entity()
class Sample(Entity):
    name: str
    weight: Decimal
    ratio: float
    marks: set[str]
    counts: set[int]


@counters.create(Sample)
def take_sample(new: Sample) -> ItemWrite:
    return item(new)


@counters.update(Counter, upsert=True)
def hit(name: str, by: int) -> ItemWrite:
    return item(name=name).add(count=by)


@counters.update(Counter, upsert=True)
def hit_until(name: str, until: int) -> ItemWrite:
    return item(name=name).add(count=1).set_if_missing(until=until)


@app.get(Task, consistent=True)
def task_now(user_id: UserId, task_id: TaskId) -> ItemKey:
    return item(user_id=user_id, task_id=task_id)


@counters.get(Counter)
def counter(name: str) -> ItemKey:
    return item(name=name)


@counters.put(Counter)
def reset(new: Counter) -> ItemWrite:
    return item(new)


@counters.delete(Counter)
def forget(name: str) -> ItemWrite:
    return item(name=name)


TABLES = (app, readings, counters)
