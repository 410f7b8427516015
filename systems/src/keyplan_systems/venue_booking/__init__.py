"""The venue booking system: one venue, its calendar, and booking requests."""
