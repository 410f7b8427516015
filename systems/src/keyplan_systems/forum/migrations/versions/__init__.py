"""The schema revisions, ordered by name, oldest first."""
