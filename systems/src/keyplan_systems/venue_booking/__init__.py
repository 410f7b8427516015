"""The venue booking system: the calendar of one venue, booking requests, and their approval."""
