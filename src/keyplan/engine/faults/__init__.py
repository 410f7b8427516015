"""Injected faults: index lag, stale reads, throttling, conflicts, errors."""
