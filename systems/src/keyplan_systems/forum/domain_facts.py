"""The data on which the permission rules depend (facts): groups, memberships, managers, items and permissions.

The values are a consistent snapshot. For every group to which a rule refers, they contain at least the memberships of
the group and of all groups above it. For every item, they contain at least all edges between the item and the items
above it. They can also contain data that the rules do not need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keyplan_systems.forum.domain import GrantView, GroupKind, View, Watch

Edges = Mapping[str, frozenset[str]]
"""Mapping from the ID of a group or item to the IDs of its direct parents."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group in the hierarchy: a user, a team, a class, or the group of all users."""

    id: str
    kind: GroupKind
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class Manager:
    """The permission for members of `manager_id` to manage `group_id` and all groups below it."""

    group_id: str
    manager_id: str
    can_watch_members: bool


@dataclass(frozen=True, slots=True)
class ItemEdge:
    """An edge of the item hierarchy. If `request_help_propagation` is True, help grants on the parent also apply to the
    child.
    """

    child_id: str
    parent_id: str
    request_help_propagation: bool


@dataclass(frozen=True, slots=True)
class ItemPermission:
    """A group's permissions on an item. An owner has the highest level of every permission."""

    group_id: str
    item_id: str
    view: View = View.NONE
    grant_view: GrantView = GrantView.NONE
    watch: Watch = Watch.NONE
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class HelpGrant:
    """The permission for `group_id` to ask `helper_group_id` and every group below it for help on `item_id`."""

    group_id: str
    item_id: str
    helper_group_id: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The data on which the permission rules depend: groups, memberships, items, permissions, help grants and validated
    results.
    """

    groups: Mapping[str, Group] = field(default_factory=dict)
    group_parents: Edges = field(default_factory=dict)
    item_edges: tuple[ItemEdge, ...] = ()
    managers: tuple[Manager, ...] = ()
    permissions: tuple[ItemPermission, ...] = ()
    help_grants: tuple[HelpGrant, ...] = ()
    validated: frozenset[tuple[str, str]] = frozenset()
    """Pairs of an item ID and a participant ID. Each pair means that the participant has a validated result on the
    item.
    """


@dataclass(frozen=True, slots=True)
class Levels:
    """A user's highest permission levels on an item, across all groups to which the user belongs."""

    view: View = View.NONE
    grant_view: GrantView = GrantView.NONE
    watch: Watch = Watch.NONE
    is_owner: bool = False


def upward(edges: Edges, start: Iterable[str]) -> frozenset[str]:
    """Return the start nodes and all nodes above them. The graph that the edges form can contain cycles."""
    reached = set(start)
    waiting = list(reached)
    while waiting:
        for parent in edges.get(waiting.pop(), frozenset()):
            if parent not in reached:
                reached.add(parent)
                waiting.append(parent)
    return frozenset(reached)


def edges_of(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Convert pairs (child, parent) to a mapping from each child to the set of its parents."""
    parents: dict[str, set[str]] = {}
    for child, parent in pairs:
        parents.setdefault(child, set()).add(parent)
    return {child: frozenset(ancestors) for child, ancestors in parents.items()}
