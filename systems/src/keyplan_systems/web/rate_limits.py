"""Rate limits per caller. Requests are counted with token buckets in one process, or with counters in DynamoDB that all
processes share.

| class         | limits                     | scope         | use it for                                  |
|---------------|----------------------------|---------------|---------------------------------------------|
| `Buckets`     | requests (token buckets)   | one process   | requests and messages that cost little      |
| `Slots`       | open resources             | one process   | WebSocket connections                       |
| `SharedLimit` | requests (table items)     | all processes | expensive operations such as graded answers |

Each class raises TooManyRequestsError, for which every application responds with 429 and Retry-After. `limit_from`
reads a limit from an environment variable in the format REQUESTS/SECONDS, such as "60/3600", or "off".
"""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Final

from keyplan import Attribute, Bytes, Entity, F, ItemWrite, Rate, Table, Volume, attr, item, key
from keyplan.client.connection import Connection
from keyplan.client.errors import ConditionFailedError, OutcomeUnknownError, TransactionFailedError
from keyplan.clock import Clock

REQUESTS_VARIABLE: Final = "KEYPLAN_REQUEST_LIMIT"
"""Environment variable with the limit on requests per user. Requests are counted separately for each system in each
process.
"""
TABLE: Final = "keyplan-rate-limits"
_SWEPT_CALLERS: Final = 10_000
"""Number of callers above which full buckets are removed from memory."""

rate_limits = Table(TABLE, pk="window", ttl="expires_at")


@rate_limits.entity(key=key(attr("window")), volume=Volume(count=10_000, bytes=Bytes(130)), store_key_fields=False)
class RequestCount(Entity):
    """The number of requests of one caller in a time window."""

    window: str
    requests: int = 0
    expires_at: Annotated[datetime, Attribute(stored="epoch_s")]


@rate_limits.update(RequestCount, upsert=True, rate=Rate.monthly(100_000))
def count_request(window: str, allowed: int, expires_at: datetime) -> ItemWrite:
    """Count a request in a time window, if fewer than `allowed` requests were counted in it."""
    below_limit = F.requests.missing() | (F.requests < allowed)
    return item(window=window).add(requests=1).set(expires_at=expires_at).condition(below_limit)


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of `allowed` requests per `window_s` seconds for each caller. `per` is the noun for a caller, such as
    "user".

    Error messages contain `name` and `per`. `name` is also part of the keys of stored counters.
    """

    name: str
    allowed: int
    window_s: float
    per: str = "user"


REQUESTS: Final = Limit("requests", 1_200, 60)
"""Default limit on requests per user: bursts of up to 1,200 requests, and 20 requests per second on average."""


class TooManyRequestsError(Exception):
    """Raised if a caller exceeds a limit. `retry_after_s` is the time in seconds until the next request can succeed."""

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = max(1, math.ceil(retry_after_s))


def limit_from(variable: str, default: Limit, environment: Mapping[str, str] | None = None) -> Limit | None:
    """Return the limit that an environment variable specifies, or the default if the variable is unset or empty.

    Returns None if the value is "off". Raises ValueError if the value does not have the format REQUESTS/SECONDS.
    """
    text = (os.environ if environment is None else environment).get(variable)
    if not text:
        return default
    if text == "off":
        return None
    allowed, _, window = text.partition("/")
    if not all(part.isascii() and part.isdecimal() and int(part) > 0 for part in (allowed, window)):
        raise ValueError(f'{variable}: expected REQUESTS/SECONDS such as "60/3600", or "off", got {text!r}')
    return replace(default, allowed=int(allowed), window_s=int(window))


class Buckets:
    """Token buckets in this process, one per caller. Instances are thread-safe.

    A bucket holds up to `allowed` tokens and refills completely in `window_s` seconds. Instead of its number of tokens,
    each bucket stores the time on the monotonic clock at which it will be full again (generic cell rate algorithm).
    """

    def __init__(self, limit: Limit | None, clock: Clock) -> None:
        """Create the buckets. If the limit is None, all requests are accepted."""
        self._limit, self._clock = limit, clock
        self._full_at_s: dict[str, float] = {}
        self._lock = threading.Lock()

    def take(self, caller: str) -> None:
        """Take a token from the bucket of the caller. Raises TooManyRequestsError if the bucket is empty."""
        limit = self._limit
        if limit is None:
            return
        with self._lock:
            now_s = self._clock.monotonic()
            token_s = limit.window_s / limit.allowed
            full_at_s = max(now_s, self._full_at_s.get(caller, now_s)) + token_s
            missing_s = full_at_s - now_s - limit.window_s
            if missing_s > token_s / 10:  # smaller values are rounding errors
                raise _limit_error(limit, missing_s)
            self._full_at_s[caller] = full_at_s
            if len(self._full_at_s) > _SWEPT_CALLERS:
                self._full_at_s = {caller: at_s for caller, at_s in self._full_at_s.items() if at_s > now_s}


class Slots:
    """A limit on the number of open resources per caller in this process. Instances are thread-safe."""

    def __init__(self, name: str, max_open: int, retry_after_s: float) -> None:
        """Create a limit of `max_open` open resources for each caller.

        Error messages contain `name`, a plural noun for the resources. `retry_after_s` is the number of seconds after
        which a rejected caller can retry.
        """
        self._name, self._max_open, self._retry_after_s = name, max_open, retry_after_s
        self._open_counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @contextmanager
    def hold(self, caller: str) -> Iterator[None]:
        """Count one open resource of the caller until the end of the `with` block.

        Raises TooManyRequestsError if the caller already has `max_open` open resources.
        """
        with self._lock:
            if self._open_counts[caller] >= self._max_open:
                message = f"At most {self._max_open} {self._name} per user can be open at a time: close one."
                raise TooManyRequestsError(message, self._retry_after_s)
            self._open_counts[caller] += 1
        try:
            yield
        finally:
            with self._lock:
                self._open_counts[caller] -= 1
                if not self._open_counts[caller]:
                    del self._open_counts[caller]


class SharedLimit:
    """A limit whose counters are stored in DynamoDB and shared by all processes that use the same database. Each
    request is counted with a conditional update.

    Windows are fixed and start at multiples of their length since the epoch. Therefore, a caller that sends requests
    shortly before and after the boundary between two windows can send up to twice the allowed number within `window_s`
    seconds. A stricter limit would require a log of requests instead of a single counter.
    """

    def __init__(self, connection: Connection, clock: Clock, limit: Limit | None, *, create: bool = True) -> None:
        """Create the limit. The table of counters is also created if it does not exist.

        If `limit` is None, all requests are accepted and the table is not created. If `create`
        is False, the table must already exist.
        """
        self._connection, self._clock, self._limit = connection, clock, limit
        if limit is not None and create:
            connection.create_tables(rate_limits)

    def take(self, caller: str) -> None:
        """Count a request of a caller against the limit.

        Raises TooManyRequestsError if the limit is reached, and RunError if the request cannot be counted.
        """
        limit = self._limit
        if limit is None:
            return
        now_s = self._clock.now()
        start_s = now_s // limit.window_s * limit.window_s
        end_s = start_s + limit.window_s
        expires_at = datetime.fromtimestamp(math.ceil(end_s + limit.window_s), UTC)
        call = count_request(f"{limit.name}#{int(start_s)}#{caller}", limit.allowed, expires_at)
        try:
            try:
                self._connection.run(call)
            except OutcomeUnknownError:
                # Perhaps counted, so this makes the limit stricter by at most one. A transaction can be repeated.
                self._connection.transact(call)
        except (ConditionFailedError, TransactionFailedError) as error:
            if isinstance(error, TransactionFailedError) and not isinstance(error.reason, ConditionFailedError):
                raise
            raise _limit_error(limit, end_s - now_s) from error


def _limit_error(limit: Limit, retry_after_s: float) -> TooManyRequestsError:
    message = f"At most {limit.allowed} {limit.name} in {limit.window_s:g} seconds per {limit.per}."
    return TooManyRequestsError(message, retry_after_s)
