"""Tables and indexes: their documents, states, settings and changes."""
