"""The schema migrations. They are applied in the order of their names."""
