"""Decorator for pytest and unittest test classes. An engine answers the calls in each test.

The class itself is not replaced, so that test runners still collect it. A copy of the engine answers in each test, and
in `setUp`, `setup_method` and other methods that run for the test. Therefore, tests do not see each other's writes, and
do not change the engine itself. Only `setUpClass` and `setup_class` write to the engine, and each copy contains their
items. moto isolates tests in a similar way: each test of a class starts with an empty state.

pytest fixtures are not methods of a test, so the engine does not answer in them. Use the fixture `dynamodb_answered`
for them.
"""

from __future__ import annotations

import functools
import inspect
import unittest
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from keyplan.testing.operation import EngineLike

BlockFactory = Callable[[EngineLike], AbstractContextManager[Any]]
"""A function that returns the context manager for a block in which an engine answers DynamoDB clients."""

_CLASS_FIXTURES = frozenset({"setUpClass", "tearDownClass", "setup_class", "teardown_class"})
_PARAMETERS_COUNTED = frozenset({"setup_method", "teardown_method", "setup_class", "teardown_class"})
"""The methods whose parameters pytest counts in order to decide whether to pass the test method as an argument."""
_RUNNERS = ("run", "debug")
_COPY_ATTRIBUTE = "_keyplan_answering"
_WRAPPER_ATTRIBUTE = "_keyplan_answered"


def decorate_class(test_class: type, engine: EngineLike, enter_block: BlockFactory) -> None:
    """Wrap each method of a test class, including inherited methods. Each test uses a separate copy of the engine."""
    copies = _EngineCopies(engine, enter_block)
    for name, member in list(_members(test_class)):
        if isinstance(member, classmethod) and name in _CLASS_FIXTURES:
            setattr(test_class, name, classmethod(_wrapped(member.__func__, lambda _args: enter_block(engine))))
        elif isinstance(member, staticmethod) and name.startswith("test"):
            setattr(
                test_class, name, staticmethod(_wrapped(member.__func__, lambda _args: copies.block_with_new_copy()))
            )
        elif inspect.isclass(member) and member.__qualname__.startswith(f"{test_class.__qualname__}.Test"):
            decorate_class(member, engine, enter_block)
        elif inspect.isfunction(member) and not name.startswith("_") and not _is_fixture(member):
            setattr(test_class, name, _wrapped(member, copies.block_of_instance))
    if issubclass(test_class, unittest.TestCase):
        for name in _RUNNERS:
            setattr(test_class, name, _wrapped(getattr(test_class, name), copies.block_of_run))


class _EngineCopies:
    """The copies of an engine. Each instance of a test class, and therefore each test, has a separate copy."""

    def __init__(self, engine: EngineLike, enter_block: BlockFactory) -> None:
        self._engine, self._enter_block = engine, enter_block

    def block_of_instance(self, args: tuple[Any, ...]) -> AbstractContextManager[Any]:
        """Return the context manager for a block in which the engine copy of a test answers DynamoDB clients.

        The test instance is the first element of `args`. The copy is created on first use and closed when the instance
        is deleted.
        """
        test = args[0]
        cached = vars(test).get(_COPY_ATTRIBUTE)
        if cached is None or cached[0] is not self:
            engine, close = self._make()
            weakref.finalize(test, close)
            cached = vars(test)[_COPY_ATTRIBUTE] = (self, engine)
        return self._enter_block(cached[1])

    @contextmanager
    def block_with_new_copy(self) -> Iterator[EngineLike]:
        """Enter a block in which a new copy of the engine answers DynamoDB clients. The copy is closed at the end."""
        engine, close = self._make()
        try:
            with self._enter_block(engine):
                yield engine
        finally:
            close()

    @contextmanager
    def block_of_run(self, args: tuple[Any, ...]) -> Iterator[None]:
        """Enter a block for everything that unittest runs for a test, including cleanup functions.

        In the block, one copy of the engine answers DynamoDB clients.
        """
        with self.block_with_new_copy() as engine:
            vars(args[0])[_COPY_ATTRIBUTE] = (self, engine)
            try:
                yield
            finally:
                del vars(args[0])[_COPY_ATTRIBUTE]

    def _make(self) -> tuple[EngineLike, Callable[[], None]]:
        """Return a copy of the engine with the same faults and S3 buckets, and a function that closes the copy.

        If the object is not an Engine, return the object itself and a function that does nothing.
        """
        from keyplan.engine.engine import Engine  # noqa: PLC0415 - programs on boto3 alone do not need it

        engine = self._engine
        if not isinstance(engine, Engine):
            return engine, lambda: None
        faults = None if engine.faults is None else engine.faults.faults
        copy = engine.copy(faults=faults, buckets=engine.buckets)
        return copy, copy.close


def _members(test_class: type) -> Iterator[tuple[str, Any]]:
    """Yield the name and the value of each member of a class and its base classes, except members of unittest and
    object.
    """
    names = set()
    for owner in test_class.__mro__:
        if owner is object or owner.__module__.partition(".")[0] == "unittest":
            continue
        for name, member in vars(owner).items():
            if name not in names:
                names.add(name)
                yield name, member


def _is_fixture(function: Callable[..., Any]) -> bool:
    """Return True if a function is a fixture of pytest before 8.4. In later versions, fixtures are not functions."""
    return hasattr(function, "_pytestfixturefunction")


def _wrapped(
    function: Callable[..., Any], block_of: Callable[[tuple[Any, ...]], AbstractContextManager[Any]]
) -> Callable[..., Any]:
    """Return a function that runs `function` in a block. For a coroutine function, return a coroutine function.

    `block_of` is called with the arguments of each call and returns the context manager for the block. If the function
    was already wrapped for a base class, the earlier block is replaced.
    """
    inner = function.__wrapped__ if getattr(function, _WRAPPER_ATTRIBUTE, None) is function else function
    wrapper: Callable[..., Any]
    if inspect.iscoroutinefunction(inner):

        @functools.wraps(inner)
        async def asynchronous(*args: Any, **kwargs: Any) -> Any:
            with block_of(args):
                return await inner(*args, **kwargs)

        wrapper = asynchronous
    elif inner.__name__ in _PARAMETERS_COUNTED and inner.__code__.co_argcount == 1:

        @functools.wraps(inner)
        def without_method(self: Any) -> Any:
            with block_of((self,)):
                return inner(self)

        wrapper = without_method
    elif inner.__name__ in _PARAMETERS_COUNTED:

        @functools.wraps(inner)
        def with_method(self: Any, method: Any) -> Any:
            with block_of((self,)):
                return inner(self, method)

        wrapper = with_method
    else:

        @functools.wraps(inner)
        def blocking(*args: Any, **kwargs: Any) -> Any:
            with block_of(args):
                return inner(*args, **kwargs)

        wrapper = blocking
    setattr(wrapper, _WRAPPER_ATTRIBUTE, wrapper)  # not True, because other decorators copy the attribute
    return wrapper
