"""The forum's relational side: who is where, who may what, and the status of every thread."""
