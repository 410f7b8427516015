"""The rules of Ask-a-Human as pure functions. The current time and random number generators are passed as arguments."""
