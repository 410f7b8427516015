"""Throughput (5xx)."""
