"""Keyplan: a toolkit for data layers on Amazon DynamoDB.

`Engine` is the embedded database, `Faults` what it can be made to suffer; `connect` and `connect_async`
put designs to work; `keyplan.errors` holds everything raised on purpose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyplan.client.connect import connect, connect_async
    from keyplan.engine.engine import Engine
    from keyplan.engine.faults.settings import Faults

__all__ = ["Engine", "Faults", "__version__", "connect", "connect_async"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """The engine is imported when it is first asked for: pytest loads this package in every run."""
    if name == "Engine":
        from keyplan.engine.engine import Engine  # noqa: PLC0415 - see above

        return Engine
    if name == "Faults":
        from keyplan.engine.faults.settings import Faults  # noqa: PLC0415 - see above

        return Faults
    if name in {"connect", "connect_async"}:
        from keyplan.client import connect as connecting  # noqa: PLC0415 - designs need pydantic, which takes a while to import

        return getattr(connecting, name)
    raise AttributeError(f"module 'keyplan' has no attribute {name!r}")
