"""Rows on disk: sorted trees of keys and bodies, append-only logs, and named documents."""
