"""Generators of documentation pages. `python -m docs.making` writes the generated pages."""
