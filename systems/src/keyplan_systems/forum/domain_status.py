"""Rules for changing the status, the helper group and the message count of a thread. The functions do not perform I/O.

Permissions to change the status, by current status (now) and requested status. A thread without a row in SQL counts as
not open. A request for the current status changes nothing.

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
class ThreadContext:
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


def changed_thread(context: ThreadContext, update: ThreadUpdate, at_ms: int) -> Change | None:
    """Return the thread after the requested change, together with the event log entries for the change. Return None if
    the change has no effect. `at_ms` is the time of the change.

    Raises BadRequestError if the requested change is invalid or contradicts the thread's state, and NotAllowedError if
    the user may not change the thread in this way.
    """
    check_shape(update)
    if levels(context.facts, context.user_id, context.key.item_id).view < View.CONTENT:
        raise NotAllowedError("the content of the item must be visible to you")
    check_participant(context.facts, context.key)
    _check_helper_group(context, update)
    _check_helper_allowed(context, update)
    if not _may_update(context, update):
        raise NotAllowedError("you may not change this thread in this way")
    return _change(context, update, at_ms)


def check_shape(update: ThreadUpdate) -> None:
    """Raise BadRequestError if the requested change is invalid for every thread."""
    if update.status is None and not update.touches_more_than_status:
        raise BadRequestError("send status, helper_group_id, message_count or message_count_increment")
    if update.message_count is not None and update.message_count_increment is not None:
        raise BadRequestError("send message_count or message_count_increment, not both")
    if update.message_count is not None and not 0 <= update.message_count <= MAX_MESSAGE_COUNT:
        raise BadRequestError(f"message_count must be 0 to {MAX_MESSAGE_COUNT}")
    if abs(update.message_count_increment or 0) > MAX_MESSAGE_COUNT:
        raise BadRequestError(f"message_count_increment must be -{MAX_MESSAGE_COUNT} to {MAX_MESSAGE_COUNT}")


def check_participant(facts: Facts, key: ThreadKey) -> None:
    """Raise BadRequestError unless the thread's participant is a user or a team."""
    group = facts.groups.get(key.participant_id)
    if group is None or group.kind not in (GroupKind.USER, GroupKind.TEAM):
        raise BadRequestError(f"participant {key.participant_id} is neither a user nor a team")


def may_set_status(context: ThreadContext, update: ThreadUpdate) -> bool:
    """Return True if the user may set the requested status. The rules are in the table in the module's
    documentation.
    """
    requested = update.status
    if requested is None or not _sets_new_status(context, update):
        return True
    if context.is_mine:
        # Participants who are also observers may open their own thread only if they may ask the requested group.
        return context.is_open or (requested.is_open and _may_ask(context, update))
    if not requested.is_open:
        return False
    return is_observer(context.facts, context.user_id, context.key) or (context.is_open and context.may_write)


def may_open(context: ThreadContext, helper_group_id: str) -> bool:
    """Return True if the user may open the thread with this helper group. A thread that is already open is treated as
    if it were closed.
    """
    update = ThreadUpdate(Status.WAITING_FOR_TRAINER, helper_group_id)
    try:
        return changed_thread(replace(context, thread=_closed(context.thread)), update, 0) is not None
    except ForumError:
        return False


def _closed(thread: Thread | None) -> Thread | None:
    return None if thread is None else replace(thread, status=Status.CLOSED, closed_at_ms=0)


def _sets_new_status(context: ThreadContext, update: ThreadUpdate) -> bool:
    return update.status is not None and (context.thread is None or update.status is not context.thread.status)


def _may_update(context: ThreadContext, update: ThreadUpdate) -> bool:
    if update.touches_more_than_status and not _sets_new_status(context, update):
        return context.may_write
    return may_set_status(context, update)


def _may_ask(context: ThreadContext, update: ThreadUpdate) -> bool:
    helper = update.helper_group_id
    return helper is not None and may_request_help(context.facts, context.user_id, context.key.item_id, helper)


def _check_helper_group(context: ThreadContext, update: ThreadUpdate) -> None:
    """Raise BadRequestError if a thread is opened without a helper group, or if a helper group is given for a thread
    that will not be open.
    """
    will_be_open = context.is_open if update.status is None else update.status.is_open
    if update.helper_group_id is not None and not will_be_open:
        raise BadRequestError("helper_group_id must not be sent when a thread is closed or stays closed")
    if update.helper_group_id is None and will_be_open and not context.is_open:
        raise BadRequestError("helper_group_id must be sent to open a thread")


def _check_helper_allowed(context: ThreadContext, update: ThreadUpdate) -> None:
    helper = update.helper_group_id
    if helper is None:
        return
    if not all(is_visible(context.facts, helper, user_id) for user_id in (context.user_id, context.key.participant_id)):
        raise NotAllowedError("helper_group_id must be a group that you and the participant can see")
    if context.is_mine and not _may_ask(context, update):
        raise NotAllowedError("helper_group_id must be a group you may request help from, or one below it")


def _change(context: ThreadContext, update: ThreadUpdate, at_ms: int) -> Change | None:
    old = context.thread or Thread(context.key, Status.CLOSED, "", 0, 0, None, 0)
    new = _apply_update(old, update)
    if new == context.thread:
        return None
    # Two changes never share a time, so the log keeps their order even if the clock stops or steps back.
    new = replace(new, latest_update_at_ms=max(at_ms, old.latest_update_at_ms + 1))
    if not _sets_new_status(context, update):
        return Change(new)
    closed_at_ms = None if new.status.is_open else new.latest_update_at_ms
    new = replace(new, revision=old.revision + 1, closed_at_ms=closed_at_ms)
    return Change(new, () if context.is_open == new.status.is_open else (_entry(context, new),))


def _apply_update(old: Thread, update: ThreadUpdate) -> Thread:
    count = old.message_count if update.message_count is None else update.message_count
    count += update.message_count_increment or 0
    return replace(
        old,
        status=update.status or old.status,
        helper_group_id=update.helper_group_id or old.helper_group_id,
        message_count=min(MAX_MESSAGE_COUNT, max(0, count)),
    )


def _entry(context: ThreadContext, new: Thread) -> LogEntry:
    """Return the event log entry for opening or closing a thread. The entry's key is unique to the status change, and
    is the same if the entry is written again.
    """
    kind = LogKind.THREAD_OPENED if new.status.is_open else LogKind.THREAD_CLOSED
    key = f"{kind}-{new.key.item_id}-{new.key.participant_id}-{new.revision}"
    return LogEntry(key, kind, new.key, context.user_id, new.latest_update_at_ms)
