"""Documents and source texts use plain English: words that readers do not know from other projects do not occur."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.making.pages import DOCS

ROOT = DOCS.parent
SOURCES = sorted(
    path for folder in ("src/keyplan", "systems/src", "examples") for path in (ROOT / folder).rglob("*.py")
)
TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__).resolve())
PAGES = sorted([*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"))])

CODE = re.compile(r"^([ ]*)(```|~~~).*?^\1\2|(`+)[^`].*?\3|<!--.*?-->", re.MULTILINE | re.DOTALL)
REPLACEMENTS = {
    r"told|tells? of|telling of": "report, return, raise, log or show",
    r"moments?": "time, timestamp or instant",
    r"anew": "again",
    r"reckon(?:s|ed|ing)?": "compute or estimate",
    r"(?:made|makes?|making) up": "generated, generate",
    r"(?:is|are|was|were|be) made of": "consists of, contains",
    r"whoever": "a caller, a client or the user",
    r"(?:is|are) no(?!\s+longer)": "is not a, are not",
    r"(?:is|are) none of": "is not one of",
    r"at last": "finally",
    r"begins? with": "starts with",
    r"hand(?:s|ed|ing)? (?:on|through)": "pass",
    r"of (?:its|their) own": "its own, separate",
    r"lack(?:s|ed|ing)?": "is missing, does not have",
    r"for good": "permanently",
    r"what there is": "existing items or tables",
    r"stays? behind": "is left over, becomes orphaned",
    r"beside": "next to",
    r"meanwhile": "concurrently",
    r"behind your back": "automatically",
}
VOCABULARY = re.compile(rf"\b(?:{'|'.join(REPLACEMENTS)})\b".replace(" ", r"\s+"), re.IGNORECASE)

ALLOWED = {
    ("systems/src/keyplan_systems/thinking_trainer/evaluation/lexicon.py", "begin with"): "a phrase of essays",
}


def words(text: str) -> list[tuple[int, str]]:
    """Return the line and the text of each rejected word outside code."""
    prose = CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    matches = VOCABULARY.finditer(prose)
    return [(prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split())) for match in matches]


def replacement(word: str) -> str:
    return next(better for pattern, better in REPLACEMENTS.items() if re.fullmatch(pattern, word, re.IGNORECASE))


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each comment; none if no text after a # contains a rejected word.

    Tokens take longer than all the rest, so programs are first searched without them.
    """
    starts = (line[match.start() :] for line in source.splitlines() for match in re.finditer("#", line))
    if any(words(start) for start in starts):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes of a tree in any order, in half of the time of `ast.walk`."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                left.append(value)
            elif isinstance(value, list):
                left += [element for element in value if isinstance(element, ast.AST)]


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a module and all statements in it, in any order: functions and classes occur nowhere else."""
    left = [tree]
    while left:
        node = left.pop()
        yield node
        for value in vars(node).values():
            if isinstance(value, list):
                left += [part for part in value if isinstance(part, ast.stmt | ast.ExceptHandler | ast.match_case)]


def source_texts(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each comment, docstring and message; strings without spaces are names."""
    yield from comments(source)
    for node in nodes(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def texts_of_tests(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each comment, docstring and name of a function or class; strings are data."""
    yield from comments(source)
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name.replace("begins_with", "").replace("_", " ")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""


def words_of_tests(source: str) -> list[tuple[int, str]]:
    """Return the line and the text of each rejected word in the comments, docstrings and names of tests."""
    results = {(first + line - 1, word) for first, text in texts_of_tests(source) for line, word in words(text)}
    return sorted(results)


def source_words(source: str) -> list[tuple[int, str]]:
    """Return the line and the text of each rejected word in the texts of a program."""
    results = {(first + line - 1, word) for first, text in source_texts(source) for line, word in words(text)}
    return sorted(results)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_uses_plain_words(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    rejected = [
        f"{name}:{line}: {word!r}: write {replacement(word)}"
        for line, word in words(path.read_text())
        if (name, word.lower()) not in ALLOWED
    ]
    assert not rejected, "\n".join(rejected)


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in SOURCES}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_texts_of_sources_use_plain_words(folder: Path) -> None:
    rejected = [
        f"{name}:{line}: {word!r}: write {replacement(word)}"
        for path in SOURCES
        if path.parent == folder
        for name in [str(path.relative_to(ROOT))]
        for line, word in source_words(path.read_text())
        if (name, word.lower()) not in ALLOWED
    ]
    assert not rejected, "\n".join(rejected)


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in TESTS}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_names_comments_and_docstrings_of_tests_use_plain_words(folder: Path) -> None:
    rejected = [
        f"{path.relative_to(ROOT)}:{line}: {word!r}: write {replacement(word)}"
        for path in TESTS
        if path.parent == folder
        for line, word in words_of_tests(path.read_text())
    ]
    assert not rejected, "\n".join(rejected)


def test_every_allowed_word_still_occurs() -> None:
    find = {".md": words, ".py": source_words}
    used = {
        (name, word.lower()) for name, _ in ALLOWED for _, word in find[Path(name).suffix]((ROOT / name).read_text())
    }
    assert used >= set(ALLOWED)


def test_words_in_code_are_ignored() -> None:
    assert not words("```python\ntold = anew\n```\n\nCall `told(moment)`.\n<!-- whoever -->\n")


def test_words_are_found_across_lines_and_in_any_case() -> None:
    assert words("Kept for\ngood. Whoever calls.\n") == [(1, "for good"), (2, "Whoever")]
    assert not words("The moss lay in Reckonville; it is no longer used, and is notable.\n")


def test_comments_docstrings_and_messages_are_checked_and_names_are_not() -> None:
    source = (
        '"""Made up."""\n\n\ndef told(moment):  # kept for good\n    raise TypeError(f"{moment} is no time", "anew")\n'
    )
    assert source_words(source) == [(1, "Made up"), (4, "for good"), (5, "is no")]


def test_names_of_tests_are_checked_and_their_strings_are_not() -> None:
    source = 'def test_a_reader_is_told():\n    """Made up."""\n    assert f(moment) == "kept for good"  # anew\n'
    assert words_of_tests(source) == [(1, "Made up"), (1, "told"), (3, "anew")]
