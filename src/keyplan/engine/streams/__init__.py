"""Streams of tables: shards, records, iterators, retention."""
