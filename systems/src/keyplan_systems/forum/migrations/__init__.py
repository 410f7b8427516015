"""The migrations of the SQL schema with Alembic. The function `upgrade(url)` applies them to a database."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from keyplan_systems.forum.relational.session import Database

_FOLDER: Final = Path(__file__).parent
_LOCK: Final = 0x666F72756D
"""Number of the PostgreSQL advisory lock that a process holds while it migrates the schema. Its bytes spell "forum" in
ASCII.
"""


def upgrade(url: str, revision: str = "head") -> None:
    """Upgrade the schema of a database to a revision. Concurrent calls are safe.

    All steps are applied in one transaction. Raises ValueError if the URL does not refer to SQLite or PostgreSQL.
    """
    database = Database(url)
    try:
        with database.write() as session:
            command.upgrade(config(_locked(session.connection())), revision)
    finally:
        database.close()


def config(connection: Connection) -> Config:
    """Return an Alembic configuration that makes commands use the given connection and its current transaction."""
    settings = Config()
    settings.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    settings.set_main_option("path_separator", "os")
    settings.attributes["connection"] = connection
    return settings


def _locked(connection: Connection) -> Connection:
    """Lock the schema until the end of the transaction, and return the connection. A SQLite database is already locked
    by BEGIN IMMEDIATE.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    return connection
