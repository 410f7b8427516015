"""Rules for changing the status, the helper group and the message count of a thread. The functions do not perform I/O.

Permissions per status (no row counts as not open; requesting the current status changes nothing):

    now       request   participant                       observer   other writer   others who see the item
    same      same      yes                               yes        yes            yes
    open      open      yes                               yes        yes            no
    open      closed    yes                               no         no             no
    not open  open      if allowed to ask that group      yes        no             no
    no row    closed    no                                no         no             no

The permission to set a status includes changes to the other fields in the same request. A request without a new status
that changes the helper group or the message count requires the permission to write.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from keyplan_systems.forum.domain import (
    MAX_MESSAGE_COUNT,
    BadRequestError,
    ForumError,
    GroupKind,
    LogEntry,
    LogKind,
    NotAllowedError,
    Status,
    Thread,
    ThreadKey,
    ThreadUpdate,
    View,
)
from keyplan_systems.forum.domain_facts import Facts
from keyplan_systems.forum.permissions import (
    is_observer,
    is_participant,
    is_visible,
    levels,
    may_request_help,
    may_write,
)


@dataclass(frozen=True, slots=True)
class Situation:
    """A thread, the user who wants to change it, and the data on which the user's permissions depend."""

    facts: Facts
    user_id: str
    key: ThreadKey
    thread: Thread | None

    @property
    def is_open(self) -> bool:
        """Whether the thread is open. A thread without a row is not open."""
        return self.thread is not None and self.thread.status.is_open

    @property
    def is_mine(self) -> bool:
        """Whether the user is the thread's participant or a member of the participating team."""
        return is_participant(self.facts, self.user_id, self.key)

    @property
    def may_write(self) -> bool:
        """Whether the user may write messages to the thread in its current status."""
        return may_write(self.facts, self.user_id, self.key, self.thread)


@dataclass(frozen=True, slots=True)
class Change:
    """A changed thread, and the event log entries to store in the same transaction."""

    thread: Thread
    entries: tuple[LogEntry, ...] = ()


def changed_thread(now: Situation, update: ThreadUpdate, at_ms: int) -> Change | None:
    """Return the thread after the requested change, together with the event log entries for the change. Return None if
    the change has no effect. `at_ms` is the time of the change.

    Raises BadRequestError if the requested change is invalid or contradicts the thread's state, and NotAllowedError if
    the user may not change the thread in this way.
    """
    check_shape(update)
    if levels(now.facts, now.user_id, now.key.item_id).view < View.CONTENT:
        raise NotAllowedError("the content of the item must be visible to you")
    check_participant(now.facts, now.key)
    _check_helper_group(now, update)
    _check_helper_allowed(now, update)
    if not _may_update(now, update):
        raise NotAllowedError("you may not change this thread in this way")
    return _change(now, update, at_ms)


def check_shape(update: ThreadUpdate) -> None:
    """Raise BadRequestError if the requested change is invalid for every thread."""
    if update.status is None and not update.touches_more_than_status:
        raise BadRequestError("send status, helper_group_id, message_count or message_count_increment")
    if update.message_count is not None and update.message_count_increment is not None:
        raise BadRequestError("send message_count or message_count_increment, not both")
    if update.message_count is not None and not 0 <= update.message_count <= MAX_MESSAGE_COUNT:
        raise BadRequestError(f"message_count must be 0 to {MAX_MESSAGE_COUNT}")
    if abs(update.message_count_increment or 0) > MAX_MESSAGE_COUNT:
        raise BadRequestError(f"message_count_increment must be at most {MAX_MESSAGE_COUNT} either way")


def check_participant(facts: Facts, key: ThreadKey) -> None:
    """Raise BadRequestError unless the thread's participant is a user or a team."""
    group = facts.groups.get(key.participant_id)
    if group is None or group.kind not in (GroupKind.USER, GroupKind.TEAM):
        raise BadRequestError(f"participant {key.participant_id} is neither a user nor a team")


def may_set_status(now: Situation, update: ThreadUpdate) -> bool:
    """Return True if the user may set the requested status. The rules are in the table in the module's
    documentation.
    """
    wish = update.status
    if wish is None or not _sets_new_status(now, update):
        return True
    if now.is_mine:
        # Participants who are also observers may open their own thread only if they may ask the requested group.
        return now.is_open or (wish.is_open and _may_ask(now, update))
    if not wish.is_open:
        return False
    return is_observer(now.facts, now.user_id, now.key) or (now.is_open and now.may_write)


def may_open(now: Situation, helper_group_id: str) -> bool:
    """Return True if the user may open the thread with this helper group. A thread that is already open is treated as
    if it were closed.
    """
    update = ThreadUpdate(Status.WAITING_FOR_TRAINER, helper_group_id)
    try:
        return changed_thread(replace(now, thread=_closed(now.thread)), update, 0) is not None
    except ForumError:
        return False


def _closed(thread: Thread | None) -> Thread | None:
    return None if thread is None else replace(thread, status=Status.CLOSED, closed_at_ms=0)


def _sets_new_status(now: Situation, update: ThreadUpdate) -> bool:
    return update.status is not None and (now.thread is None or update.status is not now.thread.status)


def _may_update(now: Situation, update: ThreadUpdate) -> bool:
    if update.touches_more_than_status and not _sets_new_status(now, update):
        return now.may_write
    return may_set_status(now, update)


def _may_ask(now: Situation, update: ThreadUpdate) -> bool:
    helper = update.helper_group_id
    return helper is not None and may_request_help(now.facts, now.user_id, now.key.item_id, helper)


def _check_helper_group(now: Situation, update: ThreadUpdate) -> None:
    """Raise BadRequestError if a thread is opened without a helper group, or if a helper group is given for a thread
    that will not be open.
    """
    will_be_open = now.is_open if update.status is None else update.status.is_open
    if update.helper_group_id is not None and not will_be_open:
        raise BadRequestError("helper_group_id must not be sent when a thread is closed or stays closed")
    if update.helper_group_id is None and will_be_open and not now.is_open:
        raise BadRequestError("helper_group_id must be sent to open a thread")


def _check_helper_allowed(now: Situation, update: ThreadUpdate) -> None:
    helper = update.helper_group_id
    if helper is None:
        return
    if not all(is_visible(now.facts, helper, user_id) for user_id in (now.user_id, now.key.participant_id)):
        raise NotAllowedError("helper_group_id must be a group that you and the participant can see")
    if now.is_mine and not _may_ask(now, update):
        raise NotAllowedError("helper_group_id must be a group you may request help from, or one below it")


def _change(now: Situation, update: ThreadUpdate, at_ms: int) -> Change | None:
    old = now.thread or Thread(now.key, Status.CLOSED, "", 0, 0, None, 0)
    new = _with_wishes(old, update)
    if new == now.thread:
        return None
    # Two changes never share a time, so the log keeps their order even if the clock stops or steps back.
    new = replace(new, latest_update_at_ms=max(at_ms, old.latest_update_at_ms + 1))
    if not _sets_new_status(now, update):
        return Change(new)
    closed_at_ms = None if new.status.is_open else new.latest_update_at_ms
    new = replace(new, revision=old.revision + 1, closed_at_ms=closed_at_ms)
    return Change(new, () if now.is_open == new.status.is_open else (_entry(now, new),))


def _with_wishes(old: Thread, update: ThreadUpdate) -> Thread:
    count = old.message_count if update.message_count is None else update.message_count
    count += update.message_count_increment or 0
    return replace(
        old,
        status=update.status or old.status,
        helper_group_id=update.helper_group_id or old.helper_group_id,
        message_count=min(MAX_MESSAGE_COUNT, max(0, count)),
    )


def _entry(now: Situation, new: Thread) -> LogEntry:
    """Return the event log entry for the opening or closing of a thread. Each status change has a different key, which
    stays the same if the write of the entry is repeated.
    """
    kind = LogKind.THREAD_OPENED if new.status.is_open else LogKind.THREAD_CLOSED
    key = f"{kind}-{new.key.item_id}-{new.key.participant_id}-{new.revision}"
    return LogEntry(key, kind, new.key, now.user_id, new.latest_update_at_ms)
