"""Patterns and calls. A pattern is a typed function that declares which items are read or written.

The body of a pattern runs once, at its declaration, with stand-ins for its parameters. Calling the pattern returns a
`Call`, which contains the arguments and can be run by a connection.

A stand-in raises an error if the body inspects its value. However, it cannot detect tests with `is None`, `isinstance`
or `match`, which use only the identity or class of an object. `refuse_branches` therefore searches the source for such
tests, if the source is available. It also rejects calls that return the current time or random values, because each
call of the pattern would get the same value.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import textwrap
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, Generic, Literal, ParamSpec, TypeVar, overload

from keyplan.design.arguments import check_flags, check_numbers, check_text
from keyplan.design.conditions.builders import ItemWrite, KeyCondition
from keyplan.design.conditions.conditions import FieldPath
from keyplan.design.declaring.argument_checks import ArgumentCheck, argument_checks
from keyplan.design.errors import (
    DesignError,
    Place,
    calling_names,
    calling_place,
    function_place,
    refuse,
    traceback_place,
)
from keyplan.design.fields.annotations import UNSET
from keyplan.design.parameters import CALL_SOURCES, Each, Param, Source, value_of
from keyplan.design.planning.plan import Plan
from keyplan.design.planning.sort_keys import optional_parameters, without_absent
from keyplan.design.workload import Claim, Rate

_ATTEMPTS = 100
"""The maximum number of attempts to parse source code. In CPython before 3.11.8, parsing can fail while other threads
are parsing.
"""
_VARYING_NAMES = frozenset(
    {"now", "utcnow", "today", "time_ns", "uuid1", "uuid4", "uuid7", "token_bytes", "token_hex", "token_urlsafe"}
)
_TYPE_TESTS = frozenset({"isinstance", "type", "callable", "hasattr", "getattr", "id"})


def refuse_branches(function: Callable[..., Any], parameters: Collection[str]) -> None:
    """Raise DesignError if a pattern's body branches on its parameters, or uses the current time or random values."""
    source, tree = _definition(function)
    nodes = list(ast.walk(tree))
    for node, name in _branches(nodes, parameters):
        raise DesignError(
            f"the pattern branches on its parameter {name}",
            place=_place_and_text(function, source, node)[0],
            fix="declare one pattern for each case, or decide before the pattern is called",
        )
    for call in _varying_calls(nodes):
        place, text = _place_and_text(function, source, call)
        raise DesignError(
            f"the pattern evaluates {text} once, when it is declared: every call would have the same value",
            place=place,
            fix="make it a parameter, and compute it before each call",
        )


def _place_and_text(function: Callable[..., Any], source: str, node: ast.expr) -> tuple[Place, str]:
    """Return the source location of an expression, and the first line of its source."""
    first = function_place(function)
    text = (ast.get_source_segment(source, node) or function.__name__).splitlines()[0]
    return Place(first.file, first.line + node.lineno - 1, text), text


def _definition(function: Callable[..., Any]) -> tuple[str, ast.AST]:
    """Return the source and the syntax tree of a function. If the source is not available, return an empty string and
    an empty tree.
    """
    for read_source in (_compiled_lines, inspect.getsource):
        try:
            source = textwrap.dedent(read_source(function))
            return source, _parsed(source)
        except (OSError, TypeError, SyntaxError):
            # No source exists (exec, a prompt), or its lines cannot be parsed: they end within an expression, or a
            # string is indented less than the function.
            continue
    return "", ast.Module([], [])


def _compiled_lines(function: Callable[..., Any]) -> str:
    """Return the source lines that a function was compiled from. Raises OSError if they are unknown.

    This function is faster than `inspect.getsource`, which tokenizes the source. Tokenizing would take a third of the
    time needed to declare a pattern.
    """
    function = inspect.unwrap(function)
    code = function.__code__
    last = _last_line(code)
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if function.__name__ == "<lambda>" or last is None or last > len(lines):
        raise OSError("the lines of the function are not known")
    return "".join(lines[code.co_firstlineno - 1 : last])


def _last_line(code: CodeType) -> int | None:
    """Return the number of the last line of a code object, including nested functions, or None if it is unknown."""
    ends = [end for _, end, _, _ in code.co_positions()]
    ends += [_last_line(inner) for inner in code.co_consts if isinstance(inner, CodeType)]
    return max((end for end in ends if end is not None), default=None)


def _parsed(source: str) -> ast.AST:
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return ast.parse(source)
        except SystemError:
            if attempt == _ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


def _branches(nodes: Sequence[ast.AST], parameters: Collection[str]) -> Iterator[tuple[ast.expr, str]]:
    for node in nodes:
        operands: list[ast.expr] = []
        branch: ast.expr | None = None
        if isinstance(node, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            operands, branch = [node.left, *node.comparators], node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TYPE_TESTS:
            operands, branch = node.args[:1], node
        elif isinstance(node, ast.Match):
            operands, branch = [node.subject], node.subject
        for operand in operands:
            name = _root(operand)
            if branch is not None and name in parameters:
                yield branch, name


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _varying_calls(nodes: Sequence[ast.AST]) -> Iterator[ast.Call]:
    """Yield calls to functions that return a different value each time, such as `now` and `uuid4`."""
    for node in nodes:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else _root(node.func)
            if name in _VARYING_NAMES or ast.unparse(node.func) == "time.time":
                yield node


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
U = TypeVar("U")
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


@dataclass(frozen=True, eq=False)
class Page(Sequence[T]):
    """A page of results, in order, with the cursor for the next page.

    A page is equal to another page, a list or a tuple if both contain equal items in the same order.
    """

    items: tuple[T, ...]
    cursor: str | None = None
    """The cursor to pass to the next call to the same pattern, with the same arguments. None on the last page."""
    deleted: int = 0
    """With `hydrate=True`, the number of index entries whose item had been deleted before it was read from
    the table.
    """

    def of(self, entity: type[U], /) -> list[U]:
        """Return the items of this page that belong to one entity, in order.

        If the class is not an entity but a base class of entities, return the items of all its subclasses.
        """
        entities = [item for item in self.items if isinstance(item, entity)]
        return [item for item in entities if type(item) is entity] if "__keyplan__" in vars(entity) else entities

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return list(self.items[index]) if isinstance(index, slice) else self.items[index]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Page):
            return bool(self.items == other.items)
        return self.items == tuple(other) if isinstance(other, (list, tuple)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Facts:
    """The declared properties of a pattern that do not affect its requests, such as its rate and claims."""

    rate: Rate | None = None
    claims: tuple[Claim, ...] = ()
    expected_items: float | None = None
    """The expected number of items that a call returns or writes."""
    expected_scanned: float | None = None
    """The expected number of items that a call reads before filtering."""
    decides: str = ""
    """What the application decides with the items that the read returns: "uniqueness", "quota" or "state". An empty
    string if the pattern declares no decision.
    """
    guards: tuple[str, ...] = ()
    """Names of the write patterns that the application calls only if the decision in `decides` allows it."""
    after: tuple[str, ...] = ()
    """Names of write patterns whose writes must be visible to this read immediately."""
    ordered_by: str | None = None
    """The field that results are expected to be sorted by, or "-field" for descending order."""
    retried: bool = False
    """Whether callers repeat the call after a timeout."""

    def __post_init__(self) -> None:
        """Raise DesignError, at the line that declares the pattern, if a property is invalid."""
        if not (self.rate is None or isinstance(self.rate, Rate)):
            raise _invalid_property("rate", self.rate, f"write rate=Rate({self.rate!r})")
        for claim in self.claims:
            if not isinstance(claim, Claim):
                raise _invalid_property("claims", claim, f"write claims=Claim({claim!r})")
        check_numbers(expected_items=self.expected_items, expected_scanned=self.expected_scanned)
        check_text("ordered_by", self.ordered_by, may_be_none=True)
        check_flags(retried=self.retried)
        if self.decides not in _DECIDES:
            raise _invalid_property("decides", self.decides, f"write one of {', '.join(map(repr, _DECIDES[1:]))}")
        if self.decides and not self.guards:
            raise DesignError(
                f"decides={self.decides!r} does not name the write that depends on the decision",
                place=calling_place().at("decides="),
                fix='add guards="save", the name of the writing pattern, or several names',
            )
        if self.guards and not self.decides:
            raise DesignError(
                f"guards={', '.join(map(repr, self.guards))} is declared without decides=",
                place=calling_place().at("guards="),
                fix=f"add decides=..., one of {', '.join(map(repr, _DECIDES[1:]))}, or remove guards=",
            )


def as_claims(claims: Any) -> tuple[Claim, ...]:
    """Return claims as a tuple. `claims` is a single claim or a list of claims."""
    return tuple(claims) if isinstance(claims, (list, tuple)) else (claims,)


_DECIDES = ("", "uniqueness", "quota", "state")


def _invalid_property(option: str, value: object, fix: str) -> DesignError:
    return DesignError(f"{option}={value!r} is not valid for a pattern", place=calling_place(), fix=fix)


class Call(Generic[R_co]):
    """A pattern with arguments, which a connection can run."""

    __slots__ = ("arguments", "pattern")

    def __init__(self, pattern: Pattern[..., Any], arguments: Mapping[str, Any]) -> None:
        self.pattern, self.arguments = pattern, arguments

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.pattern.name}({arguments})"


class WriteCall(Call[R_co]):
    """A call that writes or checks one item. It can be part of a transaction."""

    __slots__ = ()


class TransactionCall(Call[R_co]):
    """A call to a transaction. It can be combined with other calls in a larger transaction."""

    __slots__ = ()


class Pattern(Generic[P, R]):
    """A decorated function with a request plan. Calling it returns a Call."""

    call_type: type[Call[Any]] = Call

    def __init__(
        self, function: Callable[P, Any], kind: Kind, facts: Facts, make_plan: Callable[[Pattern[P, R], Any], Plan]
    ) -> None:
        check_function(function, f"a {kind}")
        self.function, self.kind, self.facts = function, kind, facts
        self.name = function.__name__
        self.module = function.__module__
        self.doc = inspect.getdoc(function) or ""
        self.place: Place = function_place(function)
        self.signature = inspect.signature(function)
        self.parameters = _parameters(function, self.signature, self.place)
        self._names = tuple(self.parameters)
        self._defaults = {
            name: parameter.default
            for name, parameter in self.signature.parameters.items()
            if parameter.default is not inspect.Parameter.empty
        }
        self._make_plan = make_plan
        terms = _run_body(function, self.parameters, self.place)
        self._set_terms(terms, optional_parameters(terms) if isinstance(terms, KeyCondition) else frozenset())

    def _set_terms(self, terms: Any, optional: frozenset[str]) -> None:
        self._count = len(self._names)
        self._call = self._first_call
        """The function that checks positional arguments and creates a call."""
        self.declared: Pattern[P, R] = self
        """The declared pattern of which this pattern is a variant, or this pattern itself."""
        self._terms = terms
        self.optional = optional
        """Parameters that may be None. If one is None, the sort key condition ends before its field."""
        self._patched = tuple(
            (number, action.source)
            for number, action in enumerate(terms.actions if isinstance(terms, ItemWrite) else ())
            if action.optional
        )
        """The index and the value of each change in a patch, which a call may omit."""
        self._variants: dict[frozenset[Any], Pattern[P, R]] = {}
        """Variants of the pattern that omit optional parts, keyed by the omitted parts."""

    @cached_property
    def plan(self) -> Plan:
        """The plan of the requests that the pattern sends. Computed on first access."""
        return self._make_plan(self, self._terms)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        if not kwargs and len(args) == self._count:
            call: Call[R] = self._call(*args)
            return call
        return self.call_with(self.arguments(args, kwargs))

    def _first_call(self, *args: Any) -> Any:
        """Generate the function that creates calls to this pattern, and return the first call that it creates."""
        self._call = _call_maker(self)
        return self._call(*args)

    def call_with(self, arguments: Mapping[str, Any]) -> Call[R]:
        """Return a call with these arguments, which the caller has already checked."""
        return self.call_type(self.variant(arguments) if self.optional or self._patched else self, arguments)

    def variant(self, arguments: Mapping[str, Any]) -> Pattern[P, R]:
        """Return the pattern that a call with these arguments uses.

        The returned pattern omits sort key fields whose parameters are None, and patch changes whose value is UNSET.
        """
        absent: frozenset[Any] = frozenset(name for name in self.optional if arguments[name] is None)
        if self._patched:
            absent |= {number for number, source in self._patched if _is_unset(source, arguments)}
        elif not absent:
            return self
        variant = self._variants.get(absent)
        if variant is None:
            variant = copy.copy(self)
            variant.__dict__.pop("plan", None)
            variant._set_terms(self._terms_without(absent), frozenset())
            variant.declared = self.declared
            self._variants[absent] = variant
        return variant

    def _terms_without(self, absent: frozenset[Any]) -> Any:
        terms = self._terms
        if not isinstance(terms, ItemWrite):
            return without_absent(self.call_text, self.plan, terms, absent)
        actions = [action for number, action in enumerate(terms.actions) if number not in absent]
        return replace(
            terms, actions=tuple(replace(action, optional=False) for action in actions), is_empty_patch=not actions
        )

    @property
    def call_text(self) -> str:
        """The text that error messages use for a call to the pattern, such as `tasks_due()`."""
        return f"{self.name}()"

    @cached_property
    def argument_checks(self) -> tuple[ArgumentCheck, ...]:
        """The type checks for the pattern's arguments, compiled once."""
        return argument_checks(self.plan, self.parameters)

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, after checking them.

        Raises TypeError for missing or unknown arguments, and for a value of the wrong type in a key or condition.
        """
        arguments = self._bind(args, kwargs)
        for check in self.argument_checks:
            value = arguments[check.parameter]
            if type(value) not in check.exact and not check.accepts(value):
                raise check.error(self.call_text, value)
        return arguments

    def _bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        if len(args) > len(self._names):
            raise TypeError(f"{self.name}() takes {len(self._names)} arguments, but {len(args)} were given")
        arguments = dict(zip(self._names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.parameters or name in arguments:
                problem = "got multiple values for argument" if name in arguments else "got an unexpected argument"
                raise TypeError(f"{self.name}() {problem} {name}")
            arguments[name] = value
        if len(arguments) < len(self._names):
            arguments = {**self._defaults, **arguments}
            missing = [name for name in self._names if name not in arguments]
            if missing:
                raise TypeError(f"{self.name}() is missing {', '.join(missing)}")
        return arguments

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"


def _call_maker(pattern: Pattern[..., Any]) -> Callable[..., Any]:
    """Generate the function that creates calls to a pattern.

    The generated function tests each argument whose parameter has a type check before it creates the call.
    """
    scope: dict[str, Any] = {
        "pattern": pattern,
        "call_with": pattern.call_with,
        "call_type": pattern.call_type,
        "new": object.__new__,
    }
    checks = {check.parameter: check for check in pattern.argument_checks}
    lines, members = [], []
    for number, name in enumerate(pattern.parameters):
        members.append(f"{name!r}: a{number}")
        check = checks.get(name)
        if check is not None:
            scope[f"exact{number}"], scope[f"accepts{number}"] = check.exact, check.accepts
            scope[f"error{number}"] = check.error
            scope[f"kind{number}"] = next((kind for kind in check.exact if kind is not type(None)), None)
            # The class of most values is the class in the annotation.
            tests = (f"a{number}.__class__ is not kind{number}", f"type(a{number}) not in exact{number}")
            lines += [
                f"    if {' and '.join(tests)} and not accepts{number}(a{number}):",
                f"        raise error{number}({pattern.call_text!r}, a{number})",
            ]
    arguments = f"{{{', '.join(members)}}}"
    if pattern.optional or pattern._patched:
        lines.append(f"    return call_with({arguments})")
    else:  # takes half the time of calling the class
        lines += ["    call = new(call_type)", "    call.pattern = pattern", f"    call.arguments = {arguments}"]
        lines.append("    return call")
    head = f"def build_call({', '.join(f'a{number}' for number in range(len(pattern.parameters)))}):"
    exec("\n".join([head, *lines]), scope)  # noqa: S102 - the source contains only parameter names, formatted by repr
    maker: Callable[..., Any] = scope["build_call"]
    return maker


class Read(Pattern[P, R]):
    """A read-only pattern."""


class Write(Pattern[P, R]):
    """A pattern that writes or checks one item."""

    call_type = WriteCall

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> WriteCall[R]:
        if not kwargs and len(args) == self._count:
            call: WriteCall[R] = self._call(*args)
            return call
        return self.call_with(self.arguments(args, kwargs))

    def call_with(self, arguments: Mapping[str, Any]) -> WriteCall[R]:
        """Return a call with these arguments, which the caller has already checked."""
        return WriteCall(self.variant(arguments) if self._patched else self, arguments)


class Batch(Pattern[P, R]):
    """A pattern that writes many items without a transaction."""


def _is_unset(source: Source, arguments: Mapping[str, Any]) -> bool:
    """Return True if a parameter or constant has the value UNSET in a call.

    In the body of a transaction, stand-ins for its parameters are treated as set.
    """
    if isinstance(source, Param) and isinstance(arguments[source._name], CALL_SOURCES):
        return False
    return value_of(source, arguments) is UNSET


def check_function(function: object, declaration: str) -> None:
    """Raise DesignError if a declared object is not a function.

    `declaration` describes the declaration, such as "a query".
    """
    if not isinstance(function, FunctionType):
        refuse(
            f"{getattr(function, '__name__', repr(function))} is declared as {declaration}, but is not a function",
            "write a function: def name(...)",
        )


def _parameters(function: Callable[..., Any], signature: inspect.Signature, place: Place) -> dict[str, Param]:
    try:
        hints = typing.get_type_hints(function, localns=calling_names(), include_extras=True)
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
                fix="name every parameter; for several values, pass a list parameter as each(...)",
            )
        parameters[name] = Param(name, hints.get(name))
    return parameters


def _run_body(function: Callable[..., Any], parameters: Mapping[str, Param], place: Place) -> Any:
    """Run the body of a pattern with stand-ins for its parameters, and return the body's result."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise DesignError(
            f"{function.__name__} is an async function, and a pattern only describes a request",
            place=place,
            fix="write def; the call may be async: await db.run(...)",
        )
    refuse_branches(function, parameters)
    kinds = {name: parameter.kind for name, parameter in inspect.signature(function).parameters.items()}
    keyword_only = [name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY]
    positional = [parameters[name] for name in kinds if name not in keyword_only]
    try:
        return function(*positional, **{name: parameters[name] for name in keyword_only})
    except DesignError:
        raise
    except Exception as error:
        raise DesignError(
            f"the body of {function.__name__} fails when it is called with stand-ins for its parameters:"
            f" {type(error).__name__}: {error}",
            place=traceback_place(error.__traceback__, place.file) or place,
            fix="pass parameters unchanged, and compute values before the call",
        ) from error


def unused_parameters(pattern: Pattern[..., Any]) -> list[str]:
    """Return, in declaration order, the names of the parameters that do not occur in the object that the pattern's body
    returns.
    """
    terms = pattern._terms
    used = {param._name for param in params_in(terms)}
    return [name for name in pattern.parameters if name not in used and not _is_in_key_text(name, terms)]


def params_in(term: object) -> Iterator[Param]:
    """Yield every parameter that occurs in the object that a pattern's body returns."""
    if isinstance(term, Param):
        yield term
    elif isinstance(term, Each):
        yield from params_in(term.values)
    elif isinstance(term, FieldPath):
        yield from params_in(term.parts)
    elif isinstance(term, Call):
        yield from params_in(term.arguments)
    elif isinstance(term, Mapping):
        yield from params_in(tuple(term.values()))
    elif isinstance(term, (tuple, list)):
        for part in term:
            yield from params_in(part)
    elif is_dataclass(term):
        yield from params_in([getattr(term, field.name) for field in fields(term)])


def _is_in_key_text(name: str, terms: object) -> bool:
    if not isinstance(terms, KeyCondition):
        return False
    texts = [terms.partition_text]
    if terms.sort_text is not None:
        texts += [terms.sort_text.low, terms.sort_text.high]
    return any(f"{{{name}{end}" in text for text in texts if text is not None for end in "}:")
