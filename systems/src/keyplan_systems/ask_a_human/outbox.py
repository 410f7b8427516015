"""A local outbox for push messages, used if no push credentials are configured. It writes the messages as JSON lines to
a file that only its owner can read.

Each message is one line, which is appended with a single write, so readers and other writers do not see partial lines.
If the machine crashes, the last line may be truncated, so a new writer first ends an unfinished line. If the unfinished
line is one that another process is writing, the result is an empty line, which readers must ignore.
"""

from __future__ import annotations

import os
import threading
from dataclasses import asdict
from pathlib import Path

import orjson

from keyplan.clock import Clock
from keyplan_systems.ask_a_human.domain.notifications import Delivered, Outcome
from keyplan_systems.ask_a_human.domain.timestamps import from_seconds, iso
from keyplan_systems.ask_a_human.notifier import FcmNotifier, Notifier, PushMessage


class OutboxNotifier:
    """Writes push messages to a file instead of sending them. The file's directory is created if it does not exist."""

    def __init__(self, path: Path, clock: Clock) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._end_partial_line()

    async def send(self, message: PushMessage) -> Outcome:
        """Append a message to the file. Raises OSError if the message cannot be written completely, for example because
        the disk is full.
        """
        with self._lock:
            message_id = f"outbox/{self._clock.random.getrandbits(64):016x}"
            sent_at = iso(from_seconds(self._clock.now()))
            self._append(
                orjson.dumps({"message_id": message_id, "sent_at": sent_at, "message": asdict(message)}) + b"\n"
            )
        return Delivered(message_id)

    async def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        written = os.write(self._file, line)
        if written != len(line):
            os.write(self._file, b"\n")
            raise OSError(f"only {written} of {len(line)} bytes were written to {self._path}")

    def _end_partial_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size:
            os.lseek(self._file, size - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                os.write(self._file, b"\n")


def choose_notifier(credentials: Path | None, outbox: Path, clock: Clock) -> Notifier:
    """Return an FcmNotifier if `credentials` is the path of a service account key file. Otherwise, return an
    OutboxNotifier that writes to the file `outbox`.
    """
    return OutboxNotifier(outbox, clock) if credentials is None else FcmNotifier.from_file(credentials, clock)
