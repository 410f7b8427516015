"""Compares two designs, and reports which changes DynamoDB makes online, which changes need a backfill or a new table,
and what the changes cost.
"""
