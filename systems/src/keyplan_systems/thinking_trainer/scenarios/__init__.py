"""The seed scenarios, with one JSON file each in `data`, and their loader."""
