"""PartiQL statements, from what a request says to what they read and write."""
