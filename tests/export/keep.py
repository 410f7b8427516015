"""Writes the documents that the tests beside it expect, anew: `python -m tests.export.keep`, then read the diff."""

from __future__ import annotations

from tests.export import test_explain, test_markdown
from tests.export.prices import fixed

from keyplan.export.explain import explain

if __name__ == "__main__":
    for pattern in test_explain.DESIGN.patterns:
        path = test_explain.EXPECTED / f"{pattern.name}.txt"
        path.write_text(explain(pattern, fixed()))
    test_markdown.EXPECTED.write_text(test_markdown.made(fixed()))
