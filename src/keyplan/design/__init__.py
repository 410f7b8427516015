"""The design language: tables, entities, keys, patterns, consumers and their load, declared once."""
