"""Venue booking: one venue, its calendar, and the booking requests for it."""
