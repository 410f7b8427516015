"""The part of the forum that is stored in SQL: groups, permissions, and the status of every thread."""
