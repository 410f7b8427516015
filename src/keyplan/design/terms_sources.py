"""The values that the terms of a pattern are made of, beside those of its key."""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.design.conditions import Path, paths_of, sources_of
from keyplan.design.symbols import Source
from keyplan.design.terms_reads import Cond
from keyplan.design.terms_writes import Change


def single_sources(terms: Cond | Change) -> Iterator[Source]:
    """Every source of which a call takes one value: of ranges, conditions, changes, whole items, versions."""
    if isinstance(terms, Cond):
        if terms.range is not None:
            yield from (terms.range.low, terms.range.high)
        conditions = [terms.filter]
    else:
        conditions = [terms.condition, terms.replace_when]
        yield from (action.source for action in terms.actions)
        yield from (terms.item, terms.version, *terms.known.values())
    paths: list[Path] = [path for condition in conditions for path in paths_of(condition)]
    yield from (source for condition in conditions for source in sources_of(condition))
    yield from (part for path in paths for part in path.parts)
