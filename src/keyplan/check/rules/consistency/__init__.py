"""Consistency (rules KP6xx)."""
