"""A rule: its code, its name, how it looks at a design. Its module's docstring is its page."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from keyplan.check.finding import Finding, Severity
from keyplan.check.subject import Subject


@dataclass(frozen=True)
class Rule:
    """What a rule module declares as RULE, and its `check`."""

    code: str
    name: str
    """A few words with hyphens: boolean-index-key."""
    severities: tuple[Severity, ...]
    """What its findings can be."""


@dataclass(frozen=True)
class LoadedRule:
    """A rule with its function and its page."""

    rule: Rule
    check: Callable[[Subject], Iterator[Finding]]
    page: str
    """Markdown: what it finds, why that matters, a bad and a good design, sources."""

    @property
    def title(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]


def load(module: ModuleType) -> LoadedRule:
    """A rule module as a rule."""
    return LoadedRule(module.RULE, module.check, inspect.cleandoc(module.__doc__ or ""))
