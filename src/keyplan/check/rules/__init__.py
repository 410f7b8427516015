"""The rules, organized in families by code."""
