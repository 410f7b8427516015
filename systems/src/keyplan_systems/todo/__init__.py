"""The to-do system: its service and its data lake."""
