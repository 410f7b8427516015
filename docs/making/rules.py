"""Pages of rules, generated from their docstrings and from the designs in their tests, and an index by family."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from keyplan.check.checking import CHANGE_RULES, FAMILIES, PAGES, RULES
from keyplan.check.rule import Rule

_CASES = Path(__file__).parents[2] / "tests" / "check" / "rules"
_CASE = re.compile(
    r"^## (?P<kind>bad|good): (?P<title>.+?)$\n+"
    r"(?:^```python\n(?P<old>[^`]*?)^```$\n+)?^```python\n(?P<source>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_EXPECTED = re.compile(r"# expect.*$", re.MULTILINE)
_NOTE = "<!-- fmt: off -->\n\nThese designs are test cases for the rule. Imports are omitted."
_SECTION = re.compile(r"^(Why is this bad\?|Fix:|Source:)\s+", re.MULTILINE)


def pages() -> dict[str, str]:
    """Return the index and a page for each rule, by path under docs/."""
    return {"rules/index.md": _index(), **{f"rules/{code}.md": _page(rule) for code, rule in PAGES.items()}}


def sections(rule: Rule[Any]) -> dict[str, str]:
    """Return the text of a rule by heading: What it does, Why is this bad?, Fix, Source."""
    first, *rest = _SECTION.split(rule.text)
    headings = [heading.removesuffix(":") for heading in rest[::2]]
    return {"What it does": first.strip(), **dict(zip(headings, map(_sentence, rest[1::2]), strict=True))}


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:]


def _index() -> str:
    lines = [
        "# Rules",
        "",
        (
            f"`keyplan check` has {len(RULES)} rules. [`keyplan diff`](../diff.md), which compares two designs, has"
            f" {len(CHANGE_RULES)} more. [Checks](../checks.md) describes how to read and accept findings."
        ),
    ]
    for family, rules in FAMILIES.items():
        lines += ["", f"## {family}", "", "| rule | name | finding | severity |", "|---|---|---|---|"]
        lines += [_row(rule) for rule in rules]
    return "\n".join(lines) + "\n"


def _row(rule: Rule[Any]) -> str:
    return f"| [{rule.code}]({rule.code}.md) | `{rule.slug}` | {rule.title} | {', '.join(rule.severities)} |"


def _page(rule: Rule[Any]) -> str:
    family = next(name for name, rules in FAMILIES.items() if rule in rules)
    anchor = family.lower().replace(" ", "-")
    parts = [
        f"# {rule.code}: {rule.title}",
        f"`{rule.slug}` · {', '.join(rule.severities)} · [{family}](index.md#{anchor})",
    ]
    for heading, text in sections(rule).items():
        if heading == "Fix":
            parts.append(f"## Example\n\n{_NOTE}\n{_examples(rule.code).rstrip()}")
        parts.append(f"## {heading}\n\n{text}")
    return "\n\n".join(parts) + "\n"


def _examples(code: str) -> str:
    text = (_CASES / f"{code}.md").read_text()
    return "".join(
        f"\n### {case['kind'].capitalize()}: {case['title']}\n{_old(case)}\n"
        f"```py\n{_EXPECTED.sub(f'# {code}', case['source'])}```\n"
        for case in _CASE.finditer(text)
    )


def _old(case: re.Match[str]) -> str:
    """Return the old design of a comparison."""
    return "" if case["old"] is None else f"\nFrom\n\n```py\n{case['old']}```\n\nto\n"
