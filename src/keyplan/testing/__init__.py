"""Test support for programs that use DynamoDB: pytest fixtures, and an engine that answers boto3's calls without
sockets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyplan.testing.boto import answered_by, attach, detach

__all__ = ["answered_by", "attach", "detach"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    pytest loads this package in every run, so botocore must not be imported before it is needed.
    """
    if name in __all__:
        from keyplan.testing import boto  # noqa: PLC0415 - see above

        return getattr(boto, name)
    raise AttributeError(f"module 'keyplan.testing' has no attribute {name!r}")
