"""Backups, point-in-time recovery, and restores."""
