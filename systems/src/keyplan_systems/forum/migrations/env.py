"""The Alembic environment. It applies the migrations on a given connection and within its transaction."""

from __future__ import annotations

from alembic import context

from keyplan_systems.forum.relational.models import Base


def run() -> None:
    """Apply the migrations. Raises RuntimeError if Alembic was not started by `migrations.upgrade(url)`."""
    connection = context.config.attributes.get("connection")
    if connection is None:
        raise RuntimeError("no connection: call keyplan_systems.forum.migrations.upgrade(url)")
    # transactional_ddl is also set for SQLite, because the session starts its transactions itself.
    context.configure(connection=connection, target_metadata=Base.metadata, transactional_ddl=True)
    context.run_migrations()


run()
