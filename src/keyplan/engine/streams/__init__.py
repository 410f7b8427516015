"""Table streams: shards, records, shard iterators and retention."""
