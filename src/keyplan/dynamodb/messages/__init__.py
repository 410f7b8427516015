"""The error messages of DynamoDB, with one module per family of operations.

A message with variable parts is a callable: a template that is called with a value for each part or, if a template is
not sufficient, a function. Messages that DynamoDB does not have are marked "keyplan's own".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Template1: TypeAlias = Callable[[object], str]
Template2: TypeAlias = Callable[[object, object], str]
Template3: TypeAlias = Callable[[object, object, object], str]
