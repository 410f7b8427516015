"""The relational part of the forum: groups, permissions, and the status of every thread."""
