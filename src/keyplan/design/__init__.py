"""The design language: declarations of tables, entities, keys, access patterns, consumers and their load."""
