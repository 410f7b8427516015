"""The design language, which declares tables, entities, keys, access patterns, consumers and their load."""
