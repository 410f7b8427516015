"""The schema migrations. The order of their names is the order in which they are applied."""
