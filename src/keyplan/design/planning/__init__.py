"""Plans of patterns, made from their declarations."""
