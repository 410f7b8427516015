"""The facts for the permission rules: groups, memberships, managers, items and permissions.

Facts are plain values as of one point in time. They can contain more than a rule needs, but never less. For every group
that a rule names, they contain all memberships above it. For every item, they contain all edges above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from keyplan_systems.forum.domain import GrantView, GroupKind, View, Watch

Edges = Mapping[str, frozenset[str]]
"""Edges from a group or item to its direct parents."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group in the tree: a user, a team, a class, or everyone."""

    id: str
    kind: GroupKind
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class Manager:
    """The permission of members of `manager_id` to manage `group_id` and all groups below it."""

    group_id: str
    manager_id: str
    can_watch_members: bool


@dataclass(frozen=True, slots=True)
class ItemEdge:
    """The position of `child_id` below `parent_id`, and whether help requests propagate along this edge."""

    child_id: str
    parent_id: str
    request_help_propagation: bool


@dataclass(frozen=True, slots=True)
class ItemPermission:
    """The permissions of a group on an item. An owner has the highest level of every permission."""

    group_id: str
    item_id: str
    view: View = View.NONE
    grant_view: GrantView = GrantView.NONE
    watch: Watch = Watch.NONE
    is_owner: bool = False


@dataclass(frozen=True, slots=True)
class HelpGrant:
    """The right of `group_id` to request help on `item_id` from `helper_group_id` and every group below it."""

    group_id: str
    item_id: str
    helper_group_id: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All facts that the rules need."""

    groups: Mapping[str, Group] = field(default_factory=dict)
    group_parents: Edges = field(default_factory=dict)
    item_edges: tuple[ItemEdge, ...] = ()
    managers: tuple[Manager, ...] = ()
    permissions: tuple[ItemPermission, ...] = ()
    help_grants: tuple[HelpGrant, ...] = ()
    validated: frozenset[tuple[str, str]] = frozenset()
    """Pairs (item, participant) of validated results."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The highest permission levels of a user on one item, over all the user's groups."""

    view: View = View.NONE
    grant_view: GrantView = GrantView.NONE
    watch: Watch = Watch.NONE
    is_owner: bool = False


def upward(edges: Edges, start: Iterable[str]) -> frozenset[str]:
    """Return the starting nodes and all nodes above them. Cycles in the data do no harm."""
    reached = set(start)
    waiting = list(reached)
    while waiting:
        for parent in edges.get(waiting.pop(), frozenset()):
            if parent not in reached:
                reached.add(parent)
                waiting.append(parent)
    return frozenset(reached)


def edges_of(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return the edges of (child, parent) pairs."""
    parents: dict[str, set[str]] = {}
    for child, parent in pairs:
        parents.setdefault(child, set()).add(parent)
    return {child: frozenset(above) for child, above in parents.items()}
