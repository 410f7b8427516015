"""Permission rules again, as slow and literal as possible: sets of pairs and quantifiers over everything.

Deliberately independent of the real rules: it shares only the plain data with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from tests.systems.forum.worlds import NOW_MS, World

from keyplan_systems.forum.domain import ThreadKey
from keyplan_systems.forum.domain_facts import ItemPermission

CONTENT, RESULT, ANSWER = 2, 1, 2
TWO_WEEKS_MS = 14 * 86_400_000

Pairs = frozenset[tuple[str, str]]


def reaches(nodes: Iterable[str], edges: Iterable[tuple[str, str]]) -> Pairs:
    """Return all (low, high) with a path of edges from low to high, or with low == high (Warshall's algorithm)."""
    everything = sorted(set(nodes) | {end for edge in edges for end in edge})
    pairs = set(edges) | {(node, node) for node in everything}
    for middle, low, high in product(everything, repeat=3):
        if (low, middle) in pairs and (middle, high) in pairs:
            pairs.add((low, high))
    return frozenset(pairs)


class Naive:
    """Evaluator of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.inside = reaches(world.groups, world.memberships)
        propagating = [(edge.child_id, edge.parent_id) for edge in world.item_edges if edge.request_help_propagation]
        self.inherits = reaches(world.items, propagating)

    def kind(self, group: str) -> str:
        return self.world.groups[group].kind if group in self.world.groups else "nothing"

    def speaks_for(self, user: str, participant: str) -> bool:
        direct_team = self.kind(participant) == "team" and (user, participant) in self.world.memberships
        return user == participant or direct_team

    def rows(self, user: str, item: str) -> list[ItemPermission]:
        return [row for row in self.world.permissions if row.item_id == item and (user, row.group_id) in self.inside]

    def owns(self, user: str, item: str) -> bool:
        return any(row.is_owner for row in self.rows(user, item))

    def views(self, user: str, item: str) -> bool:
        return self.owns(user, item) or any(row.view >= CONTENT for row in self.rows(user, item))

    def grants(self, user: str, item: str) -> bool:
        return self.owns(user, item) or any(row.grant_view >= CONTENT for row in self.rows(user, item))

    def watches(self, user: str, item: str, level: int) -> bool:
        return self.owns(user, item) or any(row.watch >= level for row in self.rows(user, item))

    def watches_member(self, user: str, member: str) -> bool:
        return any(
            row.can_watch_members and (user, row.manager_id) in self.inside and (member, row.group_id) in self.inside
            for row in self.world.managers
        )

    def sees(self, viewer: str, group: str) -> bool:
        if group not in self.world.groups:
            return False
        managed_groups = [row.group_id for row in self.world.managers if (viewer, row.manager_id) in self.inside]
        return (
            self.world.groups[group].is_public
            or (viewer, group) in self.inside
            or any((group, group_id) in self.inside for group_id in managed_groups)
            or any((group_id, group) in self.inside and self.kind(group_id) != "user" for group_id in managed_groups)
        )

    def may_request(self, user: str, item: str, group: str) -> bool:
        if self.owns(user, item) and self.sees(user, group):
            return True
        return any(
            (user, grant.group_id) in self.inside
            and (item, grant.item_id) in self.inherits
            and (group, grant.helper_group_id) in self.inside
            for grant in self.world.help_grants
        )

    def may_grant(self, giver: str, receiver: str, item: str, group: str) -> bool:
        both_see = self.sees(giver, group) and self.sees(receiver, group)
        return self.grants(giver, item) and (both_see or self.kind(group) == "all_users")

    def validated(self, user: str, item: str) -> bool:
        return any(
            validated_item == item and self.speaks_for(user, owner) for validated_item, owner in self.world.validated
        )

    def may_write(self, user: str, item: str, participant: str) -> bool:
        thread = self.world.threads.get(ThreadKey(item, participant))
        if thread is None or thread.status == "closed":
            return False
        is_asked = (user, thread.helper_group_id) in self.inside
        return (
            self.speaks_for(user, participant)
            or (self.watches(user, item, ANSWER) and self.watches_member(user, participant))
            or (is_asked and self.watches(user, item, ANSWER))
            or (is_asked and self.watches(user, item, RESULT) and self.validated(user, item))
        )

    def may_read(self, user: str, item: str, participant: str) -> bool:
        if not self.views(user, item):
            return False
        if self.speaks_for(user, participant) or self.watches(user, item, ANSWER):
            return True
        thread = self.world.threads.get(ThreadKey(item, participant))
        if thread is None:
            return False
        recent = thread.status != "closed" or NOW_MS - (thread.closed_at_ms or 0) < TWO_WEEKS_MS
        is_asked = (user, thread.helper_group_id) in self.inside
        return recent and is_asked and self.watches(user, item, RESULT) and self.validated(user, item)
