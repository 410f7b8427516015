"""Seed scenarios: twenty situations with questions, one JSON file each under `data`, and their loader."""
