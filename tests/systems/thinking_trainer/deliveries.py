"""Snapshots after deliveries, and the expected ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.systems.thinking_trainer.builders import USER, snapshot

from keyplan.client.connection import Connection
from keyplan.errors import InternalServerError
from keyplan_systems.thinking_trainer import design
from keyplan_systems.thinking_trainer.design import StoredAttempt
from keyplan_systems.thinking_trainer.domain.attempts import Attempt
from keyplan_systems.thinking_trainer.domain.profiles import Profile
from keyplan_systems.thinking_trainer.service import to_stored


def store_attempts(connection: Connection, attempts: Sequence[Attempt]) -> list[StoredAttempt]:
    """Return the attempts, stored."""
    connection.create_tables(design.attempts, design.profiles, design.scenarios)
    return [connection.run(design.start_attempt(to_stored(attempt))) for attempt in attempts]


def raw_items(connection: Connection, table: str) -> list[dict[str, Any]]:
    """Return every item of a table as it is stored, despite injected faults."""
    while True:
        try:
            response = connection.transport.call("Scan", {"TableName": table, "ConsistentRead": True})
        except InternalServerError:
            continue
        assert "LastEvaluatedKey" not in response
        return list(response["Items"])


def raw_snapshots(connection: Connection) -> list[dict[str, Any]]:
    """Return every item of the table of profiles, byte for byte, in the order of their keys."""
    return sorted(raw_items(connection, "Profiles"), key=lambda item: str(item["timestamp"]["S"]))


def stored_profiles(connection: Connection) -> list[Profile]:
    """Return all snapshots of the user, oldest first, as plain records."""
    items = connection.all(design.profile_history(USER))[::-1]
    return [Profile.model_validate({name: getattr(item, name) for name in Profile.model_fields}) for item in items]


def expected_profiles(attempts: Sequence[Attempt]) -> list[Profile]:
    """Return the snapshot after each attempt, as if they were delivered once each and in order."""
    ordered = sorted(attempts, key=lambda attempt: attempt.scored_key or "")
    return [snapshot(ordered[: count + 1][-10:], count + 1) for count in range(len(ordered))]
