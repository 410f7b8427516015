"""Rules of the trainer as plain Python over values: no storage, no clock, no network."""
