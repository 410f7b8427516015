"""A rule: its code, its name, how it looks at a design, or at two. Its module's docstring is its page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, TypeVar

from keyplan.check.finding import Finding, Severity

S = TypeVar("S")


@dataclass(frozen=True)
class Rule:
    """What a rule module declares as RULE, and its `check`."""

    code: str
    name: str
    """A few words with hyphens: boolean-index-key."""
    severities: tuple[Severity, ...]
    """What its findings can be."""


@dataclass(frozen=True)
class LoadedRule(Generic[S]):
    """A rule with its function and its page. S is what it looks at: a Subject, or a Comparison of two designs."""

    rule: Rule
    check: Callable[[S], Iterator[Finding]]
    page: str
    """Markdown: what it finds, why that matters, a bad and a good design, sources."""

    @property
    def title(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]


def load(module: ModuleType) -> LoadedRule[Any]:
    """A rule module as a rule."""
    return LoadedRule(module.RULE, module.check, inspect.cleandoc(module.__doc__ or ""))
