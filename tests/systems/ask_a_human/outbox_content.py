"""Content of an outbox, for assertions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from keyplan_systems.ask_a_human.notifier import PushMessage


@dataclass(frozen=True, slots=True)
class Kept:
    """Message in the outbox."""

    message_id: str
    sent_at: str
    message: PushMessage


@dataclass(frozen=True, slots=True)
class OutboxContent:
    """All messages in the order they were sent, and the numbers (from 1) of lines that are not messages."""

    messages: tuple[Kept, ...]
    torn_lines: tuple[int, ...]


_KEPT = TypeAdapter(Kept)


def read_outbox(path: Path) -> OutboxContent:
    """Return the content of an outbox."""
    messages, torn = [], []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line:
            continue
        try:
            messages.append(_KEPT.validate_json(line))
        except ValidationError:
            torn.append(number)
    return OutboxContent(tuple(messages), tuple(torn))
