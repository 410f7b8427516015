"""Settings of fault injection: which faults occur, and how often."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyplan.clock import check_seconds

_PROBABILITIES = (
    "stale_reads",
    "unprocessed",
    "conflicts",
    "internal_errors",
    "duplicate_stream_records",
    "reorder_stream_records",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """The faults to inject. All faults are disabled by default. Raises ValueError for an invalid setting."""

    seed: int = 0
    """The seed of the random fault decisions. Runs with the same seed and the same calls get the same faults."""
    gsi_lag: float | tuple[float, float] = 0.0
    """The number of seconds until a write is visible in global indexes, or the minimum and maximum of a random delay in
    seconds.
    """
    stale_reads: float = 0.0
    """Probability that an eventually consistent read returns outdated data."""
    stale_s: float = 1.0
    """Maximum age, in seconds, of the data that a stale read returns."""
    throttle: bool = False
    """Whether to throttle requests that exceed the limits of a partition, or the provisioned or on-demand capacity."""
    unprocessed: float = 0.0
    """Probability that a key or write in a batch request is left unprocessed. At least one key or write is always
    processed.
    """
    conflicts: float = 0.0
    """Probability that a write, or a read in a transaction, fails because of a conflict with another transaction."""
    internal_errors: float = 0.0
    """Probability that a request fails with InternalServerError. Half of the writes that fail in this way still change
    the data.
    """
    duplicate_stream_records: float = 0.0
    """Probability that GetRecords delivers a record twice."""
    reorder_stream_records: float = 0.0
    """Probability that GetRecords swaps a record with the next record, if the two records belong to different items."""
    ttl_delay: float = 0.0
    """The number of seconds for which expired items are kept, in addition to the engine's `ttl_delay_s`."""

    def __post_init__(self) -> None:
        for name in _PROBABILITIES:
            if not _is_number(getattr(self, name), maximum=1):
                raise ValueError(f"{name} must be a probability from 0 to 1, not {getattr(self, name)!r}")
        if self.throttle not in (False, True):
            raise ValueError(f"throttle must be True or False, not {self.throttle!r}")
        pair = self.lag_range
        if not (len(pair) == 2 and all(map(_is_number, pair)) and pair[0] <= pair[1]):
            raise ValueError(f"gsi_lag must be a number of seconds or a pair (minimum, maximum), not {self.gsi_lag!r}")
        check_seconds(stale_s=self.stale_s, ttl_delay=self.ttl_delay)

    @property
    def lag_range(self) -> tuple[float, float]:
        """The minimum and maximum index lag in seconds."""
        if isinstance(self.gsi_lag, tuple):
            return self.gsi_lag
        return self.gsi_lag, self.gsi_lag


def _is_number(value: object, maximum: float = math.inf) -> bool:
    """Return True if the value is a finite number between 0 and `maximum`, inclusive."""
    return isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= maximum
