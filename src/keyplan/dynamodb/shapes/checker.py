"""A shape compiled into the checker of its operation's requests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from keyplan.dynamodb.shapes.acceptor import acceptor
from keyplan.dynamodb.shapes.constraints import check_constraints
from keyplan.dynamodb.shapes.model import Structure
from keyplan.dynamodb.shapes.wire import check_types
from keyplan.dynamodb.values.encoding import Form

T = TypeVar("T")
Request: TypeAlias = dict[str, Any]

Check: TypeAlias = Callable[[dict[str, Any], bool], None]
"""Takes a request and whether it is in wire form (binary as base64 text) or Python form (bytes).

Raises SerializationError or ValidationError with the service's text. A member that is None counts as
not given; members that the shape does not know are ignored in wire form and refused in Python.
"""


def compile(shape: Structure, *, late: bool = False) -> Check:  # noqa: A001  # used as shapes.compile, as re.compile is
    """The checker of a shape. With `late` it leaves out the members marked so: the operation is in `late_check`."""
    accepts_wire = acceptor(shape, wire=True, late=late)
    accepts_python = acceptor(shape, wire=False, late=late)

    def check(request: dict[str, Any], wire: bool) -> None:
        if accepts_wire(request) if wire else accepts_python(request):
            return
        check_types(shape, request, wire)
        check_constraints(shape, request)

    return check


def late_check(shape: Structure) -> Callable[[Callable[[Request, Form], T]], Callable[[Request, Form], T]]:
    """Decorates what makes a request's values canonical, from which nothing follows yet, so that it can run again.

    What is wrong with the members left out makes it fail in one way or another: then the whole shape is
    checked, which comes before all else, and words the service's error; or finds nothing, or converts what
    the service converts, and all is begun anew.
    """

    def decorate(prepare: Callable[[Request, Form], T]) -> Callable[[Request, Form], T]:
        @functools.wraps(prepare)
        def prepared(request: Request, form: Form) -> T:
            try:
                return prepare(request, form)
            except Exception:  # noqa: BLE001 - told by the check, or raised again
                check_types(shape, request, form.wire)
                check_constraints(shape, request)
                return prepare(request, form)

        return prepared

    return decorate
