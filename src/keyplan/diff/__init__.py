"""Comparison of two designs: which changes are online, need a backfill or need a new table, and their costs."""
