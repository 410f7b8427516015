"""SQL queries for the choices that the web pages offer: threads to answer, groups to ask for help, participants to
observe, and permissions to grant.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from keyplan_systems.forum.domain import GrantView, GroupKind, Status, Thread, ThreadKey
from keyplan_systems.forum.domain_status import ThreadContext, may_open
from keyplan_systems.forum.permissions import acts_as, levels, may_write
from keyplan_systems.forum.relational.facts import load_facts, load_thread_facts
from keyplan_systems.forum.relational.lists import groups_above, permission_levels
from keyplan_systems.forum.relational.models import (
    GroupRow,
    HelpGrantRow,
    ItemPermissionRow,
    ItemRow,
    ManagerRow,
    MembershipRow,
)
from keyplan_systems.forum.relational.rows import threads_of
from keyplan_systems.forum.relational.session import Database


def threads_to_answer(database: Database, user_id: str, threads: Collection[Thread]) -> frozenset[ThreadKey]:
    """Return the keys of the given threads to which the user may write."""
    with database.read() as session:
        facts = load_thread_facts(session, user_id, [thread.key for thread in threads])
    return frozenset(thread.key for thread in threads if may_write(facts, user_id, thread.key, thread))


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """The ID and the displayed name of a group or an item."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class HelpChoice:
    """An item on which a participant can get help, and the groups that can be asked."""

    item: NamedGroup
    status: Status | None
    """Status of the participant's thread on the item, or None if it has not been started."""
    helpers: tuple[NamedGroup, ...]


def help_choices(
    database: Database, user_id: str, participant_id: str, item_id: str | None = None
) -> tuple[HelpChoice, ...]:
    """Return the items on which the user may ask for help for a participant, sorted by title, with the groups that can
    be asked.

    A participant can ask the helper groups that the participant's help grants name, and all groups below these helper
    groups. A participant who owns the item can ask any visible group. An observer can ask every group that is visible
    to both the observer and the participant. `item_id` limits the result to one item.
    """
    with database.read() as session:
        viewable_items = permission_levels(groups_above(user_id))
        query = (
            select(ItemRow.id, ItemRow.title)
            .join(viewable_items, viewable_items.c.item_id == ItemRow.id)
            .order_by(ItemRow.title)
        )
        items = session.execute(query if item_id is None else query.where(ItemRow.id == item_id)).all()
        groups = _candidates(session, user_id, participant_id)
        facts = load_facts(session, {user_id, participant_id}, {item.id for item in items}, groups)
        keys = [ThreadKey(item.id, participant_id) for item in items]
        threads = threads_of(session, keys)
    choices = []
    for item, key in zip(items, keys, strict=True):
        thread = threads.get(key)
        status = None if thread is None else thread.status
        context = ThreadContext(facts, user_id, key, thread)
        helpers = tuple(NamedGroup(group, groups[group]) for group in groups if may_open(context, group))
        if helpers:
            choices.append(HelpChoice(NamedGroup(item.id, item.title), status, helpers))
    return tuple(choices)


def watched_groups(database: Database, user_id: str) -> tuple[NamedGroup, ...]:
    """Return the groups on which the user, or a group to which the user belongs, has the permission
    `can_watch_members`, sorted by name. Groups that only inherit the permission from a group above them are omitted.
    """
    with database.read() as session:
        user_groups = groups_above(user_id)
        rows = session.execute(
            select(GroupRow.id, GroupRow.name)
            .join(ManagerRow, ManagerRow.group_id == GroupRow.id)
            .where(ManagerRow.manager_id.in_(select(user_groups.c.id)), ManagerRow.can_watch_members)
            .distinct()
            .order_by(GroupRow.name)
        ).all()
    return tuple(NamedGroup(*row) for row in rows)


def participants_of(database: Database, user_id: str) -> tuple[NamedGroup, ...]:
    """Return the participants for whom the user may open threads. These are the user, the user's teams, and
    participants whom the user observes.
    """
    with database.read() as session:
        facts = load_facts(session, {user_id}, ())
        participant_ids = acts_as(facts, user_id)
        user_groups = groups_above(user_id)
        managed = select(ManagerRow.group_id).where(
            ManagerRow.manager_id.in_(select(user_groups.c.id)), ManagerRow.can_watch_members
        )
        below = select(GroupRow.id).where(GroupRow.id.in_(managed)).cte("observed", recursive=True)
        below = below.union(select(MembershipRow.child_id).where(MembershipRow.parent_id == below.c.id))
        rows = session.execute(
            select(GroupRow.id, GroupRow.name)
            .where(
                GroupRow.kind.in_((GroupKind.USER, GroupKind.TEAM)),
                or_(GroupRow.id.in_(participant_ids), GroupRow.id.in_(select(below.c.id))),
            )
            .order_by(GroupRow.name, GroupRow.id)
        ).all()
    groups = [NamedGroup(*row) for row in rows]
    return tuple(sorted(groups, key=lambda group: (group.id != user_id, group.id not in participant_ids)))


@dataclass(frozen=True, slots=True)
class Grants:
    """The help grants on a user's items, and the items and groups from which the user can choose when creating further
    grants.
    """

    items: tuple[NamedGroup, ...] = ()
    groups: tuple[NamedGroup, ...] = ()
    existing: tuple[tuple[str, str, str], ...] = ()
    """One tuple per help grant, with the names of the group that may ask, the item, and the helper group."""


def grants_of(database: Database, user_id: str) -> Grants:
    """Return the help grants that the user may view, and the items and groups for new grants. The result is empty if
    the user may not grant permissions on any item.
    """
    with database.read() as session:
        user_groups = groups_above(user_id)
        permission_row = ItemPermissionRow
        candidates = (
            select(ItemRow.id, ItemRow.title)
            .join(permission_row, permission_row.item_id == ItemRow.id)
            .where(permission_row.group_id.in_(select(user_groups.c.id)))
            .distinct()
            .order_by(ItemRow.title)
        )
        tasks = session.execute(candidates).all()
        facts = load_facts(session, {user_id}, {row.id for row in tasks})
        items = [row for row in tasks if levels(facts, user_id, row.id).grant_view >= GrantView.CONTENT]
        if not items:
            return Grants()
        names = _candidates(session, user_id, user_id)
        grants = session.execute(
            select(HelpGrantRow).where(HelpGrantRow.item_id.in_([row.id for row in items]))
        ).scalars()
        pairs = [(grant.group_id, grant.item_id, grant.helper_group_id) for grant in grants]
        ids = {group_id for pair in pairs for group_id in (pair[0], pair[2])}
        rows = session.execute(select(GroupRow.id, GroupRow.name).where(GroupRow.id.in_(ids)))
        group_names = {row.id: row.name for row in rows}
    titles = {row.id: row.title for row in items}
    return Grants(
        tuple(NamedGroup(row.id, row.title) for row in items),
        tuple(NamedGroup(*group) for group in names.items()),
        tuple(sorted((group_names[group], titles[item], group_names[helper]) for group, item, helper in pairs)),
    )


def _candidates(session: Session, user_id: str, participant_id: str) -> dict[str, str]:
    """Return the groups that the user or the participant might be able to ask for help, as a mapping from ID to name.

    These are public groups, groups above the user or the participant, groups that one of them manages, and groups below
    a group that appears in a help grant.
    """
    parents_by_group = load_facts(session, {user_id, participant_id}, ()).group_parents
    group_ids = {
        user_id,
        participant_id,
        *parents_by_group,
        *(parent for parents in parents_by_group.values() for parent in parents),
    }
    managed = select(ManagerRow.group_id).where(ManagerRow.manager_id.in_(group_ids))
    granted = select(HelpGrantRow.helper_group_id).where(HelpGrantRow.group_id.in_(group_ids))
    below = select(GroupRow.id).where(GroupRow.id.in_(granted)).cte("granted", recursive=True)
    below = below.union(select(MembershipRow.child_id).where(MembershipRow.parent_id == below.c.id))
    rows = session.execute(
        select(GroupRow.id, GroupRow.name)
        .where(
            GroupRow.kind != GroupKind.USER,
            or_(
                GroupRow.is_public,
                GroupRow.id.in_(group_ids),
                GroupRow.id.in_(managed),
                GroupRow.id.in_(select(below.c.id)),
            ),
        )
        .order_by(GroupRow.name, GroupRow.id)
    ).all()
    return {row.id: row.name for row in rows}
