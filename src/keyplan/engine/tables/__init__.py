"""Tables and indexes: their stored documents, states, settings and changes."""
