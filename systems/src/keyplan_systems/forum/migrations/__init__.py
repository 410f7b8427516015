"""The relational schema as Alembic revisions, and the function that brings a database up to date: `upgrade(url)`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from keyplan_systems.forum.relational.session import Database

_PLACE: Final = Path(__file__).parent
_LOCK: Final = 0x666F72756D
"""The number of the PostgreSQL advisory lock under which one process migrates ("forum" in ASCII)."""


def upgrade(url: str, revision: str = "head") -> None:
    """Bring the database at this URL to a revision, creating what is missing; safe when several start at once.

    Either all steps are kept or none: both databases change their schema inside a transaction. Raises `ValueError`
    for a URL that is neither a SQLite file nor PostgreSQL.
    """
    database = Database(url)
    try:
        with database.write() as session:
            command.upgrade(config(_locked(session.connection())), revision)
    finally:
        database.close()


def config(connection: Connection) -> Config:
    """Alembic's configuration for commands on this connection, within its transaction."""
    made = Config()
    made.set_main_option("script_location", str(_PLACE).replace("%", "%%"))
    made.set_main_option("path_separator", "os")
    made.attributes["connection"] = connection
    return made


def _locked(connection: Connection) -> Connection:
    """The connection, alone with the schema until its transaction ends (SQLite is, from BEGIN IMMEDIATE on)."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    return connection
