"""Argument checks for declarations.

A failed check raises DesignError at the line of the declaration. Type checkers find the same mistakes, but not every
project uses one. Without these checks, a wrong option would cause an error deep inside this package, with a message
that does not name the option.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from keyplan.design.errors import DesignError, calling_place, refuse

MAX_NUMBER = 10**18
"""The maximum value of a number in a declared load, such as a rate or an item count. Calculations with larger numbers
could overflow to infinity.
"""


def invalid_option(option: str, value: object, problem: str, fix: str) -> DesignError:
    """Return a DesignError for an option with an invalid value. `problem` completes the sentence "option=value is ...",
    and `fix` describes a valid value.
    """
    return DesignError(f"{option}={shorten(value)} is {problem}", place=calling_place(), fix=fix)


def shorten(value: object) -> str:
    """Return the repr of a value, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= _MAX_REPR_CHARS else f"{text[:_MAX_REPR_CHARS]}..."


_MAX_REPR_CHARS = 60


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def checked_call(function_or_class: Decorated) -> Decorated:
    """Decorate a function or class. A call with wrong arguments then raises DesignError at the caller's line."""
    if not isinstance(function_or_class, type):
        return _with_checked_arguments(function_or_class, function_or_class.__qualname__.removesuffix(".__init__"))  # type: ignore[no-any-return]
    function_or_class.__init__ = _with_checked_arguments(function_or_class.__init__, function_or_class.__name__)  # type: ignore[misc]
    return function_or_class


def _with_checked_arguments(function: Any, name: str) -> Any:
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if not _binds(signature, args, options):
            raise _call_error(name, signature, args, options)
        return function(*args, **options)

    return call


def _binds(signature: inspect.Signature, args: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    try:
        signature.bind(*args, **options)
    except TypeError:
        return False
    return not _misnames_positional(signature, options)


def _misnames_positional(signature: inspect.Signature, options: Mapping[str, Any]) -> bool:
    """Return True if a call passes a keyword argument with the name of a positional-only parameter.

    Since Python 3.12, `Signature.bind` accepts such arguments. `options` are the keyword arguments.
    """
    return any(
        parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in options
        for parameter in signature.parameters.values()
    )


def _call_error(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], options: Mapping[str, Any]
) -> DesignError:
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in {"self", "cls"}]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        names = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_POSITIONAL]
        for option in options:
            if option not in names:
                return unknown_option(option, names)
    fix = f"write {name}({', '.join(map(_argument_form, parameters))})"
    try:
        bound = None if _misnames_positional(signature, options) else signature.bind_partial(*args, **options).arguments
    except TypeError:
        bound = None
    if bound is None:
        return DesignError(f"{name} is called with the wrong arguments", place=calling_place(), fix=fix)
    required_names = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and _argument_form(parameter) != "..."
    ]
    missing = [name for name in required_names if name not in bound]
    return DesignError(f"{name} is missing {', '.join(missing)}", place=calling_place(), fix=fix)


def _argument_form(parameter: inspect.Parameter) -> str:
    """Return the text that an error message uses for a parameter: `name`, `name=...` for a parameter that is passed by
    keyword or has a default, or `...` for a variadic parameter.
    """
    if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
        return "..."
    return (
        parameter.name
        if parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY
        else f"{parameter.name}=..."
    )


def unknown_option(option: str, options: Iterable[str]) -> DesignError:
    """Return a DesignError for an unknown option. Its message lists the known options."""
    names = ", ".join(sorted(options))
    return DesignError(f"unknown option: {option}", place=calling_place(), fix=f"use one of {names}")


def check_text(option: str, value: object, *, may_be_none: bool = False) -> None:
    """Raise DesignError unless the value of an option is a string that can be encoded as UTF-8 or, with `may_be_none`,
    None.
    """
    if value is None and may_be_none:
        return
    if not isinstance(value, str):
        raise invalid_option(option, value, "not a string", f'write {option}="...", in quotes')
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise invalid_option(
            option, value, "not valid text: it contains a lone surrogate", "remove it: UTF-8 cannot encode it"
        )


def check_flags(**flags: object) -> None:
    """Raise DesignError unless each option is a bool. Options are passed as keyword arguments."""
    for option, value in flags.items():
        if not isinstance(value, bool):
            raise invalid_option(option, value, "neither True nor False", f"write {option}=True, or leave it out")


def check_numbers(**numbers: object) -> None:
    """Raise DesignError unless each option is a non-negative number or None, which means that the option is not set.
    Options are passed as keyword arguments.
    """
    for option, value in numbers.items():
        if value is not None and not is_number(value):
            raise invalid_option(option, value, "not a valid number", "give a number of at least 0")


def is_number(value: object, minimum: float = 0, maximum: float = MAX_NUMBER) -> bool:
    """Return True if a value is a finite number from `minimum` to `maximum`, and not a bool."""
    is_numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_numeric and minimum <= value <= maximum and math.isfinite(value)  # type: ignore[operator,arg-type]


def check_count(option: str, count: int, max_count: int) -> None:
    """Raise DesignError unless an option has between 1 and `max_count` values.

    `count` is the number of values, and `option` is the name of the option in the error message.
    """
    if not 1 <= count <= max_count:
        refuse(f"{option} has {count} values", f"pass 1 to {max_count} values")


def as_tuple(option: str, values: object, kinds: type | tuple[type, ...], fix: str) -> tuple[Any, ...]:
    """Return the values of an option as a tuple. A single value becomes a tuple with one element.

    Raises DesignError if a value is not an instance of `kinds`. `fix` describes a valid value in the error message.
    """
    if isinstance(values, kinds):
        return (values,)
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Mapping)):
        raise invalid_option(option, values, "not an accepted value", fix)
    members = tuple(values)
    for value in members:
        if not isinstance(value, kinds):
            raise invalid_option(option, value, "not an accepted value", fix)
    return members
