"""Outbox: messages can be read again, with one writer or many, and a torn line damages no other line."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.systems.ask_a_human.outbox_content import read_outbox
from tests.systems.ask_a_human.test_notifier import MESSAGE

from keyplan.clock import ManualClock
from keyplan_systems.ask_a_human.domain.notifications import Delivered
from keyplan_systems.ask_a_human.notifier import PushMessage
from keyplan_systems.ask_a_human.outbox import OutboxNotifier


def put(path: Path, *messages: PushMessage, seed: int = 0) -> list[str]:
    """Send messages into an outbox; return their IDs."""

    async def run() -> list[str]:
        outbox = OutboxNotifier(path, ManualClock(seed=seed))
        results = [await outbox.send(message) for message in messages]
        await outbox.close()
        return [result.message_id for result in results if isinstance(result, Delivered)]

    return asyncio.run(run())


def test_sent_messages_are_read_back_in_order_with_their_time(tmp_path: Path) -> None:
    path = tmp_path / "run" / "outbox.jsonl"
    other = replace(MESSAGE, token="other", body="Line\nbreak, \u2028 and \U0001f600")
    ids = put(path, MESSAGE, other)
    content = read_outbox(path)
    assert [message.message for message in content.messages] == [MESSAGE, other]
    assert [message.message_id for message in content.messages] == ids
    assert content.messages[0].sent_at == "2023-11-14T22:13:20.000Z"
    assert content.torn_lines == ()


def test_a_restart_appends(tmp_path: Path) -> None:
    path = tmp_path / "outbox.jsonl"
    put(path, MESSAGE)
    put(path, replace(MESSAGE, token="later"), seed=1)
    assert [message.message.token for message in read_outbox(path).messages] == ["device", "later"]


def test_a_truncated_line_affects_no_other_message(tmp_path: Path) -> None:
    path = tmp_path / "outbox.jsonl"
    put(path, MESSAGE, MESSAGE)
    path.write_bytes(path.read_bytes()[:-20])
    put(path, replace(MESSAGE, token="later"))
    content = read_outbox(path)
    assert [message.message.token for message in content.messages] == ["device", "later"]
    assert content.torn_lines == (2,)


def test_an_additional_line_end_is_not_a_truncated_line(tmp_path: Path) -> None:
    path = tmp_path / "outbox.jsonl"
    put(path, MESSAGE)
    path.write_bytes(path.read_bytes() + b"\n\n")  # of two that opened it in the middle of the line
    put(path, replace(MESSAGE, token="later"))
    content = read_outbox(path)
    assert [message.message.token for message in content.messages] == ["device", "later"]
    assert content.torn_lines == ()


def test_concurrent_writers_lose_and_mix_nothing(tmp_path: Path) -> None:
    path = tmp_path / "outbox.jsonl"

    def write(number: int) -> None:
        put(path, *[replace(MESSAGE, token=f"{number}-{index}", body="x" * 3000) for index in range(50)], seed=number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    content = read_outbox(path)
    assert content.torn_lines == ()
    assert {message.message.token for message in content.messages} == {
        f"{n}-{index}" for n in range(4) for index in range(50)
    }
    assert len({message.message_id for message in content.messages}) == 200


def test_a_partial_write_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "outbox.jsonl"
    write = os.write

    def half(file: int, data: bytes) -> int:
        return write(file, data[: max(1, len(data) // 2)])

    async def run() -> None:
        outbox = OutboxNotifier(path, ManualClock())
        monkeypatch.setattr(os, "write", half)
        try:
            with pytest.raises(OSError, match="bytes were written to"):
                await outbox.send(MESSAGE)
        finally:
            monkeypatch.undo()
            await outbox.close()

    asyncio.run(run())
    assert read_outbox(path).torn_lines == (1,)
