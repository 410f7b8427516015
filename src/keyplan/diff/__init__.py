"""Compares two designs: which changes DynamoDB makes online, which changes need a backfill or a new table, and their
costs.
"""
