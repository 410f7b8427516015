"""Users of a participant: the user, or the members of a team."""

from __future__ import annotations

from sqlalchemy import select

from keyplan_systems.forum.domain import GroupKind
from keyplan_systems.forum.relational.models import GroupRow, MembershipRow
from keyplan_systems.forum.relational.session import Database


def people_of(database: Database, participant_id: str) -> frozenset[str]:
    """Return the users of a participant; none for an unknown participant."""
    with database.read() as session:
        kind = session.scalar(select(GroupRow.kind).where(GroupRow.id == participant_id))
        if kind is GroupKind.USER:
            return frozenset({participant_id})
        members = select(MembershipRow.child_id).join(GroupRow, GroupRow.id == MembershipRow.child_id)
        users = members.where(MembershipRow.parent_id == participant_id, GroupRow.kind == GroupKind.USER)
        return frozenset(session.scalars(users)) if kind is GroupKind.TEAM else frozenset()
