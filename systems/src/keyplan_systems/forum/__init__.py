"""The forum: discussion threads between a participant and helpers, with one thread per task and participant."""
