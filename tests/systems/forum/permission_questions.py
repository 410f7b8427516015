"""Questions to the permission rules as short sentences: "write ann task bob"."""

from __future__ import annotations

from collections.abc import Callable

from tests.systems.forum.worlds import NOW_MS, World

from keyplan_systems.forum.domain_facts import Facts
from keyplan_systems.forum.permissions import is_visible, may_grant_help, may_read, may_request_help, may_write


def answer(world: World, facts: Facts, question: str) -> bool:
    """Return the rules' answer on these facts; threads come from the world."""
    verb, *names = question.split()
    return _VERBS[verb](world, facts, *names)


def _write(world: World, facts: Facts, user: str, item: str, participant: str) -> bool:
    key = world.key(item, participant)
    return may_write(facts, world[user], key, world.threads.get(key))


def _read(world: World, facts: Facts, user: str, item: str, participant: str) -> bool:
    key = world.key(item, participant)
    return may_read(facts, world[user], key, world.threads.get(key), NOW_MS)


_VERBS: dict[str, Callable[..., bool]] = {
    "request_help": lambda world, facts, user, item, group: may_request_help(
        facts, world[user], world[item], world[group]
    ),
    "grant_help": lambda world, facts, giver, receiver, item, group: may_grant_help(
        facts, world[giver], world[receiver], world[item], world[group]
    ),
    "visible": lambda world, facts, group, viewer: is_visible(facts, world[group], world[viewer]),
    "write": _write,
    "read": _read,
}
