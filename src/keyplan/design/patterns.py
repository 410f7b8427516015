"""Patterns: typed functions that say what is read or written, and calls of them.

A pattern's body runs once, when it is declared, on stand-ins for its parameters. Calling the pattern
gives a `Call`: the pattern with its arguments, which a connection runs.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any, Generic, Literal, ParamSpec, TypeVar

from keyplan.design.argument_types import ArgumentCheck, argument_checks
from keyplan.design.bodies import refuse_unseen
from keyplan.design.given import check_figures, check_flags, check_text
from keyplan.design.places import DesignError, Place, caller, names_around, of_function, of_traceback
from keyplan.design.plan import Plan
from keyplan.design.symbols import Param
from keyplan.design.workload import Claim, Rate

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Kind = Literal[
    "get",
    "query",
    "scan",
    "count",
    "batch_get",
    "create",
    "put",
    "replace",
    "update",
    "delete",
    "check",
    "batch_put",
    "batch_delete",
    "transaction",
]


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some results in order, and where to go on."""

    items: tuple[T, ...]
    cursor: str | None = None
    """Hand it to the next call of the same pattern with the same arguments; None at the end."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class Facts:
    """What a pattern says of itself beside its plan."""

    rate: Rate | None = None
    claims: tuple[Claim, ...] = ()
    returns: float | None = None
    """How many items a call is expected to return, or to write."""
    evaluates: float | None = None
    """How many items a call is expected to read, where filters make that more."""
    decides: str = ""
    """What the program decides by the answer: "uniqueness", "quota", "state"."""
    after: tuple[str, ...] = ()
    """Names of patterns whose writes this one is expected to show at once."""
    ordered_by: str | None = None
    """The field that the design says the results are ordered by; "-field" for the highest first."""
    retried: bool = False
    """Whether callers repeat it when no answer came."""

    def __post_init__(self) -> None:
        """Refuse what says nothing of a pattern, at the line that declares it."""
        if not (self.rate is None or isinstance(self.rate, Rate)):
            raise _meaningless("rate", self.rate, f"write rate=Rate({self.rate!r})")
        for claim in self.claims:
            if not isinstance(claim, Claim):
                raise _meaningless("claims", claim, f"write claims=Claim({claim!r})")
        check_figures(returns=self.returns, evaluates=self.evaluates)
        check_text("ordered_by", self.ordered_by, may_be_none=True)
        check_flags(retried=self.retried)
        if self.decides not in _DECIDES:
            raise _meaningless("decides", self.decides, f"write one of {', '.join(map(repr, _DECIDES[1:]))}")


def claims_of(claims: Any) -> tuple[Claim, ...]:
    """One claim or several, as they stand in an option."""
    return tuple(claims) if isinstance(claims, (list, tuple)) else (claims,)


_DECIDES = ("", "uniqueness", "quota", "state")


def _meaningless(option: str, value: object, fix: str) -> DesignError:
    return DesignError(f"{option}={value!r} says nothing of a pattern", place=caller(), fix=fix)


@dataclass(frozen=True, eq=False)
class Call(Generic[R_co]):
    """A pattern with its arguments: run it with a connection."""

    pattern: Pattern[..., Any]
    arguments: Mapping[str, Any]

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.pattern.name}({given})"


class WriteCall(Call[R_co]):
    """A call that writes one item, or checks one: it may be part of a transaction."""


class TransactionCall(Call[R_co]):
    """A call of a transaction; it may be joined to another."""


class Pattern(Generic[P, R]):
    """What a decorated function becomes: call it for a Call, read its plan."""

    call_type: type[Call[Any]] = Call

    def __init__(
        self, function: Callable[P, Any], kind: Kind, facts: Facts, make_plan: Callable[[Pattern[P, R], Any], Plan]
    ) -> None:
        check_function(function, f"a {kind}")
        self.function, self.kind, self.facts = function, kind, facts
        self.name = function.__name__
        self.module = function.__module__
        self.doc = inspect.getdoc(function) or ""
        self.place: Place = of_function(function)
        self.signature = inspect.signature(function)
        self.parameters = _parameters(function, self.signature, self.place)
        self._names = tuple(self.parameters)
        self._defaults = {
            name: parameter.default
            for name, parameter in self.signature.parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }
        self._terms = _run(function, self.parameters, self.place)
        self._make_plan = make_plan

    @cached_property
    def plan(self) -> Plan:
        """What it asks of the service."""
        return self._make_plan(self, self._terms)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        return self.call_type(self, self.arguments(args, kwargs))

    @cached_property
    def argument_checks(self) -> tuple[ArgumentCheck, ...]:
        """The checks of its arguments' types, compiled once."""
        return argument_checks(self.plan, self.parameters)

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments by name.

        Raise TypeError as any function does, and for a value of the wrong type that a key or a condition is made of.
        """
        if len(args) == len(self._names) and not kwargs:
            arguments = dict(zip(self._names, args, strict=True))
        else:
            arguments = self._bound(args, kwargs)
        for check in self.argument_checks:
            parameter, _, exact, accepts = check
            value = arguments[parameter]
            if type(value) not in exact and not accepts(value):
                raise check.error(self.name, value)
        return arguments

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if len(args) > len(self._names):
            raise TypeError(f"{self.name}() takes {len(self._names)} arguments, {len(args)} were given")
        found = dict(zip(self._names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.parameters or name in found:
                what = "got twice" if name in found else "has no argument"
                raise TypeError(f"{self.name}() {what} {name}")
            found[name] = value
        if len(found) < len(self._names):
            found = {**self._defaults, **found}
            missing = [name for name in self._names if name not in found]
            if missing:
                raise TypeError(f"{self.name}() lacks {', '.join(missing)}")
        return found

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


class Read(Pattern[P, R]):
    """A pattern that only reads."""


class Write(Pattern[P, R]):
    """A pattern that writes one item, or checks one."""

    call_type = WriteCall

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> WriteCall[R]:
        return WriteCall(self, self.arguments(args, kwargs))


class Batch(Pattern[P, R]):
    """A pattern that writes many items, one by one."""


def check_function(function: object, of_what: str) -> None:
    """Refuse what is declared as if it were a function."""
    if not isinstance(function, FunctionType):
        raise DesignError(
            f"{getattr(function, '__name__', repr(function))} is declared as {of_what}, and is no function",
            place=caller(),
            fix="write a function: def name(...), with what it says in its body",
        )


def _parameters(function: Callable[..., Any], signature: inspect.Signature, place: Place) -> dict[str, Param]:
    try:
        hints = typing.get_type_hints(function, localns=names_around(), include_extras=True)
    except (AttributeError, NameError, SyntaxError, TypeError) as error:
        raise DesignError(
            f"the annotations of {function.__name__} cannot be read: {error}",
            place=place,
            fix="define or import the name before the pattern, and not under TYPE_CHECKING",
        ) from None
    parameters = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise DesignError(
                f"{function.__name__} takes any number of arguments",
                place=place,
                fix="name every parameter; a list parameter with each(...) takes several values",
            )
        parameters[name] = Param(name, hints.get(name))
    return parameters


def _run(function: Callable[..., Any], parameters: Mapping[str, Param], place: Place) -> Any:
    """Run the body on stand-ins."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise DesignError(
            f"{function.__name__} is an async function, and a pattern only says what is asked",
            place=place,
            fix="write def; what runs it may be async: await db.run(...)",
        )
    refuse_unseen(function, parameters)
    kinds = {name: parameter.kind for name, parameter in inspect.signature(function).parameters.items()}
    named_only = [name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY]
    positional = [parameters[name] for name in kinds if name not in named_only]
    try:
        return function(*positional, **{name: parameters[name] for name in named_only})
    except DesignError:
        raise
    except Exception as error:
        raise DesignError(
            f"the body of {function.__name__} fails on the stand-ins for its parameters:"
            f" {type(error).__name__}: {error}",
            place=of_traceback(error.__traceback__, place.file) or place,
            fix="say only what is asked: hand parameters on as they are, and compute before the call",
        ) from error
