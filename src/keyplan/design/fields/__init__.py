"""Fields of entities, their storage formats, and their conversion to attribute values."""
