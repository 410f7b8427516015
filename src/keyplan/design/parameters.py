"""Which of its parameters the body of a pattern makes use of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from keyplan.design.conditions import Path
from keyplan.design.patterns import Call, Pattern
from keyplan.design.symbols import Each, Param
from keyplan.design.terms_reads import Cond


def unused_parameters(pattern: Pattern[..., Any]) -> list[str]:
    """The parameters that nothing of what the body returns is made of, in their order."""
    terms = pattern._terms
    used = set(_names(terms))
    return [name for name in pattern.parameters if name not in used and not _is_written(name, terms)]


def _names(term: object) -> Iterator[str]:
    if isinstance(term, Param):
        yield term._name
    elif isinstance(term, Each):
        yield from _names(term.values)
    elif isinstance(term, Path):
        yield from _names(term.parts)
    elif isinstance(term, Call):
        yield from _names(term.arguments)
    elif isinstance(term, Mapping):
        yield from _names(tuple(term.values()))
    elif isinstance(term, (tuple, list)):
        for part in term:
            yield from _names(part)
    elif is_dataclass(term):
        yield from _names([getattr(term, one.name) for one in fields(term)])


def _is_written(name: str, terms: object) -> bool:
    """Whether a key text that is written out has a hole of this name."""
    if not isinstance(terms, Cond):
        return False
    texts = [terms.partition_text]
    if terms.sort_text is not None:
        texts += [terms.sort_text.low, terms.sort_text.high]
    return any(f"{{{name}{end}" in text for text in texts if text is not None for end in "}:")
