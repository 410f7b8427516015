"""Commands run in this process, and designs to run them on."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from keyplan.cli.main import app

HEAD = """from __future__ import annotations
from typing import Literal
from keyplan import *

"""
NOTES = '''
notes = Table("notes", pk="note_id", point_in_time_recovery=True, indexes=[GSI("by_owner", pk="owner", sk="at")])

@notes.entity(volume=Volume(count=1_000, bytes=Bytes(400), distinct={"owner": 50}))
class Note(Entity):
    note_id: str
    owner: str
    at: int
    text: str

@notes.get(Note, rate=Rate(average=10, peak=40), claims=Claim("0.5 RCU"))
def note(note_id: str) -> ItemKey:
    """One note."""
    return item(note_id=note_id)

@notes.query(Note, index="by_owner", rate=Rate(average=2))
def of_owner(owner: str) -> KeyCondition:
    """The notes of somebody."""
    return pk(owner=owner)

@notes.put(Note, rate=Rate(average=1))
def keep(note: Note) -> ItemWrite:
    """Keep a note."""
    return item(note)
'''
FAULTY = '''
flags = Table("flags", pk="flag_id", indexes=[GSI("by_state", pk="active")])

@flags.entity()
class Flag(Entity):
    flag_id: str
    active: bool

@flags.query(Flag, index="by_state")
def active_flags() -> KeyCondition:
    """All that are active."""
    return pk(active=True)
'''
UNKNOWN_FIELD = """
t = Table("t", pk="PK")

@t.entity(key=key("A#{b}"))
class A(Entity):
    a: str
"""
NOT_DESIGNS = {
    "missing.py": (None, 2, "file not found"),
    "syntax.py": ('Table("a"\n', 2, "is not valid Python"),
    "failing.py": ("x = 1\n1 / 0\n", 2, "ZeroDivisionError"),
    "exits.py": ("import sys\nsys.exit(0)\n", 2, "failed: SystemExit: 0"),
    "": (None, 2, "is not the name of a module or file"),
    "..": (None, 2, "is not the name of a module or file"),
    "shop.design:design": (None, 2, "give the module, shop.design"),
    "sys": (None, 1, "sys declares no table"),
    "empty.py": ("x = 1\n", 1, "declares no table"),
    "unknown.py": (HEAD + UNKNOWN_FIELD, 1, "KP201"),
    "no.such.module": (None, 2, "cannot be imported"),
}
"""By name: what is in the file, the exit code, and what the error says."""


vars(testing)["_get_command"] = cache(get_command)  # typer builds all commands for each call: half of its time


def run(*arguments: str) -> Result:
    """Run `keyplan` with these arguments."""
    return CliRunner().invoke(app, list(arguments))


def design(folder: Path, source: str, name: str = "plan.py") -> str:
    """Write a design to a file and return its path."""
    path = folder / name
    path.write_text(HEAD + source)
    return str(path)


def bad_target(folder: Path, name: str) -> tuple[str, int, str]:
    """Return the path of an invalid design, and the expected exit code and text."""
    source, code, text = NOT_DESIGNS[name]
    if source is not None:
        (folder / name).write_text(source)
    return (str(folder / name) if name.endswith(".py") else name), code, text
