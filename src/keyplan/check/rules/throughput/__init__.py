"""Throughput (rules KP5xx)."""
