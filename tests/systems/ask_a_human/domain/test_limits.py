"""Limits: counters by clock hour and minute, headers, pauses, and the quota of open questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.systems.ask_a_human.builders import NOON

from keyplan_systems.ask_a_human.domain import limits
from keyplan_systems.ask_a_human.domain.limits import Limit

ALL = [
    limits.QUESTIONS,
    limits.POLLS,
    limits.RESPONSES,
    limits.HUMAN_READS,
    limits.SUBSCRIPTIONS,
    limits.RESPONSE_PACE,
]


def test_the_limits_match_the_documents() -> None:
    assert [(limit.scope, limit.allowed, limit.window_s) for limit in ALL] == [
        ("agent", 60, 3600),
        ("agent", 600, 3600),
        ("fingerprint", 30, 3600),
        ("ip", 300, 3600),
        ("ip", 10, 3600),
        ("fingerprint", 5, 60),
    ]


@pytest.mark.parametrize("limit", ALL, ids=lambda limit: limit.name)
def test_a_rejected_request_waits_for_the_next_window(limit: Limit) -> None:
    window = limits.window(limit, "caller", NOON)
    assert limits.allowance(window, limit.allowed).remaining == 0
    refused = limits.refusal(window, NOON)
    assert (refused.status, refused.retry_after_s) == (429, limit.window_s)
    assert limits.window(limit, "caller", window.reset_s * 1000).key != window.key


@given(st.integers(0, 4_000_000_000_000), st.sampled_from(ALL))
def test_a_window_contains_the_current_time_and_ends_at_its_reset(now_ms: int, limit: Limit) -> None:
    window = limits.window(limit, "caller", now_ms)
    assert 0 < window.reset_s * 1000 - now_ms <= limit.window_s * 1000
    assert window.key == limits.window(limit, "caller", window.reset_s * 1000 - 1).key
    assert window.ttl_s > window.reset_s
    refusal = limits.refusal(window, now_ms)
    assert now_ms + refusal.retry_after_s * 1000 >= window.reset_s * 1000
    assert refusal.details == {
        "limit": limit.allowed,
        "window_s": limit.window_s,
        "scope": limit.scope,
        "reset": window.reset_s,
    }


def test_counters_of_callers_and_limits_are_separate() -> None:
    keys = {limits.window(limit, caller, NOON).key for limit in ALL for caller in ("one", "other")}
    assert len(keys) == 2 * len(ALL)


def test_headers_contain_limit_remaining_and_reset() -> None:
    window = limits.window(limits.RESPONSES, "caller", NOON + 1)
    assert limits.allowance(window, 4).headers() == {
        "X-RateLimit-Limit": "30",
        "X-RateLimit-Remaining": "26",
        "X-RateLimit-Reset": str(NOON // 1000 + 3600),
    }


def test_an_agent_may_have_100_open_questions() -> None:
    refused = limits.quota_refusal()
    assert (refused.status, refused.code) == (403, "AGENT_QUOTA_EXCEEDED")
    assert refused.details == {"open": 100, "max": 100}
