"""A small design, changed in one thing at a time, and what a comparison is to say of each change."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keyplan.cost.prices import book
from keyplan.design.declaring.design import Design
from keyplan.diff.comparison import Comparison

BASE = '''from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from keyplan import *


class Place(BaseModel):
    city: str


app = Table("app", pk="PK", sk="SK", indexes=[GSI("due", pk="GSI1PK", sk="GSI1SK"), GSI("by_state", pk="state")])


@app.entity(
    key=key("USER#{user}", "TASK#{task}"),
    indexes={"due": key("DUE#{user}", "{due}")},
    volume=Volume(count=1_000, bytes=Bytes(400)),
)
class Task(Entity):
    user: str
    task: str
    due: date
    state: Literal["open", "held", "done"] = "open"
    points: int = 0
    note: str | None = None
    place: Place | None = None
    until: int | None = None


@app.entity(key=key("USER#{user}", "META"), volume=Volume(count=100, bytes=Bytes(200)))
class User(Entity):
    user: str
    email: str


@app.query(Task, index="due", rate=Rate(average=2))
def due(user: str, day: date) -> KeyCondition:
    """What is due on a day."""
    return pk(user=user).sk(due=day)


@app.get(User)
def user(user: str) -> ItemKey:
    """A user."""
    return item(user=user)


@app.update(Task, rate=Rate(average=1))
def hold(user: str, task: str) -> ItemWrite:
    """Hold a task."""
    return item(user=user, task=task).set(state="held")


@app.on_change(User)
def welcome(change: Inserted[User]) -> None:
    """Greet."""


logs = Table("logs", pk="log_id")


@logs.entity()
class Log(Entity):
    log_id: str
    at: int
'''


@dataclass(frozen=True)
class Pair:
    """A change of the base design."""

    name: str
    edits: tuple[tuple[str, str], ...]
    """What is written instead of what."""
    expected: tuple[tuple[str, str, str], ...]
    """Kind, verdict and subject of each change."""

    @property
    def source(self) -> str:
        """The new design."""
        text = BASE
        for old, new in self.edits:
            assert old in text, f"{self.name}: {old}"
            text = text.replace(old, new, 1)
        return text


def pair(name: str, *edits: tuple[str, str], says: list[tuple[str, str, str]]) -> Pair:
    return Pair(name, edits, tuple(says))


def compared(folder: Path, old: str, new: str) -> Comparison:
    """Two sources compared."""
    key = old, new
    if key not in _COMPARED:
        _COMPARED[key] = Comparison(_design(folder, "old", old), _design(folder, "new", new), book())
    return _COMPARED[key]


def _design(folder: Path, version: str, source: str) -> Design:
    """Return a source's design, loaded once from a file in the folder of the first test that asks for it."""
    key = version, source
    if key not in _DESIGNS:
        path = folder / f"{version}.py"
        path.write_text(source)
        _DESIGNS[key] = Design.load(str(path))
    return _DESIGNS[key]


_COMPARED: dict[tuple[str, str], Comparison] = {}
_DESIGNS: dict[tuple[str, str], Design] = {}


_TABLE = 'app = Table("app", pk="PK", sk="SK",'
_DUE = 'GSI("due", pk="GSI1PK", sk="GSI1SK")'
_STATE = 'GSI("by_state", pk="state")'
_KEY = 'key=key("USER#{user}", "TASK#{task}")'
_LOGS = 'logs = Table("logs", pk="log_id")'

_TAG = """
@app.entity(key=key("TAG#{tag}", "META"))
class Tag(Entity):
    tag: str
"""
_USER = """

@logs.entity(key=key("USER#{user}"), volume=Volume(count=100))
class User(Entity):
    user: str
    email: str
"""


def setting(option: str) -> tuple[str, str]:
    """Return both sources of a design that changes an option of the table app."""
    return _TABLE, f"{_TABLE} {option},"


PAIRS = [
    pair("nothing", says=[]),
    pair("an index is added", (_STATE, f'{_STATE}, GSI("by_points", pk="points")'),
         says=[("index added", "backfill", "by_points")]),
    pair("an index nothing can be in", (_STATE, f'{_STATE}, GSI("by_tag", pk="tag")'),
         ("    until: int", "    tag: str | None = None\n    until: int"),
         says=[("index added", "online", "by_tag"), ("field changed", "code", "Task")]),
    pair("an index of keys that are not stored", (_STATE, f'{_STATE}, GSI("later", pk="GSI2PK")'),
         ('"{due}")}', '"{due}"), "later": key("LATER#{user}")}'),
         says=[("index added", "backfill", "later"), ("key changed", "backfill", "Task")]),
    pair("an index is dropped", (f", {_STATE}", ""), says=[("index removed", "online", "by_state")]),
    pair("an index has another key", ('GSI("by_state", pk="state")', 'GSI("by_state", pk="state", sk="points")'),
         says=[("index changed in place", "backfill", "by_state")]),
    pair("an index holds less", (_STATE, 'GSI("by_state", pk="state", project="keys")'),
         says=[("index changed in place", "backfill", "by_state")]),
    pair("a local index is added", (_STATE, f'{_STATE}, LSI("of_points", sk="points")'),
         says=[("local index changed", "new table", "of_points")]),
    pair("another primary key", (_LOGS, 'logs = Table("logs", pk="log_id", sk="at")'),
         says=[("primary key changed", "new table", "logs")]),
    pair("the key's type", ("    log_id: str", "    log_id: int"),
         says=[("primary key changed", "new table", "logs"), ("type changed", "backfill", "Log")]),
    pair("a table is renamed", ('Table("logs"', 'Table("log-lines"'),
         says=[("table renamed", "new table", "log-lines")]),
    pair("a table is added", (_LOGS, f'marks = Table("marks", pk="mark_id")\n\n\n{_LOGS}'),
         says=[("table added", "online", "marks")]),
    pair("a table is dropped", (BASE[BASE.index(_LOGS) :], ""), says=[("table removed", "online", "logs")]),
    pair("provisioned", setting("billing=Provisioned(read=5, write=5)"), says=[("setting changed", "online", "app")]),
    pair("warmed", setting("billing=OnDemand(warm_write=8_000)"), says=[("setting changed", "online", "app")]),
    pair("another class", setting('table_class="STANDARD_INFREQUENT_ACCESS"'),
         says=[("setting changed", "online", "app")]),
    pair("recovery", setting("point_in_time_recovery=True"), says=[("setting changed", "online", "app")]),
    pair("protection", setting("deletion_protection=True"), says=[("setting changed", "online", "app")]),
    pair("a stream", setting('stream="NEW_IMAGE"'), says=[("stream changed", "online", "app")]),
    pair("expiry", setting('ttl="until"'), says=[("expiry changed", "online", "app")]),
    pair("a discriminator", setting('discriminator="kind"'),
         says=[("key changed", "backfill", "Task"), ("key changed", "backfill", "User")]),
    pair("another prefix", (_KEY, 'key=key("USER#{user}", "T#{task}")'),
         says=[("key changed", "backfill", "Task"), ("pattern changed", "code", "hold")]),
    pair("another index key", ('"{due}")', '"{due}#{task}")'),
         says=[("key changed", "backfill", "Task"), ("pattern changed", "code", "due")]),
    pair("another condition", ('"{due}")', '"{due}", only_if=F.state == "open")'),
         says=[("key changed", "backfill", "Task")]),
    pair("out of an index", ('    indexes={"due": key("DUE#{user}", "{due}")},\n', ""),
         ('@app.query(Task, index="due", rate=Rate(average=2))', '@app.query(Task, rate=Rate(average=2))'),
         ("pk(user=user).sk(due=day)", "pk(user=user).filter(F.due == day)"),
         says=[("key changed", "backfill", "Task"), ("pattern changed", "code", "due")]),
    pair("unique", ('key=key("USER#{user}", "META"),', 'key=key("USER#{user}", "META"), unique=["email"],'),
         says=[("unique added", "backfill", "User")]),
    pair("a version", ("    until: int", "    version: int = 0\n    until: int"),
         ("volume=Volume(count=1_000", 'version="version", volume=Volume(count=1_000'),
         says=[("field changed", "code", "Task"), ("version changed", "code", "Task")]),
    pair("an entity is added", ("\n\nlogs =", f"{_TAG}\n\nlogs ="),
         says=[("entity added", "code", "Tag")]),
    pair("an entity is called otherwise", ("class Log(", "class Line("), says=[("entity renamed", "code", "Line")]),
    pair("an entity is in another table",
         (BASE[BASE.index("@app.get(User)") : BASE.index("@app.update")], ""),
         (BASE[BASE.index("@app.on_change") : BASE.index("logs = ")], ""),
         (BASE[BASE.index('@app.entity(key=key("USER#{user}", "META")') : BASE.index("@app.query(Task")], ""),
         ("    at: int", f"    at: int\n{_USER}"),
         says=[("entity moved", "backfill", "User"), ("pattern removed", "code", "user"),
               ("consumer changed", "code", "welcome")]),
    pair("a field is required", ("    email: str", "    email: str\n    name: str"),
         says=[("field missing", "backfill", "User")]),
    pair("a field with a default", ("    email: str", '    email: str\n    name: str = ""'),
         says=[("field changed", "code", "User")]),
    pair("no more None", ("note: str | None = None", "note: str"), says=[("field missing", "backfill", "Task")]),
    pair("None is allowed", ("    email: str", "    email: str | None = None"),
         says=[("field changed", "code", "User")]),
    pair("a field is gone", ("    email: str\n", ""), says=[("field removed", "code", "User")]),
    pair("another attribute", ("    email: str", '    email: Annotated[str, Attribute("mail")]'),
         says=[("field missing", "backfill", "User")]),
    pair("another name", ("    email: str", '    mail: Annotated[str, Attribute("email")]'),
         says=[("field changed", "code", "User")]),
    pair("another type", ("    points: int = 0", '    points: str = "0"'), says=[("type changed", "backfill", "Task")]),
    pair("a value is gone", ('"open", "held", "done"', '"open", "held"'), says=[("values narrowed", "code", "Task")]),
    pair("a value more", ('"open", "held", "done"', '"open", "held", "done", "late"'),
         says=[("field changed", "code", "Task")]),
    pair("a narrower range", ("    points: int = 0", "    points: Annotated[int, Field(ge=0)] = 0"),
         says=[("values narrowed", "code", "Task")]),
    pair("a part is required", ("    city: str", "    city: str\n    street: str"),
         says=[("field missing", "backfill", "Task")]),
    pair("a part may be left out", ("    city: str", "    city: str\n    street: str | None = None"),
         says=[("field changed", "code", "Task")]),
    pair("another default", ("    points: int = 0", "    points: int = 1"), says=[("field changed", "code", "Task")]),
    pair("a pattern is dropped", (BASE[BASE.index("@app.get(User)") : BASE.index("@app.update")], ""),
         says=[("pattern removed", "code", "user")]),
    pair("a pattern is called otherwise", ("def hold(", "def park("), says=[("pattern renamed", "code", "park")]),
    pair("a filter", (".sk(due=day)", '.sk(due=day).filter(F.state == "open")'),
         says=[("pattern changed", "code", "due")]),
    pair("a rate", ("rate=Rate(average=1)", "rate=Rate(average=3)"), says=[("facts changed", "code", "hold")]),
    pair("more items", ("count=100,", "count=200,"), says=[("facts changed", "code", "User")]),
    pair("another batch", ("@app.on_change(User)", "@app.on_change(User, batch=5)"),
         says=[("consumer changed", "code", "welcome")]),
]  # fmt: skip
