"""Fields of entities: how each is stored, and its values as attribute values."""
