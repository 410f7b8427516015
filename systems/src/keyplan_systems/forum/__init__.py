"""The forum: discussion threads between a participant and those who help, one thread per task and participant."""
