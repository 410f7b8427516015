"""The rules of Ask-a-Human as functions over plain values: no store, no sockets, time and chance passed in."""
