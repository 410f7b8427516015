"""The rules, one a file, in families by code."""
