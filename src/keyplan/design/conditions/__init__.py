"""Conditions on fields, their evaluation, and the builders that pattern bodies return."""
