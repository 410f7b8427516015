"""Lists the threads that a user may read. The permission rule is part of the SQL query.

The same rule is also implemented in `permissions.may_read`. The second implementation in SQL is needed because the
database must select the threads of a page. A property-based test compares the two implementations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    CTE,
    ColumnElement,
    Select,
    SmallInteger,
    and_,
    case,
    exists,
    func,
    or_,
    select,
    tuple_,
    type_coerce,
)
from sqlalchemy.orm import Session

from keyplan.clock import Clock
from keyplan_systems.forum.domain import (
    CLOSED_READABLE_MS,
    BadRequestError,
    GroupKind,
    NotAllowedError,
    Status,
    Thread,
    ThreadKey,
    View,
    Watch,
    checked_id,
)
from keyplan_systems.forum.permissions import watches_members
from keyplan_systems.forum.relational.facts import load_facts
from keyplan_systems.forum.relational.models import (
    GroupRow,
    ItemPermissionRow,
    ItemRow,
    MembershipRow,
    ThreadRow,
    ValidatedRow,
)
from keyplan_systems.forum.relational.rows import THREAD_COLUMNS, thread_of
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import now_ms

DEFAULT_PAGE_SIZE: Final = 20
MAX_PAGE_SIZE: Final = 100


@dataclass(frozen=True, slots=True)
class ThreadPosition:
    """A position in a list of threads. The next page starts after this position."""

    latest_update_at_ms: int
    key: ThreadKey


@dataclass(frozen=True, slots=True)
class ListedThread:
    """A thread as shown in a list, with the title of its item and the name of its participant."""

    thread: Thread
    item_title: str
    participant_name: str


@dataclass(frozen=True, slots=True)
class ThreadPage:
    """A page of threads. The next page starts after the position `after`, which is None on the last page."""

    threads: tuple[ListedThread, ...]
    after: ThreadPosition | None


def list_threads(
    database: Database,
    clock: Clock,
    user_id: str,
    *,
    watched_group_id: str | None = None,
    is_mine: bool | None = None,
    status: Status | None = None,
    oldest_first: bool = False,
    limit: int = DEFAULT_PAGE_SIZE,
    after: ThreadPosition | None = None,
) -> ThreadPage:
    """List threads that the user may read, most recently updated first unless `oldest_first` is True.

    Exactly one of `is_mine` and `watched_group_id` is required. `is_mine=True` selects the user's own threads, and
    `is_mine=False` the threads of other users. `watched_group_id` selects the threads of participants in this group.
    `status` selects the threads with this status. Raises BadRequestError if both or neither of `watched_group_id` and
    `is_mine` are given or if `limit` is not between 1 and 100, and NotAllowedError if the user may not watch the
    members of the group.
    """
    _check_filter(watched_group_id, is_mine, limit)
    with database.read() as session:
        if watched_group_id is not None:
            _check_watched(session, user_id, watched_group_id)
        query = _readable(user_id, now_ms(clock), watched_group_id, is_mine)
        if status is not None:
            query = query.where(ThreadRow.status == status)
        rows = session.execute(_paged(query, limit, after, oldest_first=oldest_first)).all()
    threads = [ListedThread(thread_of(tuple(row[:-2])), row.title, row.name) for row in rows]
    return ThreadPage(tuple(threads[:limit]), _position(threads[limit - 1].thread) if len(threads) > limit else None)


def _check_filter(watched_group_id: str | None, is_mine: bool | None, limit: int) -> None:
    if (watched_group_id is None) == (is_mine is None):
        raise BadRequestError("send exactly one of watched_group_id and is_mine")
    if watched_group_id is not None:
        checked_id(watched_group_id, "watched_group_id")
    if not 1 <= limit <= MAX_PAGE_SIZE:
        raise BadRequestError(f"limit must be 1 to {MAX_PAGE_SIZE}")


def _check_watched(session: Session, user_id: str, group_id: str) -> None:
    facts = load_facts(session, {user_id, group_id}, ())
    if not watches_members(facts, user_id, group_id):
        raise NotAllowedError("you may not watch the members of this group")


def _readable(
    user_id: str, at_ms: int, watched_group_id: str | None, is_mine: bool | None
) -> Select[*tuple[object, ...]]:
    user_groups = groups_above(user_id)
    permissions = permission_levels(user_groups)
    is_own = ThreadRow.participant_id.in_(_participant_ids(user_id))
    is_helper = and_(
        permissions.c.watch == int(Watch.RESULT),
        ThreadRow.helper_group_id.in_(select(user_groups.c.id)),
        or_(ThreadRow.status != Status.CLOSED, ThreadRow.closed_at_ms > at_ms - CLOSED_READABLE_MS),
        _validated(user_id),
    )
    query = (
        select(*THREAD_COLUMNS, ItemRow.title, GroupRow.name)
        .join(permissions, permissions.c.item_id == ThreadRow.item_id)
        .join(ItemRow, ItemRow.id == ThreadRow.item_id)
        .join(GroupRow, GroupRow.id == ThreadRow.participant_id)
        .where(or_(is_own, permissions.c.watch >= int(Watch.ANSWER), is_helper))
    )
    if watched_group_id is not None:
        return query.where(ThreadRow.participant_id.in_(select(groups_below(watched_group_id).c.id)))
    return query.where(is_own if is_mine else ~is_own)


def permission_levels(user_groups: CTE) -> CTE:
    """Return a query (CTE) for the items whose content a user may view, with the user's level of `can_watch`.
    `user_groups` is the query from `groups_above`.
    """
    row = ItemPermissionRow
    view = func.max(case((row.is_owner, int(View.SOLUTION)), else_=type_coerce(row.can_view, SmallInteger)))
    watch = func.max(case((row.is_owner, int(Watch.ANSWER_WITH_GRANT)), else_=type_coerce(row.can_watch, SmallInteger)))
    return (
        select(row.item_id, watch.label("watch"))
        .where(row.group_id.in_(select(user_groups.c.id)))
        .group_by(row.item_id)
        .having(view >= int(View.CONTENT))
        .cte("held")
    )


def groups_above(user_id: str) -> CTE:
    """Return a recursive query (CTE) for the IDs of a user and all groups above the user."""
    reached = select(GroupRow.id).where(GroupRow.id == user_id).cte("mine", recursive=True)
    return reached.union(select(MembershipRow.parent_id).where(MembershipRow.child_id == reached.c.id))


def groups_below(group_id: str) -> CTE:
    """Return a recursive query (CTE) for the IDs of a group and all groups below it."""
    reached = select(GroupRow.id).where(GroupRow.id == group_id).cte("watched", recursive=True)
    return reached.union(select(MembershipRow.child_id).where(MembershipRow.parent_id == reached.c.id))


def _participant_ids(user_id: str) -> Select[*tuple[object, ...]]:
    teams = (
        select(MembershipRow.parent_id)
        .join(GroupRow, GroupRow.id == MembershipRow.parent_id)
        .where(MembershipRow.child_id == user_id, GroupRow.kind == GroupKind.TEAM)
    )
    user_row = select(GroupRow.id).where(GroupRow.id == user_id)
    return select(user_row.union_all(teams).subquery().c.id)


def _validated(user_id: str) -> ColumnElement[bool]:
    return exists().where(
        ValidatedRow.item_id == ThreadRow.item_id, ValidatedRow.participant_id.in_(_participant_ids(user_id))
    )


def _paged(
    query: Select[*tuple[object, ...]], limit: int, after: ThreadPosition | None, *, oldest_first: bool
) -> Select[*tuple[object, ...]]:
    """Sort the query, and limit it to the first `limit` + 1 threads that follow the position `after`. The additional
    thread shows whether a next page exists.
    """
    sort_columns = (ThreadRow.latest_update_at_ms, ThreadRow.item_id, ThreadRow.participant_id)
    if after is not None:
        position = (after.latest_update_at_ms, after.key.item_id, after.key.participant_id)
        query = query.where(tuple_(*sort_columns) > position if oldest_first else tuple_(*sort_columns) < position)
    order = sort_columns if oldest_first else tuple(column.desc() for column in sort_columns)
    return query.order_by(*order).limit(limit + 1)


def _position(thread: Thread) -> ThreadPosition:
    return ThreadPosition(thread.latest_update_at_ms, thread.key)
