"""PartiQL statements: parsing, planning, reading and writing."""
