"""One venue, its calendar, and the requests to use it: the venue booking system."""
