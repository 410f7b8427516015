"""Attribute values: types, numbers, sizes, capacity units, key encoding and storage encoding."""
