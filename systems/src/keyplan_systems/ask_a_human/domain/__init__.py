"""Rules of Ask-a-Human as functions over plain values: no database or sockets, time and chance as arguments."""
