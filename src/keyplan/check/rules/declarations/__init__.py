"""Declarations and suppressions (rules KP0xx)."""
