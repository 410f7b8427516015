"""Comparison of two designs: the changes that are made online, need a backfill or need a new table, and their costs."""
