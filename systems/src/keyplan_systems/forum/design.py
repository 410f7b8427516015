"""The DynamoDB table of the forum. It contains the event log of all threads, their watchers and followers, and
notifications.

The names `PK`, `time`, THREADEV# and THREADSUB# come from the published design that the forum implements. `TRACE.md`
lists the requirements of that design. The table differs from the published design in these points:

* `time` is a string. For an event, it contains the time with thirteen digits, `#`, and the event's number in the
  thread, so that two events of the same millisecond are stored as two items. For a subscription, it contains the
  connection's ID, so that subscribing twice writes one item. IDs need not be numbers.
* Every event has a number `seq` (1, 2, 3, ...) within its thread, in the order of storage and without gaps. The
  transaction that stores an event assigns the number, and updates an item for the thread (`Head`), if the version of
  the item is unchanged since it was read. Therefore reading the events after number 7 returns all later events, even
  those that were stored with a past time, and a client that has number 7 knows that number 8 is next. The history is
  read by `time`. Watchers read by `seq` from the index `arrivals`, whose key consists of attributes of the event.
* For each event, the same transaction also creates an item whose key contains the event's ID (`Mark`). Therefore a
  message, an attempt or a submission that is sent again is not stored again, even if it has another time.
* THREADSUB# items cannot be found by connection, so an item for the connection lists the watched threads. If a process
  is killed, both kinds of items are left over. Therefore each process renews its registration, and readers ignore the
  items of a process whose registration has expired.
* The status of a thread is stored in SQL. `thread_opened` and `thread_closed` are entries of the event log, which are
  transferred to this table from an outbox in SQL.
* A copy of the status (THREADSTATUS#) exists only so that the table's stream reports status changes to the watchers on
  all processes.
* Follows, notifications and `grade_updated` are additions to the published design.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from keyplan import (
    Expired,
    F,
    Inserted,
    ItemKey,
    ItemWrite,
    KeyCondition,
    Modified,
    Rate,
    Removed,
    WriteCall,
    each,
    item,
    pk,
    suppress,
    transaction,
)
from keyplan_systems.forum.entities import (
    MAX_WATCHED,
    Connected,
    Event,
    EventType,
    Follow,
    Head,
    Mark,
    Notification,
    Place,
    Server,
    StatusCopy,
    Subscription,
    forum,
)

EVENTS = Rate(average=5, peak=100)
"""Expected number of stored events per second."""

# Events.


@forum.get(Head, consistent=True, after=["store_event", "store_first_event"], rate=Rate(average=8, peak=150))
def head_of(place: Place) -> ItemKey:
    """Get a thread's `Head` item, which contains the number of its newest event."""
    return item(participant_id=place.participant_id, item_id=place.item_id)


@forum.create(Head)
def begin_head(head: Head) -> ItemWrite:
    """Create a thread's `Head` item when its first event is stored."""
    return item(head)


@forum.replace(Head)
def move_head(head: Head) -> ItemWrite:
    """Increment the event number in a thread's `Head` item, if no other event was stored since the item was read."""
    return item(head)


@forum.create(Mark)
def add_mark(mark: Mark) -> ItemWrite:
    """Create the `Mark` item of an event, which prevents the event from being stored again."""
    return item(mark)


@forum.create(Event)
def add_event(event: Event) -> ItemWrite:
    """Store a new event."""
    return item(event)


@transaction(rate=Rate(average=0.1, peak=5))
def store_first_event(
    head: Head, mark: Mark, event: Event
) -> list[WriteCall[Head] | WriteCall[Mark] | WriteCall[Event]]:
    """Store the first event of a thread, together with its `Mark` item and the thread's `Head` item."""
    return [begin_head(head), add_mark(mark), add_event(event)]


@transaction(rate=EVENTS)
def store_event(head: Head, mark: Mark, event: Event) -> list[WriteCall[Head] | WriteCall[Mark] | WriteCall[Event]]:
    """Store an event, together with its `Mark` item, if no other event was stored since the `Head` item was read."""
    return [move_head(head), add_mark(mark), add_event(event)]


@forum.get(Mark, consistent=True, rate=Rate(average=0.1, peak=5))
def mark_of(place: Place, event_id: str) -> ItemKey:
    """Get the `Mark` item of an event, which contains the event's key."""
    return item(participant_id=place.participant_id, item_id=place.item_id, event_id=event_id)


@forum.get(Event, consistent=True, rate=Rate(average=0.1, peak=5))
def event_at(place: Place, at_ms: int, seq: int) -> ItemKey:
    """Get an event by its key."""
    return item(participant_id=place.participant_id, item_id=place.item_id, at_ms=at_ms, seq=seq)


@forum.query(Event, index="arrivals", limit=100, expected_items=5, rate=Rate(average=5, peak=200))
def events_since(place: Place, seq: int) -> KeyCondition:
    """List the events of a thread that were stored after event number `seq`, in the order of storage."""
    return pk(participant_id=place.participant_id, item_id=place.item_id).sk.gt(seq=seq)


@forum.query(Event, descending=True, limit=20, expected_items=20, rate=Rate(average=5, peak=50))
def history(place: Place) -> KeyCondition:
    """List a thread's events, sorted by the time at which they occurred, newest first."""
    return pk(participant_id=place.participant_id, item_id=place.item_id)


@forum.query(Event, descending=True, limit=10, expected_items=10, expected_scanned=20, rate=Rate(average=5, peak=50))
def messages(place: Place) -> KeyCondition:
    """List a thread's messages, newest first. Other events are read but filtered out."""
    return pk(participant_id=place.participant_id, item_id=place.item_id).filter(F.type == EventType.MESSAGE)


# Connections and subscriptions.


@forum.create(Connected, rate=Rate(average=1, peak=50))
def connect(connection: Connected) -> ItemWrite:
    """Store an open WebSocket connection."""
    return item(connection)


@forum.get(Connected, consistent=True, rate=Rate(average=1, peak=50))
def connection_by_id(connection_id: str) -> ItemKey:
    """Get a WebSocket connection and its watched threads."""
    return item(connection_id=connection_id)


@forum.put(Subscription)
def add_subscription(subscription: Subscription) -> ItemWrite:
    """Store a connection's subscription to a thread."""
    return item(subscription)


@forum.update(Connected)
def note_thread(connection_id: str, threads: frozenset[str]) -> ItemWrite:
    """Add a thread to the connection's list of watched threads, if the list has fewer than MAX_WATCHED threads."""
    room = F.threads.missing() | (F.threads.size() < MAX_WATCHED)
    return item(connection_id=connection_id).add_to_set(threads=threads).condition(room)


@forum.delete(Subscription)
def drop_subscription(place: Place, connection_id: str) -> ItemWrite:
    """Delete a connection's subscription to a thread."""
    return item(participant_id=place.participant_id, item_id=place.item_id, connection_id=connection_id)


@forum.update(Connected)
def forget_thread(connection_id: str, threads: frozenset[str]) -> ItemWrite:
    """Remove a thread from the connection's list of watched threads."""
    return item(connection_id=connection_id).remove_from_set(threads=threads)


@forum.delete(Connected)
def drop_connection(connection_id: str, version: int) -> ItemWrite:
    """Delete a closed WebSocket connection, if its list of watched threads is unchanged since it was read."""
    return item(connection_id=connection_id).if_version(version)


@transaction(rate=Rate(average=2, peak=100))
def subscribe(
    subscription: Subscription, connection_id: str, threads: frozenset[str]
) -> list[WriteCall[Subscription] | WriteCall[Connected]]:
    """Subscribe a connection to a thread, and add the thread to the connection's list of watched threads."""
    return [add_subscription(subscription), note_thread(connection_id, threads)]


@transaction(rate=Rate(average=1, peak=50))
def unsubscribe(
    place: Place, connection_id: str, threads: frozenset[str]
) -> list[WriteCall[Subscription | None] | WriteCall[Connected]]:
    """Unsubscribe a connection from a thread, and remove the thread from the connection's list of watched threads."""
    return [drop_subscription(place, connection_id), forget_thread(connection_id, threads)]


Watched = Annotated[list[Place], Field(max_length=MAX_WATCHED)]


@transaction(rate=Rate(average=1, peak=50))
def disconnect(
    connection_id: str, version: int, places: Watched
) -> list[WriteCall[Connected | None] | WriteCall[Subscription | None]]:
    """Delete a closed connection and all its subscriptions."""
    return [drop_connection(connection_id, version), drop_subscription(each(places), connection_id)]


@forum.query(Subscription, consistent=True, expected_items=2, rate=Rate(average=3, peak=50))
def watchers(place: Place) -> KeyCondition:
    """List the unexpired subscriptions to a thread."""
    return pk(participant_id=place.participant_id, item_id=place.item_id)


@forum.update(Server, upsert=True, rate=Rate(average=0.2, peak=1))
def beat(server_id: str, ttl: int) -> ItemWrite:
    """Renew the registration of a process, which is then considered alive until the time `ttl`."""
    return item(server_id=server_id).set(ttl=ttl)


@forum.query(Server, consistent=True, after=["beat"], expected_items=2, rate=Rate(average=3, peak=50))
def servers() -> KeyCondition:
    """List the processes whose registration has not expired."""
    return pk()


@forum.update(StatusCopy, upsert=True, rate=Rate(average=0.5, peak=20))
def copy_status(place: Place, status: str, revision: int) -> ItemWrite:
    """Copy a thread's status from SQL, unless the stored copy has the same or a later revision."""
    is_later = F.revision.missing() | (F.revision < revision)
    return (
        item(participant_id=place.participant_id, item_id=place.item_id)
        .set(status=status, revision=revision)
        .condition(is_later)
    )


# Follows.


@forum.create(Follow, rate=Rate(average=0.3, peak=10))
def follow(follower: Follow) -> ItemWrite:
    """Store a record that a user follows a thread and is therefore notified about new messages."""
    return item(follower)


@forum.delete(Follow, rate=Rate(average=0.1, peak=5))
def unfollow(place: Place, user_id: str) -> ItemWrite:
    """Delete a user's follow record for a thread."""
    return item(participant_id=place.participant_id, item_id=place.item_id, user_id=user_id)


@forum.get(Follow, consistent=True, rate=Rate(average=1, peak=20))
def follow_of(place: Place, user_id: str) -> ItemKey:
    """Get a user's follow record for a thread."""
    return item(participant_id=place.participant_id, item_id=place.item_id, user_id=user_id)


@forum.query(Follow, consistent=True, expected_items=3, rate=Rate(average=3, peak=50))
def followers(place: Place) -> KeyCondition:
    """List the followers of a thread."""
    return pk(participant_id=place.participant_id, item_id=place.item_id)


@forum.update(Follow, rate=Rate(average=0.3, peak=10))
def keep_follow(place: Place, user_id: str, status_seq: int) -> ItemWrite:
    """Make a follow record permanent after its thread was opened, unless a later status change was applied."""
    return (
        item(participant_id=place.participant_id, item_id=place.item_id, user_id=user_id)
        .set(status_seq=status_seq, ttl=None)
        .condition(F.status_seq < status_seq)
    )


@forum.update(Follow, rate=Rate(average=0.3, peak=10))
def end_follow(place: Place, user_id: str, status_seq: int, ttl: int) -> ItemWrite:
    """Set the expiry of a follow record after its thread was closed, unless a later status change was applied."""
    return (
        item(participant_id=place.participant_id, item_id=place.item_id, user_id=user_id)
        .set(status_seq=status_seq, ttl=ttl)
        .condition(F.status_seq < status_seq)
    )


# Notifications.


@forum.create(Notification, rate=Rate(average=3, peak=60))
def notify(notification: Notification) -> ItemWrite:
    """Create a user's notification about a message, unless the notification already exists.

    A repeated write fails, so a notification that was marked as read stays read.
    """
    return item(notification)


@forum.query(Notification, descending=True, limit=20, expected_items=20, rate=Rate(average=2, peak=20))
def notifications(user_id: str) -> KeyCondition:
    """List a user's notifications, newest first."""
    return pk(user_id=user_id)


@forum.update(Notification, rate=Rate(average=1, peak=10))
def mark_read(user_id: str, at_ms: int, event_id: str, is_read: bool) -> ItemWrite:
    """Mark a notification as read or unread."""
    return item(user_id=user_id, at_ms=at_ms, event_id=event_id).set(is_read=is_read)


@forum.delete(Notification, rate=Rate(average=0.3, peak=5))
def drop_notification(user_id: str, at_ms: int, event_id: str) -> ItemWrite:
    """Delete a notification."""
    return item(user_id=user_id, at_ms=at_ms, event_id=event_id)


# Consumers of changes. The application provides their handlers.


@forum.on_change(Event, batch=100, retries=5, on_failure="unpushed", idempotent=True)
def push_events(changes: list[Inserted[Event]]) -> None:
    """Push new events to the WebSocket clients that are connected to this process."""
    raise NotImplementedError(f"no handler is registered for {len(changes)} events")


@forum.on_change(Notification, batch=100, retries=5, on_failure="unpushed", idempotent=True)
def push_notifications(changes: list[Inserted[Notification]]) -> None:
    """Push new notifications to the users who are connected to this process."""
    raise NotImplementedError(f"no handler is registered for {len(changes)} notifications")


@forum.on_change(Subscription, batch=100, retries=5, on_failure="unpushed", idempotent=True)
def push_watchers(
    changes: list[Inserted[Subscription] | Removed[Subscription] | Expired[Subscription]],
) -> None:
    """When a watcher joins or leaves a thread, notify the other watchers who are connected to this process."""
    raise NotImplementedError(f"no handler is registered for {len(changes)} watchers")


@forum.on_change(StatusCopy, batch=100, retries=5, on_failure="unpushed", idempotent=True)
def push_statuses(changes: list[Inserted[StatusCopy] | Modified[StatusCopy]]) -> None:
    """Report a thread's status changes to the watchers that are connected to this process."""
    raise NotImplementedError(f"no handler is registered for {len(changes)} statuses")


@forum.on_change(Event, filter=F.type == EventType.MESSAGE, retries=10, on_failure="unnotified", idempotent=True)
def notify_followers(change: Inserted[Event]) -> None:
    """Notify the followers of a thread about a new message, except those who are watching the thread."""
    raise NotImplementedError(f"no handler is registered for message {change.new.event_id}")


suppressed = [
    suppress(
        "KP310",
        on="messages",
        reason="half of a thread's events are messages, so an index of messages would cost more than it saves",
    ),
    suppress(
        "KP707", reason="each process reads the stream once for all pushes; one process also reads it for notifications"
    ),
    suppress(
        "KP712",
        on="push_events",
        reason="the specification requires one table; a process reads its stream once for all pushes",
    ),
    suppress("KP712", on="push_notifications", reason="uses the same stream reader as push_events"),
    suppress("KP712", on="push_watchers", reason="uses the same stream reader as push_events"),
    suppress("KP712", on="push_statuses", reason="uses the same stream reader as push_events"),
]
