"""A venue booking system: the calendar of one venue, booking requests, and the approval of requests."""
