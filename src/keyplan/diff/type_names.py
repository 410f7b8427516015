"""Types and values as they read in a message, without the modules that they are from."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any, Literal, Union, get_args, get_origin

from keyplan.design.field_types import without_none

_SHOWN = 6
"""How many values of a type are listed."""


def name_of(kind: Any) -> str:
    """A type without the modules that it is from."""
    bare, _ = without_none(kind)
    if isinstance(bare, type) and not get_args(bare):
        return bare.__name__
    if get_origin(bare) in {Union, types.UnionType}:
        return " or ".join(name_of(one) for one in get_args(bare))
    if get_origin(bare) is Literal:
        return listed(get_args(bare))
    origin = getattr(get_origin(bare), "__name__", str(bare))
    return f"{origin}[{', '.join('...' if one is Ellipsis else name_of(one) for one in get_args(bare))}]"


def listed(values: Sequence[Any]) -> str:
    """Some values, and how many there are more."""
    told = ", ".join(repr(one) for one in values[:_SHOWN])
    return told if len(values) <= _SHOWN else f"{told} and {len(values) - _SHOWN} more"
