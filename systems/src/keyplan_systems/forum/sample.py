"""Sample data: a course with two tasks, a class with its teacher, tutors, one thread with messages."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid5

from sqlalchemy import insert

from keyplan_systems.forum.domain import (
    NOT_STARTED,
    GrantView,
    GroupKind,
    Status,
    ThreadKey,
    ThreadUpdate,
    View,
    Watch,
)
from keyplan_systems.forum.entities import EventType
from keyplan_systems.forum.relational import models
from keyplan_systems.forum.relational.session import Database
from keyplan_systems.forum.relational.threads import now_ms
from keyplan_systems.forum.service import Fact, Service, place_of

EVERYBODY, CLASS, TUTORS, ANN, BEN, TEACHER, TUTOR = "100", "101", "102", "1001", "1002", "1003", "1004"
COURSE, LOOPS, LISTS = "10", "11", "12"
THREAD: Final = ThreadKey(LOOPS, ANN)
_NAMESPACE: Final = UUID("6d9b3f6e-50a5-4f5c-9b77-1f3d7e5a2c10")

_GROUPS: Final = (
    (EVERYBODY, GroupKind.ALL_USERS, "Everybody", False),
    (CLASS, GroupKind.GROUP, "Class 7b", False),
    (TUTORS, GroupKind.GROUP, "Tutors", True),
    (ANN, GroupKind.USER, "Ann", False),
    (BEN, GroupKind.USER, "Ben", False),
    (TEACHER, GroupKind.USER, "Ms Grey", False),
    (TUTOR, GroupKind.USER, "Tom", False),
)
_MEMBERSHIPS: Final = (
    (CLASS, EVERYBODY),
    (TUTORS, EVERYBODY),
    (ANN, CLASS),
    (BEN, CLASS),
    (TEACHER, EVERYBODY),
    (TUTOR, TUTORS),
)
_ITEMS: Final = ((COURSE, "First steps in programming"), (LOOPS, "Loops"), (LISTS, "Lists"))
_HELD: Final = (
    (CLASS, LOOPS, View.CONTENT, GrantView.NONE, Watch.NONE),
    (CLASS, LISTS, View.CONTENT, GrantView.NONE, Watch.NONE),
    (TEACHER, LOOPS, View.SOLUTION, GrantView.SOLUTION, Watch.ANSWER),
    (TEACHER, LISTS, View.SOLUTION, GrantView.SOLUTION, Watch.ANSWER),
    (TUTORS, LOOPS, View.CONTENT, GrantView.NONE, Watch.ANSWER),
)


def load_sample(service: Service) -> None:
    """Load the school, and Ann's question with its answers; existing data stays unchanged."""
    load_school(service.database)
    if service.thread(ANN, THREAD).status == NOT_STARTED:
        service.update(ANN, THREAD, ThreadUpdate(Status.WAITING_FOR_TRAINER, TUTORS))
    if service.messages(service.thread(ANN, THREAD).rights, 1, None).items:
        return
    service.carry_log()  # the opening before its messages; a later start leaves waiting entries to the worker
    before_ms = now_ms(service.clock) - 3_600_000
    service.record(
        place_of(THREAD),
        [
            Fact(EventType.ATTEMPT_STARTED, before_ms, "501"),
            Fact(EventType.SUBMISSION, before_ms + 900_000, "501", "9001", score=0, validated=False),
        ],
    )
    _say(service, ANN, "My loop never ends. What do I miss?")
    _say(service, TUTOR, "Look at what changes in its body: does the condition ever become false?")


def _say(service: Service, user_id: str, text: str) -> None:
    service.post(service.thread(user_id, THREAD).rights, str(uuid5(_NAMESPACE, text)), text)


def load_school(database: Database) -> None:
    """Create the missing people, groups and rights of the sample."""
    with database.write() as session:
        if session.get(models.GroupRow, EVERYBODY) is not None:
            return
        rows = (
            (models.GroupRow, ("id", "kind", "name", "is_public"), _GROUPS),
            (models.MembershipRow, ("child_id", "parent_id"), _MEMBERSHIPS),
            (models.ItemRow, ("id", "title"), _ITEMS),
            (
                models.ItemEdgeRow,
                ("child_id", "parent_id", "request_help_propagation"),
                ((LOOPS, COURSE, True), (LISTS, COURSE, True)),
            ),
            (models.ManagerRow, ("manager_id", "group_id", "can_watch_members"), ((TEACHER, CLASS, True),)),
            (
                models.ItemPermissionRow,
                ("group_id", "item_id", "can_view", "can_grant_view", "can_watch"),
                _HELD,
            ),
            (models.HelpGrantRow, ("group_id", "item_id", "helper_group_id"), ((CLASS, COURSE, TUTORS),)),
        )
        for table, names, values in rows:
            session.execute(insert(table), [dict(zip(names, row, strict=True)) for row in values])
