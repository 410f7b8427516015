"""The documentation uses plain English: words that readers do not know from other documentation do not occur."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.making.pages import DOCS

ROOT = DOCS.parent
PAGES = sorted([*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"))])

CODE = re.compile(r"^([ ]*)(```|~~~).*?^\1\2|(`+)[^`].*?\3|<!--.*?-->", re.MULTILINE | re.DOTALL)
REPLACEMENTS = {
    r"told|tells? of": "report, return, raise, log or show",
    r"moments?": "time, timestamp or instant",
    r"anew": "again",
    r"reckon(?:s|ed|ing)?": "compute or estimate",
    r"(?:made|makes?|making) up": "generated, generate",
    r"whoever": "a caller, a client or the user",
    r"(?:is|are) no(?!\s+longer)": "is not a, are not",
    r"lack(?:s|ing)?": "is missing, does not have",
    r"for good": "permanently",
    r"what there is": "existing items or tables",
    r"stays? behind": "is left over, becomes orphaned",
    r"beside": "next to",
    r"meanwhile": "concurrently",
    r"behind your back": "automatically",
}
VOCABULARY = re.compile(rf"\b(?:{'|'.join(REPLACEMENTS)})\b".replace(" ", r"\s+"), re.IGNORECASE)

ALLOWED = {
    ("docs/rules/KP314.md", "told"): '"told apart" is the common phrase for distinguishing two kinds of items',
    ("docs/engine/speed.md", "beside"): "a column of the tables that bench/published.py writes",
}


def words(text: str) -> list[tuple[int, str]]:
    """Return the line and the text of each rejected word outside code."""
    prose = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    matches = VOCABULARY.finditer(prose)
    return [(prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split())) for match in matches]


def replacement(word: str) -> str:
    return next(better for pattern, better in REPLACEMENTS.items() if re.fullmatch(pattern, word, re.IGNORECASE))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_uses_plain_words(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    rejected = [
        f"{name}:{line}: {word!r}: write {replacement(word)}"
        for line, word in words(path.read_text())
        if (name, word.lower()) not in ALLOWED
    ]
    assert not rejected, "\n".join(rejected)


def test_every_allowed_word_still_occurs() -> None:
    used = {(name, word.lower()) for name, _ in ALLOWED for _, word in words((ROOT / name).read_text())}
    assert used >= set(ALLOWED)


def test_words_in_code_are_ignored() -> None:
    assert not words("```python\ntold = anew\n```\n\nCall `told(moment)`.\n<!-- whoever -->\n")


def test_words_are_found_across_lines_and_in_any_case() -> None:
    assert words("Kept for\ngood. Whoever calls.\n") == [(1, "for good"), (2, "Whoever")]
    assert not words("The moss lay in Reckonville; it is no longer used, and is notable.\n")
