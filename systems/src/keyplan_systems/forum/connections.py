"""Stores the state of the WebSocket connections and their subscriptions to threads.

The item of a connection lists the threads that the connection watches. The list is updated in the same transaction as
the subscriptions, so that all subscriptions can be deleted when the connection is closed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from keyplan.client.connection import Connection
from keyplan.client.errors import ConditionFailedError, NotFoundError, TransactionFailedError, VersionConflictError
from keyplan.clock import Clock
from keyplan_systems.forum import design
from keyplan_systems.forum.domain import BadRequestError
from keyplan_systems.forum.entities import MAX_WATCHED, Connected, Place, Subscription

CONNECTION_SECONDS: Final = 2 * 3600
"""Maximum lifetime of a connection, in seconds. Its subscriptions expire after this time."""
SERVER_SECONDS: Final = 60
"""Time in seconds for which a process is considered alive after it has renewed its registration.

If the registration is not renewed within this time, the users who are connected to the process are no longer listed as
watching a thread.
"""
GRACE_SECONDS: Final = 3600
"""Time in seconds for which the item of a connection is kept after the connection's maximum lifetime.

The item lists the subscriptions to delete, so it must still exist when the connection reaches its maximum lifetime.
"""


class Connections:
    """Stores the WebSocket connections of this process and their subscriptions."""

    def __init__(self, db: Connection, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self._server_id = f"{clock.random.getrandbits(128):032x}"

    def renew_registration(self) -> int:
        """Renew the registration of this process, which shows that the process is alive. Return 0, so that the calling
        worker pauses before the next call.
        """
        self._db.run(design.beat(self._server_id, int(self._clock.now()) + SERVER_SECONDS))
        return 0

    def store_connection(self, connection_id: str, user_id: str) -> None:
        """Store a user's new connection."""
        ttl = self._ttl() + GRACE_SECONDS
        self._db.run(design.connect(Connected(connection_id=connection_id, user_id=user_id, ttl=ttl)))

    def subscribe(self, connection_id: str, user_id: str, place: Place) -> None:
        """Subscribe a connection to a thread. Repeated calls change nothing.

        Raises BadRequestError if the connection already watches MAX_WATCHED threads.
        """
        subscription = Subscription(
            participant_id=place.participant_id,
            item_id=place.item_id,
            connection_id=connection_id,
            server_id=self._server_id,
            user_id=user_id,
            ttl=self._ttl(),
        )
        try:
            self._db.run(design.subscribe(subscription, connection_id, _text(place)))
        except TransactionFailedError as error:
            if isinstance(error.reasons[1], ConditionFailedError):
                raise BadRequestError(f"a connection can watch at most {MAX_WATCHED} threads") from error
            raise

    def unsubscribe(self, connection_id: str, place: Place) -> None:
        """Unsubscribe a connection from a thread. Subscriptions of the user's other connections are kept."""
        self._db.run(design.unsubscribe(place, connection_id, _text(place)))

    def delete_connection(self, connection_id: str) -> int:
        """Delete the stored state of a closed connection and all its subscriptions. Return the number of deleted
        subscriptions.

        Repeated calls change nothing.
        """
        while (connection := self._db.run(design.connection_by_id(connection_id))) is not None:
            places = connection.places()
            try:
                self._db.run(design.disconnect(connection_id, connection.version, places))
            except TransactionFailedError as error:
                if not isinstance(error.reasons[0], VersionConflictError | NotFoundError):
                    raise
                continue  # a subscription was stored concurrently: read again
            return len(places)
        return 0

    def users(self, place: Place) -> frozenset[str]:
        """Return the IDs of the users who watch a thread. Connections to processes that are no longer running are
        ignored.
        """
        subscriptions = list(self._db.iterate(design.watchers(place)))
        live_server_ids = (
            {server.server_id for server in self._db.iterate(design.servers())} if subscriptions else set()
        )
        return frozenset(
            subscription.user_id for subscription in subscriptions if subscription.server_id in live_server_ids
        )

    def copy_status(self, place: Place, status: str, revision: int) -> None:
        """Store a copy of a thread's status. The thread's watchers are notified about changes to the copy. Nothing
        changes if the stored copy has the same revision or a later one.
        """
        with suppress(ConditionFailedError):
            self._db.run(design.copy_status(place, status, revision))

    def _ttl(self) -> int:
        return int(self._clock.now()) + CONNECTION_SECONDS


def _text(place: Place) -> frozenset[str]:
    return frozenset({f"{place.participant_id}#{place.item_id}"})
