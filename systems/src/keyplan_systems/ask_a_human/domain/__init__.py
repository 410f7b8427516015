"""The rules of Ask-a-Human as pure functions, with time and randomness as arguments."""
