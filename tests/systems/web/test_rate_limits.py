"""Rate limits: buckets and slots of one process, counts that replicas share, the answer 429 with Retry-After."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.systems.served_engine import ServedEngine, connected

import keyplan
from keyplan import Design
from keyplan.check.checking import check
from keyplan.clock import ManualClock, SystemClock
from keyplan.engine.engine import Engine
from keyplan.engine.faults.settings import Faults
from keyplan_systems.web.application import web_application
from keyplan_systems.web.authentication import Caller
from keyplan_systems.web.development import development_key, issue_development_token
from keyplan_systems.web.rate_limits import (
    REQUESTS,
    REQUESTS_VARIABLE,
    Buckets,
    Limit,
    SharedLimit,
    Slots,
    TooManyRequestsError,
    limit_from,
)
from keyplan_systems.web.tokens import TokenRules, TokenVerifier, development_keys

FIVE = Limit("requests", 5, 10)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def passed(take: Callable[[str], None], caller: str, times: int) -> int:
    """Return how many of the requests pass."""
    count = 0
    for _ in range(times):
        try:
            take(caller)
        except TooManyRequestsError:
            continue
        count += 1
    return count


def test_a_bucket_passes_its_limit_immediately_and_then_one_request_per_interval(clock: ManualClock) -> None:
    buckets = Buckets(FIVE, clock)
    assert passed(buckets.take, "ada", 20) == 5
    clock.advance(2)
    assert passed(buckets.take, "ada", 20) == 1
    clock.advance(1_000)
    assert passed(buckets.take, "ada", 20) == 5


def test_a_rejection_names_the_seconds_until_the_next_request_passes(clock: ManualClock) -> None:
    buckets = Buckets(FIVE, clock)
    passed(buckets.take, "ada", 5)
    with pytest.raises(TooManyRequestsError, match="At most 5 requests in 10 seconds") as refused:
        buckets.take("ada")
    assert refused.value.retry_after_s == 2
    clock.advance(refused.value.retry_after_s)
    buckets.take("ada")


def test_callers_have_separate_buckets_and_full_ones_are_removed(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keyplan_systems.web.rate_limits._SWEPT_CALLERS", 3)
    buckets = Buckets(FIVE, clock)
    assert [passed(buckets.take, name, 9) for name in "abc"] == [5, 5, 5]
    clock.advance(60)
    buckets.take("d")
    assert list(buckets._full_at_s) == ["d"]


def test_threads_cannot_exceed_a_bucket(clock: ManualClock) -> None:
    buckets = Buckets(FIVE, clock)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: passed(buckets.take, "ada", 10), range(8))) == 5


def test_slots_are_returned_and_limit_each_caller_separately() -> None:
    slots = Slots("sockets", 2, 30)
    with slots.hold("ada"), slots.hold("bea"), slots.hold("ada"):
        with pytest.raises(TooManyRequestsError, match="At most 2 sockets") as refused, slots.hold("ada"):
            pass
        assert refused.value.retry_after_s == 30
    with slots.hold("ada"), slots.hold("ada"):
        pass


def test_a_shared_limit_counts_per_caller_and_window(engine: Engine | ServedEngine, clock: ManualClock) -> None:
    limit = SharedLimit(connected(engine, clock), clock, Limit("graded attempts", 3, 3_600))
    assert [passed(limit.take, name, 5) for name in ("ada", "bea")] == [3, 3]
    with pytest.raises(TooManyRequestsError) as refused:
        limit.take("ada")
    assert refused.value.retry_after_s == 3_600 - clock.now() % 3_600
    clock.advance(refused.value.retry_after_s)
    assert passed(limit.take, "ada", 5) == 3


def test_a_shared_limit_holds_for_concurrent_replicas(engine: Engine | ServedEngine, clock: ManualClock) -> None:
    replicas = [SharedLimit(connected(engine, clock), clock, Limit("graded attempts", 20, 60)) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda number: passed(replicas[number % 4].take, "ada", 10), range(8))) == 20


@pytest.mark.embedded("faults on purpose")
def test_a_shared_limit_counts_again_when_an_outcome_is_unknown(clock: ManualClock) -> None:
    faults = Faults(seed=1, internal_errors=0.5)
    with Engine.memory(clock=clock, faults=faults) as engine, connected(engine, clock, attempts=30) as connection:
        limit = SharedLimit(connection, clock, Limit("graded attempts", 30, 3_600))
        assert 15 <= passed(limit.take, "ada", 40) <= 30  # stricter by at most one per request


def test_a_shared_limit_holds_across_processes(tmp_path: Path) -> None:
    file = str(tmp_path / "limits.db")
    with keyplan.connect(file) as connection:
        SharedLimit(connection, SystemClock(), _LONG)
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert sum(pool.map(_of_one_process, [file] * 3)) == _LONG.allowed


_LONG = Limit("graded attempts", 30, 10.0**9)
"""Window that outlasts every test."""


def _of_one_process(file: str) -> int:
    with keyplan.connect(file) as connection:
        return passed(SharedLimit(connection, SystemClock(), _LONG).take, "ada", 20)


def test_the_table_of_counts_has_a_design_without_errors() -> None:
    assert not check(Design.load("keyplan_systems.web.rate_limits")).failed


@pytest.mark.parametrize(
    ("text", "limit"), [("", FIVE), ("60/3600", Limit("requests", 60, 3600)), ("off", None)], ids=repr
)
def test_a_limit_is_read_from_the_environment(text: str, limit: Limit | None) -> None:
    assert limit_from("KEYPLAN_X", FIVE, {"KEYPLAN_X": text}) == limit
    assert limit_from("KEYPLAN_X", FIVE, {}) == FIVE


@pytest.mark.parametrize("text", ["60", "0/60", "60/0", "-1/60", "60/6.5", "60/60/60", "none", "²/3"])
def test_a_malformed_limit_is_an_error_that_names_variable_and_form(text: str) -> None:
    with pytest.raises(ValueError, match="KEYPLAN_X: expected REQUESTS/SECONDS"):
        limit_from("KEYPLAN_X", FIVE, {"KEYPLAN_X": text})


def test_without_a_limit_everything_passes(clock: ManualClock) -> None:
    assert passed(Buckets(None, clock).take, "ada", 2_000) == 2_000


def test_a_user_who_sends_too_many_requests_gets_429_with_retry_after(
    clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REQUESTS_VARIABLE, "3/60")
    key = development_key(tmp_path)
    app = web_application("shop", verifier=TokenVerifier(TokenRules("shop"), development_keys(key), clock), clock=clock)

    @app.get("/me")
    async def me(caller: Caller) -> str:
        return caller.subject

    def headers(subject: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {issue_development_token(key, subject, audience='shop', clock=clock)}"}

    async def story() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
            responses = [await client.get("/me", headers=headers("ada")) for _ in range(5)]
            assert [response.status_code for response in responses] == [200, 200, 200, 429, 429]
            assert responses[-1].headers["Retry-After"] == "20"
            assert responses[-1].json()["error"]["code"] == "too_many_requests"
            assert (await client.get("/me", headers=headers("bea"))).status_code == 200
            assert (await client.get("/health")).status_code == 200

    asyncio.run(story())


def test_the_default_is_far_above_what_a_person_sends() -> None:
    assert (REQUESTS.allowed, REQUESTS.window_s) == (1_200, 60)
