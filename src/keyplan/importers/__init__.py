"""Importers that generate designs from templates, table descriptions, data models and schemas.

Every source is converted to `schemas.SourceTable`, and `writing` writes these tables as a Python file in the design
language. A setting that a design cannot express is a gap, which is reported and noted in the file.
"""
