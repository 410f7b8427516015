"""Hypothesis strategies: random small worlds with cycles, shared groups and permissions of every level."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.systems.forum.worlds import NOW_MS, World

from keyplan_systems.forum.domain import GrantView, GroupKind, Status, Thread, ThreadKey, View, Watch
from keyplan_systems.forum.domain_facts import Group, HelpGrant, ItemEdge, ItemPermission, Manager

KINDS = (
    GroupKind.USER,
    GroupKind.USER,
    GroupKind.USER,
    GroupKind.TEAM,
    GroupKind.GROUP,
    GroupKind.GROUP,
    GroupKind.GROUP,
    GroupKind.ALL_USERS,
)
GROUPS = tuple(str(10 + index) for index in range(len(KINDS)))
ITEMS = ("1", "2", "3")
PARTICIPANTS = tuple(
    group for group, kind in zip(GROUPS, KINDS, strict=True) if kind in (GroupKind.USER, GroupKind.TEAM)
)
USERS = tuple(group for group, kind in zip(GROUPS, KINDS, strict=True) if kind is GroupKind.USER)
AGES_MS = (0, 1, 14 * 86_400_000 - 1, 14 * 86_400_000, 14 * 86_400_000 + 1)

group = st.sampled_from(GROUPS)
item = st.sampled_from(ITEMS)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a world of eight groups and three items."""
    kinds = zip(GROUPS, KINDS, strict=True)
    return World(
        groups={group_id: Group(group_id, kind, draw(st.integers(0, 9)) == 0) for group_id, kind in kinds},
        memberships={pair for pair in draw(st.sets(st.tuples(group, group), max_size=12)) if pair[0] != pair[1]},
        managers=list(draw(_managers())),
        items=list(ITEMS),
        item_edges=list(draw(_item_edges())),
        permissions=list(draw(_permissions())),
        help_grants=list(draw(st.sets(st.builds(HelpGrant, group, item, group), max_size=4))),
        validated=draw(st.sets(st.tuples(item, st.sampled_from(PARTICIPANTS)), max_size=6)),
        threads={thread.key: thread for thread in draw(st.lists(_threads(), max_size=8))},
    )


def _managers() -> st.SearchStrategy[list[Manager]]:
    return st.lists(
        st.builds(Manager, group, group, st.booleans()),
        max_size=4,
        unique_by=lambda row: (row.group_id, row.manager_id),
    )


def _item_edges() -> st.SearchStrategy[list[ItemEdge]]:
    edges = st.builds(ItemEdge, item, item, st.booleans()).filter(lambda edge: edge.child_id != edge.parent_id)
    return st.lists(edges, max_size=5, unique_by=lambda edge: (edge.child_id, edge.parent_id))


def _permissions() -> st.SearchStrategy[list[ItemPermission]]:
    row = st.builds(
        ItemPermission,
        group,
        item,
        st.sampled_from(View),
        st.sampled_from(GrantView),
        st.sampled_from(Watch),
        st.integers(0, 7).map(lambda number: number == 0),
    )
    return st.lists(row, max_size=10, unique_by=lambda grant: (grant.group_id, grant.item_id))


@st.composite
def _threads(draw: st.DrawFn) -> Thread:
    key = ThreadKey(draw(item), draw(st.sampled_from(PARTICIPANTS)))
    status = draw(st.sampled_from(Status))
    at_ms = NOW_MS - draw(st.sampled_from(AGES_MS))
    return Thread(key, status, draw(group), draw(st.integers(0, 3)), at_ms, None if status.is_open else at_ms, 1)
