"""What a connection keeps of the tokens of transactions, when many threads give it theirs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from keyplan.client import transactions
from keyplan.client.requests import Context
from keyplan.clock import ManualClock


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switching")
def test_concurrent_threads_drop_the_oldest_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_TOKENS_REMEMBERED", 2)
    context = Context(clock=ManualClock(), cursor_key=b"")

    def give(thread: int) -> list[float]:
        return [transactions.first_attempt_time(context, f"{thread}-{number}") for number in range(2_000)]

    with ThreadPoolExecutor(8) as pool:
        times = [time for batch in pool.map(give, range(8)) for time in batch]
    assert len(times) == 16_000
    assert len(context.token_times) == 2


def test_a_repeated_token_keeps_its_first_time() -> None:
    clock = ManualClock()
    context = Context(clock=clock, cursor_key=b"")
    first = transactions.first_attempt_time(context, "a")
    clock.advance(60)
    assert transactions.first_attempt_time(context, "a") == first
    assert transactions.first_attempt_time(context, "b") == first + 60
    assert transactions.first_attempt_time(context, None) == first + 60
