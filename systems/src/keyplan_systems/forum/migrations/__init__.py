"""Relational schema as Alembic revisions, and the function that upgrades a database: `upgrade(url)`."""

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
    """Upgrade the database at this URL to a revision, creating missing tables; safe to run concurrently.

    All steps are committed or none: both databases change their schema inside a transaction. Raises `ValueError` for a
    URL that is neither a SQLite file nor PostgreSQL.
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
    """Lock the schema until the connection's transaction ends (SQLite: locked since BEGIN IMMEDIATE)."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    return connection
