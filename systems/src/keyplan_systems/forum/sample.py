"""Sample data: a course, a class with its teacher and tutors, and threads with every status.

`load_sample` creates one thread and everything that it requires. `load_class` creates the other pupils of the class, a
team, further tasks, and threads of recent weeks. The times of the threads are relative to the time at which the data is
first loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid5

from sqlalchemy import insert

from keyplan_systems.forum.domain import (
    NOT_STARTED,
    GrantView,
    GroupKind,
    LogEntry,
    LogKind,
    Status,
    Thread,
    ThreadKey,
    ThreadUpdate,
    View,
    Watch,
)
from keyplan_systems.forum.entities import EventType
from keyplan_systems.forum.event_log import Draft
from keyplan_systems.forum.relational import models
from keyplan_systems.forum.relational.rows import insert_thread, threads_of
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
_PERMISSIONS: Final = (
    (CLASS, LOOPS, View.CONTENT, GrantView.NONE, Watch.NONE),
    (CLASS, LISTS, View.CONTENT, GrantView.NONE, Watch.NONE),
    (TEACHER, LOOPS, View.SOLUTION, GrantView.SOLUTION, Watch.ANSWER),
    (TEACHER, LISTS, View.SOLUTION, GrantView.SOLUTION, Watch.ANSWER),
    (TUTORS, LOOPS, View.CONTENT, GrantView.NONE, Watch.ANSWER),
)


def load_sample(service: Service) -> None:
    """Create the sample users, and a thread in which the user Ann asks a question and gets answers. Existing data stays
    unchanged.
    """
    load_school(service.database)
    if service.thread(ANN, THREAD).status == NOT_STARTED:
        service.update(ANN, THREAD, ThreadUpdate(Status.WAITING_FOR_TRAINER, TUTORS))
    if service.messages(service.thread(ANN, THREAD).rights, 1, None).items:
        return
    service.transfer_log()  # stores the opening before its messages
    before_ms = now_ms(service.clock) - 3_600_000
    service.record(
        place_of(THREAD),
        [
            Fact(EventType.ATTEMPT_STARTED, before_ms, "501"),
            Fact(EventType.SUBMISSION, before_ms + 900_000, "501", "9001", score=0, validated=False),
        ],
    )
    _post_message(service, ANN, "My loop never ends. What do I miss?")
    _post_message(service, TUTOR, "Look at what changes in its body: does the condition ever become false?")


def _post_message(service: Service, user_id: str, text: str) -> None:
    service.post(service.thread(user_id, THREAD).rights, str(uuid5(_NAMESPACE, text)), text)


def load_school(database: Database) -> None:
    """Create the users, groups, items and permissions of the sample data that do not exist yet."""
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
                _PERMISSIONS,
            ),
            (models.HelpGrantRow, ("group_id", "item_id", "helper_group_id"), ((CLASS, COURSE, TUTORS),)),
        )
        for table, names, values in rows:
            session.execute(insert(table), [dict(zip(names, row, strict=True)) for row in values])


CLEO, DINA, EMIL, FAY, TEAM, TEACHERS = "1005", "1006", "1007", "1008", "105", "103"
VARIABLES, CONDITIONS, FUNCTIONS, RECURSION, SORTING, DICTIONARIES = "13", "14", "15", "16", "17", "18"
_TASKS: Final = (
    (VARIABLES, "Variables"),
    (CONDITIONS, "Conditions"),
    (FUNCTIONS, "Functions"),
    (RECURSION, "Recursion"),
    (SORTING, "Sorting"),
    (DICTIONARIES, "Dictionaries"),
)
_PUPILS: Final = ((CLEO, "Cleo"), (DINA, "Dina"), (EMIL, "Emil"), (FAY, "Fay"))


@dataclass(frozen=True)
class SampleThread:
    """A thread in the sample data.

    Each step is a tuple that starts with a time, given as the number of minutes before the data is loaded. For a
    message, the author and the text follow. For an attempt or a submission, its description follows.
    """

    item: str
    participant: str
    status: Status
    helpers: str
    steps: tuple[tuple[int, str] | tuple[int, str, str], ...]
    opener: str = ""
    is_read: bool = False
    """Whether the notifications about the thread's messages are marked as read."""


_HOUR, _DAY = 60, 24 * 60
_SAMPLE_THREADS: Final = (
    SampleThread(
        LISTS,
        BEN,
        Status.WAITING_FOR_TRAINER,
        TEACHERS,
        (
            (3 * _HOUR, "attempt"),
            (150, "submission 20 no"),
            (140, BEN, "I get IndexError: list index out of range in the last round. Why only in the last one?"),
            (
                95,
                TEACHER,
                "Good observation. How many elements does your list have, and what is the last index that you read?",
            ),
            (40, BEN, "Ten elements, and I read index 10. So range(len(a) + 1) is one too many?"),
            (38, BEN, "for i in range(len(a) + 1):\n    total = total + a[i]"),
        ),
    ),
    SampleThread(
        FUNCTIONS,
        BEN,
        Status.WAITING_FOR_PARTICIPANT,
        TUTORS,
        (
            (_DAY, "attempt"),
            (_DAY - 30, "submission 0 no"),
            (_DAY - 40, BEN, "My function always gives None, although it prints the right number."),
            (
                25,
                TUTOR,
                "Printing shows a value, returning gives it to the caller. Which does your function do?",
            ),
            (24, TUTOR, "Try: what does print(area(2, 3)) show, and what would you like it to show?"),
        ),
    ),
    SampleThread(
        VARIABLES,
        BEN,
        Status.CLOSED,
        TUTORS,
        (
            (9 * _DAY, "attempt"),
            (9 * _DAY - 20, "submission 50 no"),
            (9 * _DAY - 30, BEN, "Can a variable have a number first and a text later?"),
            (9 * _DAY - 55, TUTOR, "In Python it can. It is easier to read if it does not. What do you need it for?"),
            (9 * _DAY - 80, BEN, "I wanted to save a line. I use two names now."),
            (9 * _DAY - 90, "submission 100 yes"),
            (9 * _DAY - 95, TUTOR, "Well done."),
        ),
        is_read=True,
    ),
    SampleThread(
        SORTING,
        TEAM,
        Status.WAITING_FOR_TRAINER,
        TUTORS,
        (
            (2 * _DAY, "attempt"),
            (
                5 * _HOUR,
                BEN,
                "We swap neighbours until nothing changes. It works, but a thousand numbers take ages.",
            ),
            (290, CLEO, "We counted: about a million comparisons. Is there a way with fewer?"),
        ),
        opener=BEN,
    ),
    SampleThread(
        CONDITIONS,
        CLEO,
        Status.WAITING_FOR_TRAINER,
        TUTORS,
        (
            (26 * _HOUR, "attempt"),
            (25 * _HOUR, "submission 40 no"),
            (25 * _HOUR - 10, CLEO, "if age > 12 or 18: is always true. Why?"),
        ),
    ),
    SampleThread(
        RECURSION,
        CLEO,
        Status.WAITING_FOR_PARTICIPANT,
        TEACHERS,
        (
            (3 * _DAY, "attempt"),
            (3 * _DAY - 60, "submission 0 no"),
            (3 * _DAY - 65, CLEO, "RecursionError: maximum recursion depth exceeded. How deep may it be?"),
            (2 * _DAY, TEACHER, "The depth is not the problem. For which n does your function stop calling itself?"),
        ),
        is_read=True,
    ),
    SampleThread(
        DICTIONARIES,
        DINA,
        Status.WAITING_FOR_TRAINER,
        TUTORS,
        (
            (80, "attempt"),
            (55, "submission 60 no"),
            (
                50,
                DINA,
                "Counting works, but capital letters are counted separately. Is there something for that?",
            ),
        ),
    ),
    SampleThread(
        LOOPS,
        EMIL,
        Status.WAITING_FOR_TRAINER,
        TUTORS,
        (
            (20, "attempt"),
            (12, "submission 0 no"),
            (10, EMIL, "While or for: how do I know which one I need?"),
        ),
    ),
    SampleThread(
        FUNCTIONS,
        FAY,
        Status.CLOSED,
        TEACHERS,
        (
            (5 * _DAY, "attempt"),
            (5 * _DAY - 20, FAY, "What is the difference between a parameter and an argument?"),
            (
                5 * _DAY - 50,
                TEACHER,
                "The parameter is the name in the definition, the argument the value in the call.",
            ),
            (5 * _DAY - 60, "submission 100 yes"),
        ),
        is_read=True,
    ),
    SampleThread(
        LISTS,
        DINA,
        Status.WAITING_FOR_PARTICIPANT,
        TEACHERS,
        (
            (4 * _HOUR, "attempt"),
            (
                3 * _HOUR,
                TEACHER,
                "Dina, your solution is right and could be shorter. Do you know sum()? Ask if not.",
            ),
        ),
        opener=TEACHER,
    ),
)


def load_class(service: Service) -> None:
    """Create the other members of the class and their threads. Existing data stays unchanged."""
    _load_people(service.database)
    with service.database.read() as session:
        existing_threads = threads_of(
            session, [ThreadKey(sample_thread.item, sample_thread.participant) for sample_thread in _SAMPLE_THREADS]
        )
    for number, sample_thread in enumerate(_SAMPLE_THREADS):
        if ThreadKey(sample_thread.item, sample_thread.participant) not in existing_threads:
            _load_thread(service, sample_thread, 600 + number)
    ann = service.thread(ANN, THREAD).thread
    if ann is not None and ann.status.is_open and ann.message_count == 0:
        service.update(ANN, THREAD, ThreadUpdate(message_count=2))


def _load_people(database: Database) -> None:
    with database.write() as session:
        if session.get(models.GroupRow, TEACHERS) is not None:
            return
        groups = [
            (TEACHERS, GroupKind.GROUP, "Teachers", True),
            (TEAM, GroupKind.TEAM, "Team Turing", False),
            *((pupil, GroupKind.USER, name, False) for pupil, name in _PUPILS),
        ]
        memberships = [
            (TEACHERS, EVERYBODY),
            (TEACHER, TEACHERS),
            (TEAM, CLASS),
            (BEN, TEAM),
            (CLEO, TEAM),
            *((pupil, CLASS) for pupil, _ in _PUPILS),
        ]
        tasks = [task for task, _ in _TASKS]
        rights = [
            *((CLASS, task, View.CONTENT, GrantView.NONE, Watch.NONE) for task in tasks),
            *((TEACHER, task, View.SOLUTION, GrantView.SOLUTION, Watch.ANSWER) for task in tasks),
            *((TUTORS, task, View.CONTENT, GrantView.NONE, Watch.ANSWER) for task in tasks),
        ]
        rows = (
            (models.GroupRow, ("id", "kind", "name", "is_public"), groups),
            (models.MembershipRow, ("child_id", "parent_id"), memberships),
            (models.ItemRow, ("id", "title"), _TASKS),
            (
                models.ItemEdgeRow,
                ("child_id", "parent_id", "request_help_propagation"),
                [(task, COURSE, True) for task in tasks],
            ),
            (models.ItemPermissionRow, ("group_id", "item_id", "can_view", "can_grant_view", "can_watch"), rights),
            (
                models.HelpGrantRow,
                ("group_id", "item_id", "helper_group_id"),
                ((CLASS, COURSE, TEACHERS), (CLASS, SORTING, CLASS)),
            ),
        )
        for table, names, values in rows:
            session.execute(insert(table), [dict(zip(names, row, strict=True)) for row in values])


def _load_thread(service: Service, sample_thread: SampleThread, attempt: int) -> None:
    """Write the thread's events, and then its row in SQL. If loading is interrupted, the row does not exist, so the
    thread is loaded again at the next start.
    """
    key, now = ThreadKey(sample_thread.item, sample_thread.participant), now_ms(service.clock)
    texts = [step for step in sample_thread.steps if len(step) == 3]
    opened_ms, last_ms = (now - step[0] * 60_000 for step in (texts[0], sample_thread.steps[-1]))
    opener = sample_thread.opener or sample_thread.participant
    _log_status(service, LogKind.THREAD_OPENED, key, opener, opened_ms - 1_000)
    for helper in {step[1] for step in texts} - {opener}:
        service.followers.follow(place_of(key), helper)
    for number, step in enumerate(sample_thread.steps):
        at_ms = now - step[0] * 60_000
        if len(step) == 3:
            _store_message(service, key, (step[1], step[2]), at_ms, is_read=sample_thread.is_read)
        else:
            fact = _fact(step[1], at_ms, str(attempt), str(9000 + 10 * attempt + number))
            service.record(place_of(key), [fact])
    closed_ms = last_ms + 120_000 if sample_thread.status is Status.CLOSED else None
    if closed_ms is not None:
        _log_status(service, LogKind.THREAD_CLOSED, key, opener, closed_ms)
    latest_ms, revision = closed_ms or last_ms, 2 if closed_ms else 1
    with service.database.write() as session:
        insert_thread(
            session,
            Thread(key, sample_thread.status, sample_thread.helpers, len(texts), latest_ms, closed_ms, revision),
        )


def _log_status(service: Service, kind: LogKind, key: ThreadKey, user_id: str, at_ms: int) -> None:
    revision = 1 if kind is LogKind.THREAD_OPENED else 2
    entry_key = f"{kind}-{key.item_id}-{key.participant_id}-{revision}"
    service.write_entry(LogEntry(entry_key, kind, key, user_id, at_ms))


def _fact(description: str, at_ms: int, attempt_id: str, answer_id: str) -> Fact:
    """Convert the description of a step to an attempt or a submission.

    The description of an attempt is "attempt". The description of a submission consists of "submission", the score, and
    "yes" or "no" for a correct or incorrect answer.
    """
    kind, *values = description.split()
    if kind == "attempt":
        return Fact(EventType.ATTEMPT_STARTED, at_ms, attempt_id)
    return Fact(
        EventType.SUBMISSION, at_ms, attempt_id, answer_id, score=float(values[0]), validated=values[1] == "yes"
    )


def _store_message(service: Service, key: ThreadKey, message: tuple[str, str], at_ms: int, *, is_read: bool) -> None:
    """Store a message (author and text) with a time in the past. If `is_read` is True, mark the notifications about the
    message as read.
    """
    user_id, text = message
    event_id = f"message-{uuid5(_NAMESPACE, text)}"
    event = service.log.append(Draft(place_of(key), event_id, EventType.MESSAGE, at_ms, user_id, content=text)).event
    if is_read:
        for follower in service.followers.users_to_notify(event):
            service.followers.notify(follower, event)
            service.followers.set_read(follower, f"{event.at_ms:013d}-{event_id}", is_read=True)
