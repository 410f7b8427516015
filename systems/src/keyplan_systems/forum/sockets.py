"""The WebSocket route of the forum. It authenticates users, executes the actions that clients send, and closes
connections.

Actions are JSON messages: forum.subscribe {token, since?, presence?}, forum.unsubscribe {item_id, participant_id},
heartbeat {}. The server responds to each action. The response to a rejected action is {"action": "error", ...}, and the
connection stays open. Each process limits the number of open connections and the number of actions per user.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Annotated, Any, Final, Literal

import orjson
from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool

from keyplan.client.errors import RunError
from keyplan.clock import Clock
from keyplan_systems.forum.api import user_of
from keyplan_systems.forum.domain import BadRequestError, ForumError, NotAllowedError
from keyplan_systems.forum.entities import Id, Place
from keyplan_systems.forum.hub import ClientConnection, CloseReason, Hub
from keyplan_systems.forum.service import Service, place_of
from keyplan_systems.web.authentication import admit, authenticate, unauthorized
from keyplan_systems.web.rate_limits import Buckets, Limit, Slots, TooManyRequestsError
from keyplan_systems.web.request_context import set_user
from keyplan_systems.web.sessions import principal_of_session
from keyplan_systems.web.tokens import Principal

MAX_ACTION_BYTES: Final = 32 * 1024
"""Maximum size of an action message in bytes. It equals the maximum frame size in Amazon API Gateway."""
UNSUPPORTED_DATA: Final = 1003

MAX_SOCKETS: Final = 20
"""Default maximum number of open connections per user and process."""
ACTIONS: Final = Limit("actions", 600, 60)
"""Default limit on a user's WebSocket actions: bursts of 600 actions, and 10 actions per second on average."""
CONNECT_AGAIN_S: Final = 30.0
"""Time in seconds that a user with too many open connections is asked to wait before connecting again."""
FLOOD_PAUSE_S: Final = 1.0
"""Pause in seconds after an action that exceeded the limit, before the next message is read.

The pause limits the number of error responses to a client that sends many actions.
"""

_log = logging.getLogger(__name__)


class _Action(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Subscribe(_Action):
    """A request to watch the thread for which the request's token was issued. The server sends all events after number
    `since`. If `since` is None, it sends only new events.
    """

    action: Literal["forum.subscribe"]
    token: str
    since: Annotated[int, Field(ge=0, strict=True)] | None = None
    presence: bool = False
    """Whether the client also wants to receive status changes, and messages when other watchers join or leave."""


class Unsubscribe(_Action):
    """A request to stop watching a thread."""

    action: Literal["forum.unsubscribe"]
    participant_id: Id
    item_id: Id


class Heartbeat(_Action):
    """A request to keep the connection open."""

    action: Literal["heartbeat"]


Action = Annotated[Subscribe | Unsubscribe | Heartbeat, Field(discriminator="action")]
_ACTION: Final[TypeAdapter[Subscribe | Unsubscribe | Heartbeat]] = TypeAdapter(Action)


class Sockets:
    """Provides the WebSocket route and serves its connections."""

    def __init__(
        self,
        service: Service,
        hub: Hub,
        clock: Clock,
        *,
        max_per_user: int = MAX_SOCKETS,
        actions: Limit | None = ACTIONS,
    ) -> None:
        self.service, self.hub, self.clock = service, hub, clock
        self._slots = Slots("connections", max_per_user, CONNECT_AGAIN_S)
        self._actions = Buckets(actions, clock)

    def router(self) -> APIRouter:
        """Return the router with the WebSocket route /ws.

        Connections from pages of this server are authenticated by the browser session. Other clients, which cannot use
        a cookie, pass the user's identity token in the query string: /ws?token=...
        """
        router = APIRouter()

        @router.websocket("/ws")
        async def connect(websocket: WebSocket, token: str | None = None) -> None:
            user_id = user_of(await _authenticate(websocket, token))
            with self._slots.hold(user_id):
                await self.serve(websocket, user_id)

        return router

    async def serve(self, websocket: WebSocket, user_id: str) -> None:
        """Serve a connection until it is closed. Then delete the connection's stored state."""
        connection_id = f"{self.clock.random.getrandbits(128):032x}"
        await run_in_threadpool(self.service.connections.store_connection, connection_id, user_id)
        try:
            try:
                await websocket.accept()
            except OSError:
                return  # closed before it was registered

            async def send(message: dict[str, Any]) -> None:
                await websocket.send_text(orjson.dumps(message).decode())

            connection = self.hub.open(connection_id, user_id, send)
            try:
                await self._run(websocket, connection)
            finally:
                self.hub.close(connection)
        finally:
            await self._delete_stored_state(connection_id)

    async def _run(self, websocket: WebSocket, connection: ClientConnection) -> None:
        """Receive and send messages until the client disconnects or the server closes the connection."""
        receiver = asyncio.create_task(self._listen(websocket, connection))
        sender = asyncio.create_task(self.hub.keep_sending(connection))
        try:
            awaited: set[asyncio.Future[Any]] = {receiver, sender, connection.close_reason}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (receiver, sender):
                task.cancel()
            results = await asyncio.gather(receiver, sender, return_exceptions=True)
        failures = [
            result
            for result in results
            if isinstance(result, Exception) and not isinstance(result, WebSocketDisconnect)
        ]
        if connection.close_reason.done():
            await _close(websocket, connection.close_reason.result())
        elif failures:
            raise failures[0]

    async def _delete_stored_state(self, connection_id: str) -> None:
        """Delete the stored state of a connection. If this fails, the state remains until it expires, and readers
        ignore expired state.
        """
        try:
            await run_in_threadpool(self.service.connections.delete_connection, connection_id)
        except RunError:
            _log.exception("removing a closed connection failed", extra={"connection": connection_id})

    # Actions.

    async def _listen(self, websocket: WebSocket, connection: ClientConnection) -> None:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            self.hub.touch(connection)
            text = message.get("text")
            if text is None:
                connection.request_close(UNSUPPORTED_DATA, "send actions as text messages")
                return
            await self._execute(connection, text)

    async def _execute(self, connection: ClientConnection, text: str) -> None:
        try:
            self._actions.take(connection.user_id)
            action = _parse_action(text)
            match action:
                case Subscribe():
                    await self._subscribe(connection, action)
                case Unsubscribe():
                    await self._unsubscribe(connection, Place(action.participant_id, action.item_id))
                case Heartbeat():
                    connection.enqueue({"action": "heartbeat"})
                    await self.hub.read_missed(connection)
        except TooManyRequestsError as error:
            wait_s = error.retry_after_s
            connection.enqueue({"action": "error", "status": 429, "message": str(error), "retry_after": wait_s})
            await asyncio.sleep(FLOOD_PAUSE_S)
        except ForumError as error:
            connection.enqueue({"action": "error", "status": error.status, "message": str(error)})
        except RunError:
            _log.exception("a WebSocket action failed")
            connection.enqueue(
                {"action": "error", "status": 503, "message": "the database is busy or unavailable: try again"}
            )

    async def _subscribe(self, connection: ClientConnection, action: Subscribe) -> None:
        rights = self.service.checker.check(action.token)
        if rights.user_id != connection.user_id:
            raise NotAllowedError("the thread token belongs to another user")
        place = place_of(rights.key)
        if place in connection.watches:
            raise BadRequestError("this connection already watches the thread")
        # Join first, then read the newest number: events stored in between are received.
        watch = self.hub.join(connection, place, rights.expires_s)
        try:
            newest_seq = await run_in_threadpool(self.service.log.last_seq, place)
            after = newest_seq if action.since is None else action.since
            if after > newest_seq:
                raise BadRequestError(f"since is {after}, but the thread's newest event is {newest_seq}")
            # Store the subscription last, so that a refused user does not count as watching and is still notified.
            await run_in_threadpool(
                self.service.connections.subscribe, connection.connection_id, connection.user_id, place
            )
        except BaseException:
            self.hub.leave(connection, place)
            raise
        position = {
            "participant_id": place.participant_id,
            "item_id": place.item_id,
            "since": after,
            "last_seq": newest_seq,
        }
        connection.enqueue({"action": "forum.subscribed", **position})
        self.hub.begin(watch, after, newest_seq, presence=action.presence)

    async def _unsubscribe(self, connection: ClientConnection, place: Place) -> None:
        self.hub.leave(connection, place)
        await run_in_threadpool(self.service.connections.unsubscribe, connection.connection_id, place)
        connection.enqueue(
            {"action": "forum.unsubscribed", "participant_id": place.participant_id, "item_id": place.item_id}
        )


async def _authenticate(websocket: WebSocket, token: str | None) -> Principal:
    """Return the user that the token identifies. If `token` is None, return the user who is signed in to the browser
    session. Pages of this server connect without a token.

    Raises `Problem` with status 401 if the token is invalid, or if no token is given and no user is signed in.
    """
    if token is not None:
        return await authenticate(websocket, token)
    principal = principal_of_session(websocket)
    if principal is None:
        raise unauthorized("connect with ?token=")
    set_user(principal.subject)
    admit(websocket, principal.subject)
    return principal


def _parse_action(text: str) -> Subscribe | Unsubscribe | Heartbeat:
    if len(text.encode(errors="surrogatepass")) > MAX_ACTION_BYTES:
        raise BadRequestError(f"an action can have at most {MAX_ACTION_BYTES} bytes")
    try:
        return _ACTION.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        location = ".".join(str(part) for part in first["loc"]) or "action"
        raise BadRequestError(f"{location}: {first['msg']}") from error


async def _close(websocket: WebSocket, close_reason: CloseReason) -> None:
    # The client may have disconnected: then the error cannot be sent.
    with contextlib.suppress(WebSocketDisconnect):
        await websocket.close(close_reason.code, close_reason.reason)
