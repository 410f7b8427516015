"""Compare two designs: changes that are online, need a backfill or need a new table, and their costs."""
