"""Reads and writes of items."""
