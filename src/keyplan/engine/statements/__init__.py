"""PartiQL statements: preparation, read plans, reads and writes."""
