"""Importers that generate designs from infrastructure templates, table descriptions, data models and schemas.

Each importer converts its source to `schemas.SourceTable` objects. The module `writing` then generates a Python file in
the design language from them. A setting that a design cannot express is called a gap. Gaps are reported to the user and
listed in the generated file.
"""
