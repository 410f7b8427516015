"""Small school: ann and ada learn, tom observes the class, hub helps, bea only looks on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from tests.systems.forum.worlds import World, clear, store

from keyplan.clock import ManualClock
from keyplan_systems.forum.domain import Status, Thread, ThreadKey, ThreadUpdate
from keyplan_systems.forum.relational.models import OutboxRow
from keyplan_systems.forum.relational.rows import threads_of
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import update_thread

SCHOOL = """
group everybody all_users
group school group
group class group
group tutors group public
group ann user
group ada user
group tom user
group hub user
group bea user
in school everybody
in class school
in ann class
in ada class
in hub tutors
in bea school
item task
holds school task view=content
holds tom task view=content watch=answer
manages tom class watch
holds hub task view=content watch=result
validated hub task
help class task tutors
"""


def crowd(people: int) -> str:
    """Return this number of pupils of the class, each with a thread; several threads share a time."""
    lines = (
        f"group p{n} user\nin p{n} class\nthread task p{n} waiting_for_trainer tutors {n // 3}h" for n in range(people)
    )
    return "\n".join(lines)


@dataclass
class Stage:
    """Stored world, and operations on the threads of its task."""

    database: Database
    clock: ManualClock
    lines: str
    world: World = field(default_factory=World)

    def put(self, facts: str = "") -> Stage:
        """Store the world again, with these lines added."""
        self.world = World().add(self.lines).add(facts)
        with self.database.write() as session:
            clear(session)
            store(session, self.world)
        return self

    def key(self, participant: str) -> ThreadKey:
        return self.world.key("task", participant)

    def update(self, user: str, participant: str, **changes: Any) -> Thread:
        """Change a thread; the asked group is given by its name.

        Return it as stored, also if the user may not read it.
        """
        if "helper_group_id" in changes:
            changes["helper_group_id"] = self.world[changes["helper_group_id"]]
        user_id = self.world[user]
        result = update_thread(self.database, self.clock, user_id, self.key(participant), ThreadUpdate(**changes))
        thread = result or self.stored(participant)
        assert thread is not None, "there is one after a change"
        return thread

    def open(self, participant: str) -> Thread:
        return self.update(participant, participant, status=Status.WAITING_FOR_TRAINER, helper_group_id="tutors")

    def close(self, participant: str) -> Thread:
        return self.update(participant, participant, status=Status.CLOSED)

    def stored(self, participant: str) -> Thread | None:
        key = self.key(participant)
        with self.database.read() as session:
            return threads_of(session, [key]).get(key)

    def outbox(self) -> list[OutboxRow]:
        """Return every entry, done or not, oldest first."""
        with self.database.read() as session:
            return list(session.scalars(select(OutboxRow).order_by(OutboxRow.id)))
