"""Small worlds of groups, items and grants, written as lines of words, as facts for the rules or as rows.

group ann user              in ann class               manages tutor class watch
item task                   below task chapter help    holds ann task view=content watch=answer owner
help ann task tutors        validated ann task         thread task ann waiting_for_trainer tutors
                                                       thread task ann closed tutors 13d
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlalchemy import delete, insert
from sqlalchemy.orm import Session

from keyplan_systems.forum.domain import GrantView, GroupKind, Status, Thread, ThreadKey, View, Watch
from keyplan_systems.forum.domain_facts import Facts, Group, HelpGrant, ItemEdge, ItemPermission, Manager, edges_of
from keyplan_systems.forum.relational.models import (
    Base,
    GroupRow,
    HelpGrantRow,
    ItemEdgeRow,
    ItemPermissionRow,
    ItemRow,
    ManagerRow,
    MembershipRow,
    ThreadRow,
    ValidatedRow,
)

NOW_MS = 1_700_000_000_000
"""Time of a new `ManualClock`, in milliseconds."""

_UNITS_MS = {"d": 24 * 3600 * 1000, "h": 3600 * 1000, "ms": 1}


@dataclass
class World:
    """All data of a world, under IDs of digits; `world["ann"]` looks names up."""

    ids: dict[str, str] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    memberships: set[tuple[str, str]] = field(default_factory=set)
    managers: list[Manager] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    item_edges: list[ItemEdge] = field(default_factory=list)
    permissions: list[ItemPermission] = field(default_factory=list)
    help_grants: list[HelpGrant] = field(default_factory=list)
    validated: set[tuple[str, str]] = field(default_factory=set)
    threads: dict[ThreadKey, Thread] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        """Return the ID of a name, a new one for a new name."""
        return self.ids.setdefault(name, str(1000 + len(self.ids)))

    def key(self, item: str, participant: str) -> ThreadKey:
        return ThreadKey(self[item], self[participant])

    def add(self, lines: str) -> World:
        """Read lines into this world."""
        for line in lines.strip().splitlines():
            verb, *words = line.split()
            getattr(self, f"_{verb}")(*words)
        return self

    def facts(self) -> Facts:
        """Return all facts, for any rule."""
        return Facts(
            groups=dict(self.groups),
            group_parents=edges_of(self.memberships),
            item_edges=tuple(self.item_edges),
            managers=tuple(self.managers),
            permissions=tuple(self.permissions),
            help_grants=tuple(self.help_grants),
            validated=frozenset(self.validated),
        )

    def _group(self, name: str, kind: str, public: str = "") -> None:
        self.groups[self[name]] = Group(self[name], GroupKind(kind), public == "public")

    def _in(self, child: str, parent: str) -> None:
        self.memberships.add((self[child], self[parent]))

    def _manages(self, manager: str, group: str, watch: str = "") -> None:
        self.managers.append(Manager(self[group], self[manager], watch == "watch"))

    def _item(self, name: str) -> None:
        self.items.append(self[name])

    def _below(self, child: str, parent: str, propagation: str = "") -> None:
        self.item_edges.append(ItemEdge(self[child], self[parent], propagation == "help"))

    def _holds(self, group: str, item: str, *levels: str) -> None:
        members = dict(level.partition("=")[::2] for level in levels)
        row = ItemPermission(self[group], self[item], is_owner="owner" in members)
        self.permissions.append(
            replace(
                row,
                view=View[members.get("view", "none").upper()],
                grant_view=GrantView[members.get("grant", "none").upper()],
                watch=Watch[members.get("watch", "none").upper()],
            )
        )

    def _help(self, group: str, item: str, helper: str) -> None:
        self.help_grants.append(HelpGrant(self[group], self[item], self[helper]))

    def _validated(self, participant: str, item: str) -> None:
        self.validated.add((self[item], self[participant]))

    def _thread(self, item: str, participant: str, status: str, helper: str, age: str = "1h") -> None:
        at_ms = NOW_MS - _span_ms(age)
        closed = at_ms if status == "closed" else None
        thread = Thread(self.key(item, participant), Status(status), self[helper], 0, at_ms, closed, 1)
        self.threads[thread.key] = thread


def _span_ms(text: str) -> int:
    unit = text.lstrip("0123456789")
    return int(text.removesuffix(unit)) * _UNITS_MS[unit]


def store(session: Session, world: World) -> None:
    """Write the world into empty tables."""
    names = {number: name for name, number in world.ids.items()}
    _rows(
        session,
        GroupRow,
        [
            {"id": group.id, "kind": group.kind, "name": names.get(group.id, group.id), "is_public": group.is_public}
            for group in world.groups.values()
        ],
    )
    _rows(session, ItemRow, [{"id": item, "title": names.get(item, item)} for item in world.items])
    _rows(session, MembershipRow, [{"child_id": child, "parent_id": parent} for child, parent in world.memberships])
    _rows(
        session,
        ManagerRow,
        [
            {
                "manager_id": manager.manager_id,
                "group_id": manager.group_id,
                "can_watch_members": manager.can_watch_members,
            }
            for manager in world.managers
        ],
    )
    _rows(
        session,
        ItemEdgeRow,
        [
            {
                "child_id": item_edge.child_id,
                "parent_id": item_edge.parent_id,
                "request_help_propagation": item_edge.request_help_propagation,
            }
            for item_edge in world.item_edges
        ],
    )
    _store_rights(session, world)


def _store_rights(session: Session, world: World) -> None:
    _rows(
        session,
        ItemPermissionRow,
        [
            {
                "group_id": permission.group_id,
                "item_id": permission.item_id,
                "can_view": permission.view,
                "can_grant_view": permission.grant_view,
                "can_watch": permission.watch,
                "is_owner": permission.is_owner,
            }
            for permission in world.permissions
        ],
    )
    _rows(
        session,
        HelpGrantRow,
        [
            {
                "group_id": help_grant.group_id,
                "item_id": help_grant.item_id,
                "helper_group_id": help_grant.helper_group_id,
            }
            for help_grant in world.help_grants
        ],
    )
    _rows(
        session,
        ValidatedRow,
        [
            {"item_id": item, "participant_id": participant, "validated_at_ms": 0}
            for item, participant in world.validated
        ],
    )
    _rows(
        session,
        ThreadRow,
        [
            {
                "item_id": thread.key.item_id,
                "participant_id": thread.key.participant_id,
                "status": thread.status,
                "helper_group_id": thread.helper_group_id,
                "message_count": thread.message_count,
                "latest_update_at_ms": thread.latest_update_at_ms,
                "closed_at_ms": thread.closed_at_ms,
                "revision": thread.revision,
            }
            for thread in world.threads.values()
        ],
    )


def clear(session: Session) -> None:
    """Empty all tables but the outbox lease."""
    for table in reversed(Base.metadata.sorted_tables):
        if table.name != "thread_outbox_lease":
            session.execute(delete(table))


def _rows(session: Session, table: type[Base], rows: list[dict[str, object]]) -> None:
    if rows:
        session.execute(insert(table), rows)
