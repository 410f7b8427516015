"""The forum: discussion threads between a participant and helpers, one thread per task and participant."""
