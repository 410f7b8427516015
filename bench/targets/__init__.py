"""Targets: keyplan's engine through each of its interfaces, bare SQLite, moto, the peers, and any endpoint."""
