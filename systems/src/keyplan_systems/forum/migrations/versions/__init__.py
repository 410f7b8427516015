"""The schema migrations. Their names are in the order in which they are applied."""
