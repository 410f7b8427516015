"""Sends push messages from synchronous code. An event loop in a separate thread sends the messages concurrently."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence

from keyplan_systems.ask_a_human.domain.notifications import Outcome, TryLater
from keyplan_systems.ask_a_human.notifier import Notifier, PushMessage

MAX_CONCURRENT = 20
_log = logging.getLogger(__name__)


class Outbound:
    """Sends push messages from synchronous code, by running a notifier in an event loop in a separate thread. Instances
    are thread-safe.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ask-a-human-push", daemon=True)
        self._thread.start()

    def send(self, messages: Sequence[PushMessage]) -> list[Outcome]:
        """Send messages and return one outcome per message, in the same order. At most 20 messages are sent
        concurrently.
        """
        return asyncio.run_coroutine_threadsafe(self._send(messages), self._loop).result()

    def close(self) -> None:
        """Close the notifier, and stop the event loop and its thread."""
        asyncio.run_coroutine_threadsafe(self._notifier.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _send(self, messages: Sequence[PushMessage]) -> list[Outcome]:
        semaphore = asyncio.Semaphore(MAX_CONCURRENT)

        async def send_one(message: PushMessage) -> Outcome:
            async with semaphore:
                try:
                    return await self._notifier.send(message)
                except Exception as error:  # noqa: BLE001 - a full disk or an unexpected error: the other results stay valid
                    _log.exception("sending a push notification failed")
                    return TryLater(f"not sent: {error!r}")

        return await asyncio.gather(*map(send_one, messages))
