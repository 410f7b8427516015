"""The page of exceptions, made from the tree of them."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator

from keyplan.errors import KeyplanError, ServiceError

_MODULES = {
    "keyplan.errors": "The engine",
    "keyplan.design.errors": "Designs",
    "keyplan.client.errors": "Connections",
    "keyplan.streams.errors": "Change consumers",
    "keyplan.cost.prices": "Prices",
    "keyplan.diff.programs": "Comparing designs",
    "keyplan.verify.values": "Verifying",
    "keyplan.importers.nodes": "Importing",
}
"""Where exceptions are declared, in the order in which they are shown."""
_HEAD = """# Errors

All errors of keyplan are subclasses of `keyplan.errors.KeyplanError`. Invalid Python arguments (a wrong type,
an invalid URL) raise `ValueError` or `TypeError`.

```text
{tree}
```
"""


def pages() -> dict[str, str]:
    """By path under docs/: the one page. Raises LookupError where an exception has no section."""
    for module in _MODULES:
        importlib.import_module(module)
    homeless = {error.__module__ for error in _all(KeyplanError)} - set(_MODULES) - _unseen()
    if homeless:
        raise LookupError(f"no section of errors.md is for {', '.join(sorted(homeless))}")
    tree = "\n".join(_tree(KeyplanError, "", ""))
    return {"errors.md": "\n".join([_HEAD.format(tree=tree), *(_section(name) for name in _MODULES)])}


def _unseen() -> set[str]:
    """Modules whose exceptions are kinds of ValidationError, which nobody outside the engine names."""
    return {"keyplan.dynamodb.values.attribute", "keyplan.dynamodb.values.types", "keyplan.engine.items.keys"}


def _all(root: type[KeyplanError]) -> Iterator[type[KeyplanError]]:
    """An exception and all below it that the toolkit itself declares, not those that it makes as it runs."""
    yield root
    for one in root.__subclasses__():
        if one.__module__.startswith("keyplan.") and hasattr(sys.modules[one.__module__], one.__name__):
            yield from _all(one)


def _tree(one: type[KeyplanError], before: str, below: str) -> Iterator[str]:
    yield before + one.__name__
    kinds = [] if one is ServiceError else _below(one)
    for number, kind in enumerate(kinds):
        is_last = number == len(kinds) - 1
        yield from _tree(kind, below + ("└── " if is_last else "├── "), below + ("    " if is_last else "│   "))


def _below(one: type[KeyplanError]) -> list[type[KeyplanError]]:
    """In the order of the sections, and in each as declared."""
    kinds = [kind for kind in one.__subclasses__() if kind.__module__ in _MODULES]
    return sorted(kinds, key=lambda kind: list(_MODULES).index(kind.__module__))


def _section(module: str) -> str:
    errors = [error for error in _all(KeyplanError) if error.__module__ == module]
    text = f"## {_MODULES[module]}\n\n`{module}`\n"
    service = [error for error in errors if issubclass(error, ServiceError)]
    own = [error for error in errors if error not in service]
    if own:
        rows = [f"| `{error.__name__}` | {_doc(error)} |" for error in own]
        text += "\n" + "\n".join(["| error | means |", "|---|---|", *rows]) + "\n"
    if service:
        rows = [_service_row(error) for error in service if isinstance(error, type)]
        text += "\n" + "\n".join(["| error | code | status | tried again | means |", "|---|---|---|---|---|", *rows])
        text += "\n"
    return text


def _service_row(error: type[KeyplanError]) -> str:
    assert issubclass(error, ServiceError), "the caller sorted them"
    again = "yes" if error.retryable else "no"
    return f"| `{error.__name__}` | `{error.code}` | {error.status} | {again} | {_doc(error)} |"


def _doc(error: type[KeyplanError]) -> str:
    return " ".join(inspect.cleandoc(error.__doc__ or "").split()).replace("|", "\\|")
