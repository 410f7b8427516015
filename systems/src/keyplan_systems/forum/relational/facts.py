"""Loads the data on which the permission rules depend, with a constant number of SQL statements.

Seven statements are needed, regardless of the number of threads. They load the groups above the given users, the groups
that these groups manage, the groups above the managed groups and above the helper groups, the items above the given
items, and the permissions, help grants and validated results for these groups and items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from keyplan_systems.forum.domain import ThreadKey
from keyplan_systems.forum.domain_facts import (
    Facts,
    Group,
    HelpGrant,
    ItemEdge,
    ItemPermission,
    Manager,
    edges_of,
)
from keyplan_systems.forum.relational.models import (
    GroupRow,
    HelpGrantRow,
    ItemEdgeRow,
    ItemPermissionRow,
    ItemRow,
    ManagerRow,
    MembershipRow,
    ValidatedRow,
)


@dataclass(frozen=True, slots=True)
class _Groups:
    rows: dict[str, Group]
    memberships: frozenset[tuple[str, str]]

    def __or__(self, other: _Groups) -> _Groups:
        return _Groups(self.rows | other.rows, self.memberships | other.memberships)


def load_facts(session: Session, people: Iterable[str], items: Iterable[str], helpers: Iterable[str] = ()) -> Facts:
    """Return the data that the permission rules need for the given IDs.

    `people` contains the IDs of users and participants, `items` the IDs of items, and `helpers` the IDs of groups that
    may be asked for help.
    """
    item_ids = set(items)
    people_groups = _groups_above(session, set(people))
    managers = _managers(session, people_groups.rows)
    groups = people_groups | _groups_above(session, {row.group_id for row in managers} | set(helpers))
    item_edges = _item_edges(session, item_ids)
    ancestor_item_ids = item_ids | {edge.parent_id for edge in item_edges}
    return Facts(
        groups=groups.rows,
        group_parents=edges_of(groups.memberships),
        item_edges=item_edges,
        managers=managers,
        permissions=_permissions(session, people_groups.rows, item_ids),
        help_grants=_help_grants(session, people_groups.rows, ancestor_item_ids),
        validated=_validated(session, people_groups.rows, item_ids),
    )


def load_thread_facts(
    session: Session, user_id: str, keys: Collection[ThreadKey], helper_ids: Iterable[str] = ()
) -> Facts:
    """Return the data that determines the permissions of one user in the threads with the given keys.

    `helper_ids` contains the IDs of the helper groups in a requested change.
    """
    people = {user_id} | {key.participant_id for key in keys}
    return load_facts(session, people, {key.item_id for key in keys}, helper_ids)


def _groups_above(session: Session, start: set[str]) -> _Groups:
    """Return the given groups and all groups above them. The recursive query ends even if the hierarchy contains
    cycles, because UNION removes duplicates.
    """
    reached = select(GroupRow.id).where(GroupRow.id.in_(start)).cte("reached", recursive=True)
    reached = reached.union(select(MembershipRow.parent_id).where(MembershipRow.child_id == reached.c.id))
    rows = session.execute(
        select(GroupRow.id, GroupRow.kind, GroupRow.is_public, MembershipRow.parent_id)
        .join(reached, reached.c.id == GroupRow.id)
        .outerjoin(MembershipRow, MembershipRow.child_id == GroupRow.id)
    ).all()
    return _Groups(
        {row.id: Group(row.id, row.kind, row.is_public) for row in rows},
        frozenset((row.id, row.parent_id) for row in rows if row.parent_id is not None),
    )


def _managers(session: Session, groups: Collection[str]) -> tuple[Manager, ...]:
    rows = session.execute(
        select(ManagerRow.group_id, ManagerRow.manager_id, ManagerRow.can_watch_members).where(
            ManagerRow.manager_id.in_(groups)
        )
    )
    return tuple(Manager(*row) for row in rows)


def _item_edges(session: Session, start: set[str]) -> tuple[ItemEdge, ...]:
    reached = select(ItemRow.id).where(ItemRow.id.in_(start)).cte("reached", recursive=True)
    reached = reached.union(select(ItemEdgeRow.parent_id).where(ItemEdgeRow.child_id == reached.c.id))
    rows = session.execute(
        select(ItemEdgeRow.child_id, ItemEdgeRow.parent_id, ItemEdgeRow.request_help_propagation).join(
            reached, reached.c.id == ItemEdgeRow.child_id
        )
    )
    return tuple(ItemEdge(*row) for row in rows)


def _permissions(session: Session, groups: Collection[str], items: set[str]) -> tuple[ItemPermission, ...]:
    row = ItemPermissionRow
    rows = session.execute(
        select(row.group_id, row.item_id, row.can_view, row.can_grant_view, row.can_watch, row.is_owner).where(
            row.group_id.in_(groups), row.item_id.in_(items)
        )
    )
    return tuple(ItemPermission(*row) for row in rows)


def _help_grants(session: Session, groups: Collection[str], items: set[str]) -> tuple[HelpGrant, ...]:
    row = HelpGrantRow
    rows = session.execute(
        select(row.group_id, row.item_id, row.helper_group_id).where(row.group_id.in_(groups), row.item_id.in_(items))
    )
    return tuple(HelpGrant(*row) for row in rows)


def _validated(session: Session, participants: Collection[str], items: set[str]) -> frozenset[tuple[str, str]]:
    rows = session.execute(
        select(ValidatedRow.item_id, ValidatedRow.participant_id).where(
            ValidatedRow.participant_id.in_(participants), ValidatedRow.item_id.in_(items)
        )
    )
    return frozenset((row.item_id, row.participant_id) for row in rows)
