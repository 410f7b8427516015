"""Document paths that cannot stand together in one update or projection.

Paths are put into a tree one by one, so that a long list takes time in proportion to its length.
Two paths overlap when one holds the other; they conflict when they use one attribute as map and as
list. An overlap anywhere is reported before any conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from keyplan.dynamodb.expressions.resolve import ResolvedPath, path_text
from keyplan.dynamodb.messages import expressions as messages


@dataclass(slots=True)
class _Branch:
    first: int  # the first path that goes through here
    ends: int | None = None  # the path that ends here
    branches: dict[str | int, _Branch] = field(default_factory=dict)


def clash(paths: Sequence[ResolvedPath]) -> str | None:
    """The message for the first two paths that overlap or conflict; None when all are apart."""
    root = _Branch(0)
    conflict: tuple[int, int] | None = None
    for index, path in enumerate(paths):
        branch = root
        for part in path:
            if conflict is None:
                rival = _rival(branch, part)
                conflict = None if rival is None else (rival, index)
            branch = branch.branches.setdefault(part, _Branch(index))
            if branch.ends is not None:
                return messages.paths_overlap(path_text(paths[branch.ends]), path_text(path))
        if branch.branches:
            return messages.paths_overlap(path_text(paths[branch.first]), path_text(path))
        branch.ends = index
    if conflict is None:
        return None
    return messages.paths_conflict(path_text(paths[conflict[0]]), path_text(paths[conflict[1]]))


def _rival(branch: _Branch, part: str | int) -> int | None:
    """The path that uses this branch as a list where `part` is a name, or the other way round."""
    for other, below in branch.branches.items():
        # All parts of one branch are of one kind until the first conflict.
        return below.first if isinstance(other, int) != isinstance(part, int) else None
    return None
