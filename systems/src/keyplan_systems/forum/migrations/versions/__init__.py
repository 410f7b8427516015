"""Revisions, ordered by name, oldest first."""
