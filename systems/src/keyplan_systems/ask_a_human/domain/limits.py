"""Hourly and per-minute rate limits with their counters and response headers, and the quota for open questions.

A window is a clock hour or clock minute in UTC. Each limit has one counter per caller and window. The counter is
incremented only if it is below the limit, so the limit is never exceeded within a window. A burst across the boundary
between two windows can reach twice the limit. A stricter limit would require a log of requests instead of a single
counter.
"""

from __future__ import annotations

from dataclasses import dataclass

from keyplan_systems.ask_a_human.domain.refusals import AgentQuotaError, RateLimitedError
from keyplan_systems.ask_a_human.domain.timestamps import SECOND_MS

HOUR_S = 3_600
MINUTE_S = 60
OPEN_QUESTIONS_MAX = 100


@dataclass(frozen=True, slots=True)
class Limit:
    """The maximum number of requests of one kind that a caller may send in a window."""

    name: str
    scope: str
    allowed: int
    window_s: int


QUESTIONS = Limit("questions", "agent", 60, HOUR_S)
POLLS = Limit("polls", "agent", 600, HOUR_S)
RESPONSES = Limit("responses", "fingerprint", 30, HOUR_S)
HUMAN_READS = Limit("human_reads", "ip", 300, HOUR_S)
SUBSCRIPTIONS = Limit("subscriptions", "ip", 10, HOUR_S)
RESPONSE_PACE = Limit("response_pace", "fingerprint", 5, MINUTE_S)  # more than 5 answers per minute are too many


@dataclass(frozen=True, slots=True)
class Window:
    """A time window of a rate limit for one caller, and the key of the counter for the caller's requests in this
    window.
    """

    limit: Limit
    key: str
    reset_s: int

    @property
    def ttl_s(self) -> int:
        """The time after which the window's counter can be deleted, in epoch seconds. It is one window length after the
        window's end.
        """
        return self.reset_s + self.limit.window_s


@dataclass(frozen=True, slots=True)
class Allowance:
    """A rate limit, the number of requests that the caller may still send, and the time at which the count is reset."""

    limit: int
    remaining: int
    reset_s: int

    def headers(self) -> dict[str, str]:
        """Return the rate limit headers of a response. The time at which the count is reset is in epoch seconds."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.reset_s),
        }


def window(limit: Limit, caller: str, now_ms: int) -> Window:
    """Return the window of a limit in which a caller's request at `now_ms` is counted."""
    start_s = now_ms // SECOND_MS // limit.window_s * limit.window_s
    return Window(limit, f"{limit.name}#{limit.scope}#{caller}#{start_s}", start_s + limit.window_s)


def allowance(window: Window, count: int) -> Allowance:
    """Return the caller's allowance after a request. `count` is the number of requests in `window`,
    including this request.
    """
    return Allowance(window.limit.allowed, max(0, window.limit.allowed - count), window.reset_s)


def refusal(window: Window, now_ms: int) -> RateLimitedError:
    """Return the error for a request that exceeds the rate limit of `window`. It contains the number of seconds until
    the next window.
    """
    retry_after_s = max(1, -(-(window.reset_s * SECOND_MS - now_ms) // SECOND_MS))
    details = {
        "limit": window.limit.allowed,
        "window_s": window.limit.window_s,
        "scope": window.limit.scope,
        "reset": window.reset_s,
    }
    unit = "a minute" if window.limit.window_s == MINUTE_S else "an hour"
    message = f"at most {window.limit.allowed} requests {unit} per {window.limit.scope}; try again in {retry_after_s} s"
    return RateLimitedError(message, details, retry_after_s)


def quota_refusal() -> AgentQuotaError:
    """Return the error for an agent that has the maximum number of open questions."""
    limit = OPEN_QUESTIONS_MAX
    return AgentQuotaError(f"an agent may have at most {limit} open questions", {"open": limit, "max": limit})
