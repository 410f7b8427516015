"""The seed scenarios: twenty situations with questions, one JSON file each under `data`, and what loads them."""
