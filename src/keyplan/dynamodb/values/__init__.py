"""Attribute values: numbers, sizes, capacity units, key bytes, encodings. Pure."""
