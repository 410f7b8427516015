"""The relational schema as Alembic revisions, and the function `upgrade(url)` that upgrades a database."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from keyplan_systems.forum.relational.session import Database

_PLACE: Final = Path(__file__).parent
_LOCK: Final = 0x666F72756D
"""Number of the PostgreSQL advisory lock under which one process migrates ("forum" in ASCII)."""


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the database at a URL to a revision, creating missing tables. It is safe to run concurrently.

    Either all steps are committed or none, because both databases support schema changes in transactions. Raises
    `ValueError` for a URL that is neither a SQLite file nor PostgreSQL.
    """
    database = Database(url)
    try:
        with database.write() as session:
            command.upgrade(config(_locked(session.connection())), revision)
    finally:
        database.close()


def config(connection: Connection) -> Config:
    """Return Alembic's configuration for commands on this connection, within its transaction."""
    settings = Config()
    settings.set_main_option("script_location", str(_PLACE).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    settings.attributes["connection"] = connection
    return settings


def _locked(connection: Connection) -> Connection:
    """Lock the schema until the transaction ends. A SQLite database is already locked by BEGIN IMMEDIATE."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    return connection
