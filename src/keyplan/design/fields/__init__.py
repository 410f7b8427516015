"""Fields of entities, their storage formats, and conversion between field values and attribute values."""
