"""SQL queries for the users that belong to a participant, and for the names that pages show."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select

from keyplan_systems.forum.domain import GroupKind
from keyplan_systems.forum.relational.models import GroupRow, ItemRow, MembershipRow
from keyplan_systems.forum.relational.session import Database


def people_of(database: Database, participant_id: str) -> frozenset[str]:
    """Return the IDs of the users that belong to a participant: for a user, only the user's ID, and for a team, the IDs
    of its direct members. The result is empty for an unknown participant.
    """
    with database.read() as session:
        kind = session.scalar(select(GroupRow.kind).where(GroupRow.id == participant_id))
        if kind is GroupKind.USER:
            return frozenset({participant_id})
        members = select(MembershipRow.child_id).join(GroupRow, GroupRow.id == MembershipRow.child_id)
        users = members.where(MembershipRow.parent_id == participant_id, GroupRow.kind == GroupKind.USER)
        return frozenset(session.scalars(users)) if kind is GroupKind.TEAM else frozenset()


def names_of(database: Database, group_ids: Collection[str]) -> dict[str, str]:
    """Return the names of groups and users as a mapping from ID to name. Unknown IDs are omitted."""
    with database.read() as session:
        rows = session.execute(select(GroupRow.id, GroupRow.name).where(GroupRow.id.in_(set(group_ids))))
        return {row.id: row.name for row in rows}


def titles_of(database: Database, item_ids: Collection[str]) -> dict[str, str]:
    """Return the titles of items as a mapping from ID to title. Unknown IDs are omitted."""
    with database.read() as session:
        rows = session.execute(select(ItemRow.id, ItemRow.title).where(ItemRow.id.in_(set(item_ids))))
        return {row.id: row.title for row in rows}
