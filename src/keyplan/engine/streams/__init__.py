"""Streams of tables: shards, records, shard iterators and retention."""
