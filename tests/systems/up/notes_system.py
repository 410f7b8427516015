"""Small system for `keyplan up`: notes on a shelf."""

from __future__ import annotations

from fastapi import FastAPI

from keyplan import Entity, ItemKey, ItemWrite, KeyCondition, Table, everything, item
from keyplan.client.errors import AlreadyExistsError
from keyplan_systems.web.authentication import Caller, install_verifier
from keyplan_systems.web.health import in_thread, install_health
from keyplan_systems.web.system import BuiltSystem, Resources, System, Worker

shelf = Table("shelf", pk="note_id")


@shelf.entity()
class Note(Entity):
    note_id: str
    text: str


@shelf.create(Note)
def add_note(note: Note) -> ItemWrite:
    """Add a note."""
    return item(note)


@shelf.get(Note)
def note_by_id(note_id: str) -> ItemKey:
    """Read a note."""
    return item(note_id=note_id)


@shelf.scan(Note)
def notes() -> KeyCondition:
    """Read all notes."""
    return everything()


def build(resources: Resources) -> BuiltSystem:
    app = FastAPI(title="Shelf")
    install_verifier(app, resources.verifier)
    install_health(app, {"table": in_thread(resources.connection.run, note_by_id("health"))})
    (resources.folder / "built").write_text("yes")

    @app.get("/me")
    def me(caller: Caller) -> str:
        return caller.subject

    @app.get("/notes/{note_id}")
    def read(note_id: str) -> dict[str, str | None]:
        result = resources.connection.run(note_by_id(note_id))
        return {"text": None if result is None else result.text}

    @app.get("/notes")
    def read_all(cursor: str | None = None) -> dict[str, object]:
        page = resources.connection.run(notes(), limit=1, cursor=cursor)
        return {"notes": [note.note_id for note in page.items], "cursor": page.cursor}

    @app.post("/notes/{note_id}")
    def write(note_id: str, text: str) -> None:
        resources.connection.run(add_note(Note(note_id=note_id, text=text)))

    def sample() -> None:
        try:
            resources.connection.run(add_note(Note(note_id="first", text="a sample")))
        except AlreadyExistsError:
            return

    return BuiltSystem(app, (Worker("shelf dusting", lambda: 0),), sample)


SYSTEM = System("shelf", "Notes on a shelf", __name__, build)
