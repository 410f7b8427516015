"""What declarations are given, looked at before it is used: what is of another kind is refused at its own line.

A type checker sees these mistakes too. Not everyone runs one, and without this they came out as errors from
the inside of this package, with no word of which option they were about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import date
from enum import Enum
from typing import Any
from uuid import UUID

from keyplan.design.places import DesignError, caller
from keyplan.design.symbols import Param

MOST = 10**18
"""No figure of a load is above this; with greater ones arithmetic would end in infinities."""


def refused(option: str, value: object, what: str, fix: str) -> DesignError:
    """What says that an option's value is not what the option takes."""
    return DesignError(f"{option}={shown(value)} is {what}", place=caller(), fix=fix)


def shown(value: object) -> str:
    """A value as it is written, cut where it is long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_SHOWN = 60


def check_text(option: str, value: object, *, may_be_none: bool = False) -> None:
    """Refuse what is no text, and text that cannot be sent."""
    if value is None and may_be_none:
        return
    if not isinstance(value, str):
        raise refused(option, value, "no text", f'write {option}="...", in quotes')
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise refused(option, value, "no text: it holds a lone surrogate", "leave it out: UTF-8 has no bytes for it")


def check_flags(**flags: object) -> None:
    """Refuse what is neither True nor False."""
    for option, value in flags.items():
        if not isinstance(value, bool):
            raise refused(option, value, "neither True nor False", f"write {option}=True, or leave it out")


def check_figures(**figures: object) -> None:
    """Refuse what is no number, or less than 0; None is what is not said."""
    for option, value in figures.items():
        if value is not None and not is_figure(value):
            raise refused(option, value, "no number that can be meant", "give a number of at least 0")


def is_figure(value: object, least: float = 0, most: float = MOST) -> bool:
    """Whether a value is a number within bounds; neither True nor nan is one."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and least <= value <= most and math.isfinite(value)  # type: ignore[operator,arg-type]


def check_number(word: str, values: int, most: int) -> None:
    """Refuse no value at all, and more than the service takes."""
    if not 1 <= values <= most:
        raise DesignError(f"{word} is given {values} values", place=caller(), fix=f"give from 1 to {most} of them")


def check_part(path: object, part: object) -> None:
    """Refuse what leads to nothing in a map or list."""
    if isinstance(part, (str, Param, Enum, UUID, date)) or (type(part) is int and part >= 0):
        return
    raise DesignError(
        f"{path!r}[{part!r}] leads to nothing",
        place=caller(),
        fix='name a key of the map, F.scores["technical"], or a place of the list from 0, F.scores[0]',
    )


def all_of(option: str, given: object, kinds: type | tuple[type, ...], fix: str) -> tuple[Any, ...]:
    """One value of some kind, or several, as a tuple. Raises DesignError where one is of another kind."""
    if isinstance(given, kinds):
        return (given,)
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes, Mapping)):
        raise refused(option, given, "not what it takes", fix)
    several = tuple(given)
    for one in several:
        if not isinstance(one, kinds):
            raise refused(option, one, "not what it takes", fix)
    return several
