"""All pages that are made from code, and those that lie about although nothing makes them."""

from __future__ import annotations

from pathlib import Path

from docs.making import commands, errors, rules

DOCS = Path(__file__).parents[1]


def made() -> dict[str, str]:
    """By path under docs/: what each made page says."""
    return {**rules.pages(), **commands.pages(), **errors.pages()}


def stray() -> list[Path]:
    """Pages in folders of made pages that nothing makes any more."""
    wanted = {DOCS / name for name in made()}
    return sorted(set((DOCS / "rules").glob("*.md")) - wanted)
