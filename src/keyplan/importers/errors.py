"""What an import cannot go on from."""

from __future__ import annotations

from keyplan.errors import KeyplanError


class ImportSourceError(KeyplanError):
    """A file is not what it is taken for, or says something of a table that has no meaning."""
