"""The page of exceptions, generated from their class hierarchy."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator

from keyplan.errors import KeyplanError, ServiceError

_MODULES = {
    "keyplan.client.errors": "Connections",
    "keyplan.design.errors": "Designs",
    "keyplan.streams.errors": "Change consumers",
    "keyplan.errors": "The engine",
    "keyplan.cost.prices": "Prices",
    "keyplan.diff.programs": "Comparing designs",
    "keyplan.verify.values": "Verifying",
    "keyplan.importers.nodes": "Importing",
}
"""The modules that declare exceptions, in the order of the page."""
_HEAD = """# Errors

Import the errors of [connections](#connections) from `keyplan.client.errors`, and `DesignError` from `keyplan`. The
table in each section lists the errors that are defined by the module named above it.

```python
from keyplan.client.errors import ConditionFailedError, NotFoundError, TransactionFailedError
```

All errors of keyplan are subclasses of `keyplan.errors.KeyplanError`. Invalid Python arguments (a wrong type,
an invalid URL) raise `ValueError` or `TypeError`.

```text
{tree}
```
"""


def pages() -> dict[str, str]:
    """Return the page by its path under docs/. Raises LookupError if an exception has no section."""
    for module in _MODULES:
        importlib.import_module(module)
    missing_modules = (
        {error.__module__ for error in _public_subclasses(KeyplanError)} - set(_MODULES) - _internal_modules()
    )
    if missing_modules:
        raise LookupError(f"errors.md has no section for {', '.join(sorted(missing_modules))}")
    tree = "\n".join(_tree(KeyplanError, "", ""))
    return {"errors.md": "\n".join([_HEAD.format(tree=tree), *(_section(name) for name in _MODULES)])}


def _internal_modules() -> set[str]:
    """Return the modules of internal subclasses of ValidationError."""
    return {"keyplan.dynamodb.values.attribute", "keyplan.dynamodb.values.types", "keyplan.engine.items.keys"}


def _public_subclasses(root: type[KeyplanError]) -> Iterator[type[KeyplanError]]:
    """Yield an exception and its public subclasses that the toolkit declares, without classes created at run time."""
    yield root
    for kind in root.__subclasses__():
        if (
            not kind.__name__.startswith("_")
            and kind.__module__.startswith("keyplan.")
            and hasattr(sys.modules[kind.__module__], kind.__name__)
        ):
            yield from _public_subclasses(kind)


def _tree(root: type[KeyplanError], prefix: str, child_prefix: str) -> Iterator[str]:
    yield prefix + root.__name__
    kinds = [] if root is ServiceError else _direct_subclasses(root)
    for number, kind in enumerate(kinds):
        is_last = number == len(kinds) - 1
        yield from _tree(
            kind, child_prefix + ("└── " if is_last else "├── "), child_prefix + ("    " if is_last else "│   ")
        )


def _direct_subclasses(root: type[KeyplanError]) -> list[type[KeyplanError]]:
    """Return the direct subclasses in the order of the sections and of their declaration."""
    kinds = [kind for kind in root.__subclasses__() if kind.__module__ in _MODULES]
    return sorted(kinds, key=lambda kind: list(_MODULES).index(kind.__module__))


def _section(module: str) -> str:
    errors = [error for error in _public_subclasses(KeyplanError) if error.__module__ == module]
    text = f"## {_MODULES[module]}\n\n`{module}`\n"
    service_errors = [error for error in errors if issubclass(error, ServiceError)]
    general_errors = [error for error in errors if error not in service_errors]
    if general_errors:
        rows = [f"| `{error.__name__}` | {_doc(error)} |" for error in general_errors]
        text += "\n" + "\n".join(["| error | meaning |", "|---|---|", *rows]) + "\n"
    if service_errors:
        rows = [_service_row(error) for error in service_errors if isinstance(error, type)]
        text += "\n" + "\n".join(["| error and code | HTTP status | meaning |", "|---|---|---|", *rows])
        text += "\n"
    return text


def _service_row(error: type[KeyplanError]) -> str:
    assert issubclass(error, ServiceError), "the caller passes service errors"
    status = f"{error.status}, retried" if error.retryable else error.status
    return f"| `{error.__name__}`<br>`{error.code}` | {status} | {_doc(error)} |"


def _doc(error: type[KeyplanError]) -> str:
    return " ".join(inspect.cleandoc(error.__doc__ or "").split()).replace("|", "\\|")
