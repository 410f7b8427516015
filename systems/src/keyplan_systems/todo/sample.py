"""Sample data of the to-do system."""

from __future__ import annotations

import logging
from datetime import date, timedelta
from typing import Any, Final

from keyplan.clock import Clock
from keyplan_systems.todo.domain import fingerprint, today
from keyplan_systems.todo.idempotency import Request
from keyplan_systems.todo.refusals import ConflictError
from keyplan_systems.todo.service import Service
from keyplan_systems.todo.service_lists import TaskSelection
from keyplan_systems.todo.service_users import Person
from keyplan_systems.web.system import SamplePerson

logger = logging.getLogger(__name__)


def _email(address: str) -> dict[str, object]:
    return {"email": address, "email_verified": True}


_PEOPLE = (
    Person("ada", "ada@example.org", "Ada", email_is_verified=True),
    Person("grace", "grace@example.org", "Grace", email_is_verified=True),
)
PEOPLE: Final = (
    SamplePerson("ada", "Ada", "Has five tasks, one of them overdue.", claims=_email("ada@example.org")),
    SamplePerson("grace", "Grace", "Has the same five tasks.", claims=_email("grace@example.org")),
)


def _tasks(day: date) -> tuple[dict[str, Any], ...]:
    return (
        {"title": "Water the plants", "category": "home", "priority": "high", "due_date": day},
        {"title": "Write the report", "category": "work", "status": "in_progress", "due_date": day + timedelta(days=3)},
        {"title": "Return the books", "category": "home", "due_date": day - timedelta(days=2)},
        {"title": "Call the dentist", "priority": "urgent"},
        {"title": "Pay the rent", "category": "home", "status": "completed"},
    )


def load_sample(service: Service, clock: Clock) -> None:
    """Create two users with tasks.

    A user is skipped if they already have tasks or are being deleted, or if their email address belongs to another
    user.
    """
    for person in _PEOPLE:
        if service.lists.page(person.user_id, TaskSelection(), 1, None).items:
            continue
        try:
            _load(service, clock, person)
        except ConflictError as refusal:
            logger.warning("cannot load the sample data for %s: %s", person.user_id, refusal)


def _load(service: Service, clock: Clock, person: Person) -> None:
    for number, task in enumerate(_tasks(today(clock))):
        request = Request(person.user_id, f"sample-{number}", fingerprint("POST", "sample", number))
        service.tasks.create(request, person, task)
