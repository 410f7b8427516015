"""The seed scenarios, each in a JSON file in `data`, and their loader."""
