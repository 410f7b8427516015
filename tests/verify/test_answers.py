"""What a read means of each of its entities, told from the entities alone."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from keyplan.design import Attribute, Cond, Entity, F, Table, key, pk, where
from keyplan.design.entities import spec_of
from keyplan.verify.answers import meaning_of

things = Table("things", pk="PK", sk="SK")


@things.entity(key=key("OWNER#{owner}", "NOTE#{id}"))
class Note(Entity):
    owner: str
    id: str


@things.entity(key=key("OWNER#{owner}", "TASK#{id}"))
class Task(Entity):
    owner: str
    id: str
    status: Literal["open", "done"] = "open"


@things.entity(key=key("OWNER#{owner}", "LOAN#{id}"))
class Loan(Entity):
    owner: str
    id: str
    state: Annotated[str, Attribute("status")] = "open"


@things.query(Note, Task, Loan)
def with_status(owner: str, status: Literal["open", "done"]) -> Cond:
    return pk(owner=owner) & where(F.status == status)


@things.query(Note, Task, Loan)
def without_status(owner: str) -> Cond:
    return pk(owner=owner) & where(F.status.missing())


@pytest.mark.parametrize(
    ("entity", "is_with", "is_without"),
    [
        (Task(owner="ada", id="1"), True, False),
        (Task(owner="ada", id="1", status="done"), False, False),
        (Note(owner="ada", id="1"), False, True),
        (Loan(owner="ada", id="1"), True, False),
        (Loan(owner="ada", id="1", state="gone"), False, False),
    ],
)
def test_an_entity_without_a_field_is_judged_by_the_attribute(entity: Entity, is_with: bool, is_without: bool) -> None:
    """A filter looks for attributes: an item that lacks one does not match, one of another field's may."""
    spec, arguments = spec_of(type(entity)), {"owner": "ada", "status": "open"}
    assert meaning_of(with_status).of(spec, entity, arguments, 0) is is_with
    assert meaning_of(without_status).of(spec, entity, arguments, 0) is is_without
