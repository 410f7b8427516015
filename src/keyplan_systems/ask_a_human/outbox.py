"""The local outbox: push messages kept as JSON lines in a file that anybody can read, for runs without credentials.

Each message is one line, appended by a single write, so readers and other writers never see half of one. What a crash
of the machine may leave is a torn last line: the next message starts on a line of its own, and reading reports what is
torn instead of hiding it. A writer that opens the file while another is in the middle of a line takes it for torn too;
what it then adds comes behind that line and is an empty one, which means nothing.
"""

from __future__ import annotations

import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from keyplan.clock import Clock
from keyplan_systems.ask_a_human.domain.moments import from_seconds, iso
from keyplan_systems.ask_a_human.domain.notifications import Delivered, Outcome
from keyplan_systems.ask_a_human.notifier import FcmNotifier, Notifier, PushMessage


@dataclass(frozen=True, slots=True)
class Kept:
    """One message in the outbox."""

    message_id: str
    sent_at: str
    message: PushMessage


@dataclass(frozen=True, slots=True)
class OutboxContent:
    """All messages in the order they were sent, and the numbers (from 1) of lines that are no messages."""

    messages: tuple[Kept, ...]
    torn_lines: tuple[int, ...]


_KEPT = TypeAdapter(Kept)


class OutboxNotifier:
    """A notifier whose messages end in a file; its directory is made if there is none."""

    def __init__(self, path: Path, clock: Clock) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._end_torn_line()

    async def send(self, message: PushMessage) -> Outcome:
        """Append one message; OSError if the disk does not take it."""
        with self._lock:
            identity = f"outbox/{self._clock.random.getrandbits(64):016x}"
            kept = Kept(identity, iso(from_seconds(self._clock.now())), message)
            self._append(orjson.dumps(asdict(kept)) + b"\n")
        return Delivered(identity)

    async def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def _append(self, line: bytes) -> None:
        written = os.write(self._file, line)
        if written != len(line):
            os.write(self._file, b"\n")
            raise OSError(f"only {written} of {len(line)} bytes fit into {self._path}")

    def _end_torn_line(self) -> None:
        size = os.fstat(self._file).st_size
        if size:
            os.lseek(self._file, size - 1, os.SEEK_SET)
            if os.read(self._file, 1) != b"\n":
                os.write(self._file, b"\n")


def read_outbox(path: Path) -> OutboxContent:
    """Everything in an outbox; an outbox not written to yet is empty."""
    if not path.exists():
        return OutboxContent((), ())
    messages, torn = [], []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line:
            continue
        try:
            messages.append(_KEPT.validate_json(line))
        except ValidationError:
            torn.append(number)
    return OutboxContent(tuple(messages), tuple(torn))


def choose_notifier(credentials: Path | None, outbox: Path, clock: Clock) -> Notifier:
    """Firebase Cloud Messaging if a service account key file is configured, else the outbox."""
    return OutboxNotifier(outbox, clock) if credentials is None else FcmNotifier.from_file(credentials, clock)
