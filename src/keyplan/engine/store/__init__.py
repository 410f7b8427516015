"""Rows on disk: sorted trees of key bytes and bodies, append-only logs, named documents."""
