"""Compare two designs: what is online, what needs a backfill, what needs a new table, what it costs."""
