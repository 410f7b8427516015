"""Conditions on fields, their evaluation, and builders for the objects that pattern bodies return."""
