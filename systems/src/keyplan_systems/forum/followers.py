"""Users who follow threads, and their notifications about new messages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Final

from keyplan import Page
from keyplan.client.connection import Connection
from keyplan.client.errors import AlreadyExistsError, ConditionFailedError, NotFoundError
from keyplan.clock import Clock
from keyplan_systems.forum import design
from keyplan_systems.forum.connections import Connections
from keyplan_systems.forum.domain import BadRequestError, ForumError
from keyplan_systems.forum.entities import Event, EventType, Follow, Notification, Place
from keyplan_systems.web.request_context import omit_unreadable

_DAY: Final = 24 * 3600
CLOSED_FOLLOW_SECONDS: Final = 14 * _DAY
"""Time in seconds for which users continue to follow a thread after it was closed."""
NOTIFICATION_SECONDS: Final = 60 * _DAY
EXCERPT_CHARACTERS: Final = 200
MAX_COUNTED: Final = 100
"""Minimum number of unread notifications for which the badge shows "100+" instead of the exact number."""
MAX_READ: Final = 1_000
"""Maximum number of a user's newest notifications that are read to find unread notifications."""
_READ_PAGE: Final = 100

_SUPERSEDED_ERRORS = (ConditionFailedError, NotFoundError)
"""Errors of a write that applies a status change to a follow record. They mean that this change or a later one was
already applied, or that the record was deleted.
"""

_NOTIFICATION_ID = re.compile(r"([0-9]{13})-([A-Za-z0-9._-]{1,100})")


class UnknownNotificationError(ForumError):
    """Raised if the user does not have a notification with the given ID."""

    status = 404


class Followers:
    """Operations on follow records and notifications."""

    def __init__(self, db: Connection, clock: Clock, connections: Connections) -> None:
        self._db, self._clock, self._connections = db, clock, connections

    # Follows.

    def follow(self, place: Place, user_id: str, *, expires: bool = False) -> None:
        """Make a user follow a thread. By default, the follow record does not expire. If `expires` is True, the record
        expires after CLOSED_FOLLOW_SECONDS. Pass True for a closed thread.

        If the user already follows the thread, nothing changes.
        """
        self._add(place, user_id, 0, self._expiry_s() if expires else None)

    def let_expire(self, place: Place, user_id: str, status_seq: int) -> None:
        """Set the expiry of a user's follow record after the thread was closed. Nothing changes if the record already
        expires or a later status change has been applied to it.
        """
        follower = self._db.run(design.follow_of(place, user_id))
        if follower is not None and follower.ttl is None:
            self._set_expiry(follower, status_seq)

    def make_permanent(self, place: Place, user_id: str, status_seq: int) -> None:
        """Make a user's follow record permanent again after the thread was reopened. Nothing changes if a later status
        change has been applied to the record.
        """
        follower = self._db.run(design.follow_of(place, user_id))
        if follower is not None and follower.ttl is not None:
            self._make_permanent(follower, status_seq)

    def unfollow(self, place: Place, user_id: str) -> None:
        """Make a user stop following a thread. Repeated calls change nothing."""
        self._db.run(design.unfollow(place, user_id))

    def is_following(self, place: Place, user_id: str) -> bool:
        """Return True if the user follows the thread."""
        return self._db.run(design.follow_of(place, user_id)) is not None

    def apply_status_change(self, event: Event, people: Iterable[str]) -> None:
        """Update the follow records of a thread that was opened or closed. Repeated calls change nothing.

        `event` is the event that reports the change. When a thread is opened, the users in `people` become followers,
        and all follow records become permanent. When a thread is closed, all follow records are set to expire after two
        weeks. The records are updated separately, because a thread can have more followers than a transaction can
        update. A record to which a later status change was already applied stays unchanged.
        """
        opened = event.type is EventType.THREAD_OPENED
        if opened:
            for user_id in people:
                self._add(event.place, user_id, event.seq)
        for follower in list(self._db.iterate(design.followers(event.place))):
            if opened:
                self._make_permanent(follower, event.seq)
            else:
                self._set_expiry(follower, event.seq)

    def _add(self, place: Place, user_id: str, status_seq: int, ttl: int | None = None) -> None:
        new = Follow(
            participant_id=place.participant_id,
            item_id=place.item_id,
            user_id=user_id,
            status_seq=status_seq,
            ttl=ttl,
        )
        try:
            self._db.run(design.follow(new))
        except AlreadyExistsError:
            return  # these users already follow it

    def _make_permanent(self, follower: Follow, status_seq: int) -> None:
        with suppress(*_SUPERSEDED_ERRORS):
            self._db.run(design.keep_follow(follower.place, follower.user_id, status_seq))

    def _set_expiry(self, follower: Follow, status_seq: int) -> None:
        with suppress(*_SUPERSEDED_ERRORS):
            self._db.run(design.end_follow(follower.place, follower.user_id, status_seq, self._expiry_s()))

    def _expiry_s(self) -> int:
        return int(self._clock.now()) + CLOSED_FOLLOW_SECONDS

    # Notifications.

    def users_to_notify(self, message: Event) -> set[str]:
        """Return the IDs of the followers of a message's thread, except the author of the message and users who are
        watching the thread.
        """
        followers = {follower.user_id for follower in self._db.iterate(design.followers(message.place))}
        return followers - self._connections.users(message.place) - {message.user_id}

    def notify(self, user_id: str, message: Event) -> None:
        """Store a notification about a message for a user. Repeated calls change nothing."""
        assert message.user_id is not None, "a message has an author"
        assert message.content is not None, "a message has a text"
        notification = Notification(
            user_id=user_id,
            at_ms=message.at_ms,
            event_id=message.event_id,
            participant_id=message.participant_id,
            item_id=message.item_id,
            author_id=message.user_id,
            excerpt=message.content[:EXCERPT_CHARACTERS],
            ttl=int(self._clock.now()) + NOTIFICATION_SECONDS,
        )
        try:
            self._db.run(design.notify(notification))
        except AlreadyExistsError:
            return  # notified before: the read state stays unchanged

    def notifications(self, user_id: str, limit: int, cursor: str | None) -> Page[Notification]:
        """Return a page of a user's notifications, newest first. Raises CursorError for an invalid cursor."""
        return self._db.run(design.notifications(user_id), limit=limit, cursor=cursor, unreadable=omit_unreadable)

    def unread(self, user_id: str) -> list[Notification]:
        """Return the unread notifications among a user's MAX_READ newest notifications, newest first."""
        newest = self._db.iterate(design.notifications(user_id), page_size=_READ_PAGE, unreadable=omit_unreadable)
        return [notification for notification in islice(newest, MAX_READ) if not notification.is_read]

    def mark_all_read(self, notifications: Iterable[Notification]) -> int:
        """Mark notifications as read, and return the number of marked notifications. Deleted notifications are skipped
        and not counted.
        """
        marked = 0
        for notification in notifications:
            with suppress(NotFoundError):
                self._db.run(design.mark_read(notification.user_id, notification.at_ms, notification.event_id, True))
                marked += 1
        return marked

    def set_read(self, user_id: str, notification_id: str, *, is_read: bool) -> Notification:
        """Mark a user's notification as read or unread. Raises UnknownNotificationError if it does not exist."""
        at_ms, event_id = _parts(notification_id)
        try:
            return self._db.run(design.mark_read(user_id, at_ms, event_id, is_read))
        except NotFoundError as error:
            raise UnknownNotificationError("you have no such notification") from error

    def drop(self, user_id: str, notification_id: str) -> None:
        """Delete a user's notification. Repeated calls change nothing."""
        self._db.run(design.drop_notification(user_id, *_parts(notification_id)))

    def drop_all(self, user_id: str) -> int:
        """Delete all notifications of a user, and return the number of deleted notifications."""
        notifications = list(self._db.iterate(design.notifications(user_id)))
        for notification in notifications:
            self._db.run(design.drop_notification(user_id, notification.at_ms, notification.event_id))
        return len(notifications)


def notification_id(notification: Notification) -> str:
    """Return the ID by which the API identifies a notification."""
    return f"{notification.at_ms:013d}-{notification.event_id}"


def _parts(text: str) -> tuple[int, str]:
    match = _NOTIFICATION_ID.fullmatch(text)
    if match is None:
        raise BadRequestError("a notification ID consists of 13 digits, a dash and the event's ID")
    return int(match[1]), match[2]
