"""The rules of Ask-a-Human as pure functions. Time and randomness are passed as arguments."""
