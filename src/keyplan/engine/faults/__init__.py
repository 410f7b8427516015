"""Fault injection: index lag, stale reads, throttling, conflicts and errors."""
