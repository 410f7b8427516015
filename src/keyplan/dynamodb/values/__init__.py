"""Attribute values: types, numbers, sizes, capacity units, key bytes, stored bytes."""
