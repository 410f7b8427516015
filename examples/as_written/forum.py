"""The forum's DynamoDB table exactly as its page describes it, faults included.

Keys, event types and subscriptions are those of the page. A time is a number of milliseconds, as in every version of
its code.
"""

from __future__ import annotations

from typing import Literal

from keyplan import TTL, Bytes, Distinct, Entity, F, ItemWrite, KeyCondition, Rate, Table, Volume, attr, item, key, pk

forum = Table("forum", pk="PK", sk="time", ttl=TTL("ttl", means="too old subscriptions are removed"), literal=True)


@forum.entity(
    key=key("THREADEV#{participantId}#{itemId}", attr("time")),
    volume=Volume(count=5_000_000, bytes=Bytes(500), distinct={"participantId": Distinct(50_000), "itemId": 200}),
)
class ThreadEvent(Entity):
    participantId: str  # noqa: N815 - the page's names
    itemId: str  # noqa: N815
    time: int
    type: Literal["thread_opened", "attempt_started", "submission", "thread_closed", "message"]
    user_id: str | None = None
    attempt_id: str | None = None
    answer_id: str | None = None
    score: int | None = None
    validated: bool | None = None
    content: str | None = None


@forum.entity(
    key=key("THREADSUB#{participantId}#{itemId}", attr("time")),
    found_by=["connection_id"],
    volume=Volume(count=10_000, bytes=Bytes(200), distinct={"participantId": Distinct(5_000), "itemId": 200}),
)
class ThreadSubscription(Entity):
    participantId: str  # noqa: N815
    itemId: str  # noqa: N815
    time: int
    connection_id: str
    user_id: str
    ttl: int


@forum.put(ThreadEvent, rate=Rate(average=50, peak=500))
def store_event(event: ThreadEvent) -> ItemWrite:
    """Store a new event of a thread."""
    return item(event)


@forum.query(ThreadEvent, descending=True, limit=20)
def last_events(participantId: str, itemId: str) -> KeyCondition:  # noqa: N803 - the page's names
    """List the newest events of a thread."""
    return pk(participantId=participantId, itemId=itemId)


@forum.query(ThreadEvent, descending=True, limit=20, expected_items=20)
def last_messages(participantId: str, itemId: str) -> KeyCondition:  # noqa: N803
    """List the newest messages of a thread."""
    return pk(participantId=participantId, itemId=itemId).filter(F.type == "message")


@forum.put(ThreadSubscription)
def subscribe(subscription: ThreadSubscription) -> ItemWrite:
    """Store that a user watches a thread."""
    return item(subscription)


@forum.query(ThreadSubscription, rate=Rate(average=50, peak=500))
def watchers(participantId: str, itemId: str) -> KeyCondition:  # noqa: N803
    """List all users who watch a thread, to send them an event."""
    return pk(participantId=participantId, itemId=itemId)


@forum.delete(ThreadSubscription)
def unsubscribe(participantId: str, itemId: str, time: int) -> ItemWrite:  # noqa: N803
    """Delete a user's subscription to a thread."""
    return item(participantId=participantId, itemId=itemId, time=time)
