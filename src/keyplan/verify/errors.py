"""What keeps a pattern from being tried."""

from __future__ import annotations

from keyplan.errors import KeyplanError


class SampleError(KeyplanError):
    """A value, or an item, that could not be made up."""


class MissingGeneratorError(KeyplanError):
    """What makes up values is not installed."""


class NothingFitsError(KeyplanError):
    """No arguments were found for a pattern among the generated items."""
