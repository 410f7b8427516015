"""What of two designs belongs together: by name, and what was renamed by what it is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    """What has a name."""

    @property
    def name(self) -> str:
        """How it is called."""


N = TypeVar("N", bound=Named)


@dataclass(frozen=True)
class Matched(Generic[N]):
    """Two lists of the same kind, matched."""

    kept: tuple[tuple[N, N], ...]
    """Old and new of one name."""
    renamed: tuple[tuple[N, N], ...]
    removed: tuple[N, ...]
    added: tuple[N, ...]

    @property
    def pairs(self) -> tuple[tuple[N, N], ...]:
        """Old and new, whether or not the name changed."""
        return (*self.kept, *self.renamed)


def matched(old: Iterable[N], new: Iterable[N], shape: Callable[[N], Hashable | None] | None = None) -> Matched[N]:
    """Match by name; of the rest, those whose shape only one of each side has. None is no shape to match by."""
    theirs, ours = _by_name(old), _by_name(new)
    kept = tuple((theirs[name], one) for name, one in ours.items() if name in theirs)
    removed = [one for name, one in theirs.items() if name not in ours]
    added = [one for name, one in ours.items() if name not in theirs]
    renamed = [] if shape is None else list(_renamed(removed, added, shape))
    gone = {before.name for before, _ in renamed}
    come = {after.name for _, after in renamed}
    return Matched(
        kept,
        tuple(renamed),
        tuple(one for one in removed if one.name not in gone),
        tuple(one for one in added if one.name not in come),
    )


def lookalikes(old: Sequence[N], new: Sequence[N], shape: Callable[[N], Hashable | None]) -> dict[str, N]:
    """By the name of what came, what went and may be the same: those whose shape only one of each side has."""
    return {after.name: before for before, after in _renamed(old, new, shape)}


def _by_name(several: Iterable[N]) -> dict[str, N]:
    """By name; of two of one name, which is a finding of its own, the first."""
    found: dict[str, N] = {}
    for one in several:
        found.setdefault(one.name, one)
    return found


def _renamed(removed: Sequence[N], added: Sequence[N], shape: Callable[[N], Hashable | None]) -> Iterable[tuple[N, N]]:
    for before in removed:
        wanted = shape(before)
        twins = [one for one in removed if shape(one) == wanted]
        found = [one for one in added if shape(one) == wanted]
        if wanted is not None and len(twins) == len(found) == 1:
            yield before, found[0]
