"""Pure functions with the permission rules: who may ask for help, permit others to ask for help, write to a thread, and
read a thread.

A team cannot log in, so its members act for it. Therefore a user counts as the participant of a thread if the thread
belongs to the user or to a team of which the user is a direct member. Likewise, the validated results of such a team
also count for the user. Viewing an item requires `can_view >= content`.

A group is visible to a viewer if at least one of these conditions is true: the group is public; the group is the viewer
or is above the viewer; the viewer manages the group or a group above it; the group is above another group that the
viewer manages and that is not a single user.
"""

from __future__ import annotations

from keyplan_systems.forum.domain import (
    CLOSED_READABLE_MS,
    GrantView,
    GroupKind,
    Status,
    Thread,
    ThreadKey,
    View,
    Watch,
)
from keyplan_systems.forum.domain_facts import Facts, Levels, edges_of, upward


def groups_of(facts: Facts, group_id: str) -> frozenset[str]:
    """Return the IDs of a group and of all groups to which it belongs, directly or indirectly."""
    return upward(facts.group_parents, (group_id,))


def acts_as(facts: Facts, user_id: str) -> frozenset[str]:
    """Return the IDs of the participants for whom a user acts: the user, and the teams of which the user is a direct
    member.
    """
    parents = facts.group_parents.get(user_id, frozenset())
    return frozenset({user_id} | {parent for parent in parents if _kind(facts, parent) is GroupKind.TEAM})


def levels(facts: Facts, user_id: str, item_id: str) -> Levels:
    """Return a user's highest permission levels on an item, across all groups to which the user belongs.

    An owner has the highest level of every permission.
    """
    user_groups = groups_of(facts, user_id)
    permissions = [row for row in facts.permissions if row.item_id == item_id and row.group_id in user_groups]
    if any(row.is_owner for row in permissions):
        return Levels(View.SOLUTION, GrantView.SOLUTION_WITH_GRANT, Watch.ANSWER_WITH_GRANT, is_owner=True)
    return Levels(
        view=max((row.view for row in permissions), default=View.NONE),
        grant_view=max((row.grant_view for row in permissions), default=GrantView.NONE),
        watch=max((row.watch for row in permissions), default=Watch.NONE),
    )


def is_visible(facts: Facts, group_id: str, viewer_id: str) -> bool:
    """Return True if the viewer, which is a user or a team, can see the group."""
    group = facts.groups.get(group_id)
    if group is None:
        return False
    viewer_groups = groups_of(facts, viewer_id)
    if group.is_public or group_id in viewer_groups:
        return True
    managed = {row.group_id for row in facts.managers if row.manager_id in viewer_groups}
    if managed & groups_of(facts, group_id):
        return True
    managed_groups = (group_id for group_id in managed if _kind(facts, group_id) is not GroupKind.USER)
    return group_id in upward(facts.group_parents, managed_groups)


def may_request_help(facts: Facts, user_id: str, item_id: str, helper_group_id: str) -> bool:
    """Return True if the user may ask the helper group for help on the item.

    This requires a help grant for a group to which the user belongs. The grant must name the helper group or a group
    above it. It must be on the item, or on an item above it if all edges between them propagate help grants. An owner
    of the item may ask any visible group.
    """
    if levels(facts, user_id, item_id).is_owner and is_visible(facts, helper_group_id, user_id):
        return True
    return bool(_granted_helpers(facts, user_id, item_id) & groups_of(facts, helper_group_id))


def may_grant_help(facts: Facts, giver_id: str, receiver_id: str, item_id: str, helper_group_id: str) -> bool:
    """Return True if the giver may permit the receiver to ask the helper group for help on the item."""
    if levels(facts, giver_id, item_id).grant_view < GrantView.CONTENT:
        return False
    if _kind(facts, helper_group_id) is GroupKind.ALL_USERS:
        return True
    return all(is_visible(facts, helper_group_id, user_id) for user_id in (giver_id, receiver_id))


def is_participant(facts: Facts, user_id: str, key: ThreadKey) -> bool:
    """Return True if the thread belongs to the user or to a team of which the user is a direct member."""
    return key.participant_id in acts_as(facts, user_id)


def is_observer(facts: Facts, user_id: str, key: ThreadKey) -> bool:
    """Return True if the user may watch the thread's participant and may view other users' answers on the thread's
    item.
    """
    return levels(facts, user_id, key.item_id).watch >= Watch.ANSWER and watches_members(
        facts, user_id, key.participant_id
    )


def watches_members(facts: Facts, user_id: str, group_id: str) -> bool:
    """Return True if the user may watch the members of the given group.

    This requires that a group to which the user belongs has `can_watch_members` on the given group or on a group above
    it.
    """
    user_groups = groups_of(facts, user_id)
    target_groups = groups_of(facts, group_id)
    return any(
        row.can_watch_members and row.manager_id in user_groups and row.group_id in target_groups
        for row in facts.managers
    )


def may_write(facts: Facts, user_id: str, key: ThreadKey, thread: Thread | None) -> bool:
    """Return True if the user may write messages to the thread. Only an open thread accepts messages."""
    if thread is None or not thread.status.is_open:
        return False
    if is_participant(facts, user_id, key) or is_observer(facts, user_id, key):
        return True
    if thread.helper_group_id not in groups_of(facts, user_id):
        return False
    watch = levels(facts, user_id, key.item_id).watch
    return watch >= Watch.ANSWER or (watch is Watch.RESULT and has_validated(facts, user_id, key.item_id))


def may_read(facts: Facts, user_id: str, key: ThreadKey, thread: Thread | None, now_ms: int) -> bool:
    """Return True if the user may read the thread.

    If `thread` is None, the thread has not been started. Return True in this case if the user may see that the thread
    has not been started.
    """
    user_levels = levels(facts, user_id, key.item_id)
    if user_levels.view < View.CONTENT:
        return False
    if is_participant(facts, user_id, key) or user_levels.watch >= Watch.ANSWER:
        return True
    return (
        user_levels.watch is Watch.RESULT
        and thread is not None
        and thread.helper_group_id in groups_of(facts, user_id)
        and is_fresh(thread, now_ms)
        and has_validated(facts, user_id, key.item_id)
    )


def is_fresh(thread: Thread, now_ms: int) -> bool:
    """Return True if the thread is open or was closed less than two weeks ago."""
    if thread.status is not Status.CLOSED:
        return True
    return thread.closed_at_ms is not None and now_ms - thread.closed_at_ms < CLOSED_READABLE_MS


def has_validated(facts: Facts, user_id: str, item_id: str) -> bool:
    """Return True if the user, or a team of which the user is a direct member, has a validated result on the item."""
    return any((item_id, group_id) in facts.validated for group_id in acts_as(facts, user_id))


def _granted_helpers(facts: Facts, user_id: str, item_id: str) -> frozenset[str]:
    """Return the IDs of the helper groups in all help grants that apply to the user and the item. The user may also ask
    the groups below these helper groups.
    """
    user_groups = groups_of(facts, user_id)
    propagating = ((edge.child_id, edge.parent_id) for edge in facts.item_edges if edge.request_help_propagation)
    items = upward(edges_of(propagating), (item_id,))
    grants = (row for row in facts.help_grants if row.group_id in user_groups and row.item_id in items)
    return frozenset(row.helper_group_id for row in grants)


def _kind(facts: Facts, group_id: str) -> GroupKind | None:
    group = facts.groups.get(group_id)
    return None if group is None else group.kind
