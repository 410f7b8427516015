"""Who watches what: connections and their subscriptions, written together and removed together."""

from __future__ import annotations

from typing import Final

from keyplan.client.connection import Connection
from keyplan.client.errors import ConditionFailedError, NotFoundError, TransactionFailedError, VersionConflictError
from keyplan.clock import Clock
from keyplan_systems.forum import design
from keyplan_systems.forum.domain import BadRequestError
from keyplan_systems.forum.entities import MOST_WATCHED, Connected, Place, Subscription

CONNECTION_SECONDS: Final = 2 * 3600
"""How long a connection lasts at most; a subscription that is older belongs to none."""
SERVER_SECONDS: Final = 60
"""How long a process counts as alive without a sign of life: who watched on one that was killed is then told."""
GRACE_SECONDS: Final = 3600
"""How much longer its own item lives: it must be found when the connection ends by its age."""


class Watching:
    """The stored side of websockets."""

    def __init__(self, db: Connection, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self._server_id = f"{clock.random.getrandbits(128):032x}"

    def beat(self) -> int:
        """Say that this process lives, and its connections with it. 0, as a worker's that leaves nothing to do."""
        self._db.run(design.beat(self._server_id, int(self._clock.now()) + SERVER_SECONDS))
        return 0

    def opened(self, connection_id: str, user_id: str) -> None:
        """A connection begins."""
        ttl = self._ttl() + GRACE_SECONDS
        self._db.run(design.connect(Connected(connection_id=connection_id, user_id=user_id, ttl=ttl)))

    def subscribe(self, connection_id: str, user_id: str, place: Place) -> None:
        """The connection watches a thread; again is as good as once. Raises BadRequestError past MOST_WATCHED."""
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
        except TransactionFailedError as failed:
            if isinstance(failed.reasons[1], ConditionFailedError):
                raise BadRequestError(f"a connection watches at most {MOST_WATCHED} threads") from failed
            raise

    def unsubscribe(self, connection_id: str, place: Place) -> None:
        """The connection no longer watches a thread. The user's other connections do."""
        self._db.run(design.unsubscribe(place, connection_id, _text(place)))

    def closed(self, connection_id: str) -> int:
        """The connection is gone: it is removed with all its subscriptions. How many these were; again does nothing."""
        while (connection := self._db.run(design.connection_by_id(connection_id))) is not None:
            places = connection.places()
            try:
                self._db.run(design.disconnect(connection_id, connection.version, places))
            except TransactionFailedError as failed:
                if not isinstance(failed.reasons[0], VersionConflictError | NotFoundError):
                    raise
                continue  # a subscription was still being written: look again
            return len(places)
        return 0

    def users(self, place: Place) -> frozenset[str]:
        """The users who watch a thread now, on any process that lives."""
        found = list(self._db.iterate(design.watchers(place)))
        alive = {server.server_id for server in self._db.iterate(design.servers())} if found else set()
        return frozenset(one.user_id for one in found if one.server_id in alive)

    def _ttl(self) -> int:
        return int(self._clock.now()) + CONNECTION_SECONDS


def _text(place: Place) -> frozenset[str]:
    return frozenset({f"{place.participant_id}#{place.item_id}"})
