"""The seam between what is done and how it is sent: programs, which are generators, and drivers that run them.

A program yields what it wants: `(operation, request)` for a request, or a `Wait`. It gets the answer, or
has the service's error raised where it stands. A driver knows nothing of patterns, a program nothing of
sockets or event loops; so there is one of each program, and a driver for each way to wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from keyplan.errors import ServiceError

R = TypeVar("R")
Request = dict[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on after so many seconds."""

    seconds: float


Step = tuple[str, Request] | Wait
Program = Generator[Step, Any, R]


class Transport(Protocol):
    """Sends a request. Raises ServiceError."""

    def call(self, operation: str, request: Request) -> Answer:
        """The answer of an operation, binary as bytes."""

    def close(self) -> None:
        """Give back what it holds."""


class AsyncTransport(Protocol):
    """The same, awaited."""

    async def call(self, operation: str, request: Request) -> Answer:
        """The answer of an operation, binary as bytes."""

    async def close(self) -> None:
        """Give back what it holds."""


def drive(program: Program[R], call: Callable[[str, Request], Answer], wait: Callable[[float], object]) -> R:
    """Run a program to its end."""
    try:
        step = next(program)
        while True:
            if isinstance(step, tuple):
                try:
                    answer = call(*step)
                except ServiceError as error:
                    step = program.throw(error)
                else:
                    step = program.send(answer)
            else:
                wait(step.seconds)
                step = program.send(None)
    except StopIteration as done:
        result: R = done.value
        return result


async def drive_async(
    program: Program[R],
    call: Callable[[str, Request], Awaitable[Answer]],
    wait: Callable[[float], Awaitable[object]],
) -> R:
    """Run a program to its end, awaiting what it waits for."""
    try:
        step = next(program)
        while True:
            if isinstance(step, tuple):
                try:
                    answer = await call(*step)
                except ServiceError as error:
                    step = program.throw(error)
                else:
                    step = program.send(answer)
            else:
                await wait(step.seconds)
                step = program.send(None)
    except StopIteration as done:
        result: R = done.value
        return result
