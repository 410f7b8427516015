"""The rules' pages: each from its module's docstring and the designs that test it, and an index by family."""

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
_NOTE = "<!-- fmt: off -->\n\nThe designs below are tests of the rule, as they stand there; imports are left out."


def pages() -> dict[str, str]:
    """By path under docs/: the index, and a page for each rule."""
    made = {f"rules/{code}.md": _page(rule) for code, rule in PAGES.items()}
    return {"rules/index.md": _index(), **made}


def _index() -> str:
    told = (
        f"The {len(RULES)} rules of `keyplan check`, and the {len(CHANGE_RULES)} of [`keyplan diff`](../diff.md), which"
        " compare two designs. How to read and accept findings: [checks](../checks.md)."
    )
    lines = ["# Rules", "", told]
    for family, rules in FAMILIES.items():
        lines += ["", f"## {family}", "", "| rule | finds | severity |", "|---|---|---|"]
        lines += [_row(rule) for rule in rules]
    return "\n".join(lines) + "\n"


def _row(rule: Rule[Any]) -> str:
    code = rule.code
    return f"| [{code}]({code}.md) | {rule.title} | {', '.join(rule.severities)} |"


def _page(rule: Rule[Any]) -> str:
    code = rule.code
    family = next(name for name, rules in FAMILIES.items() if rule in rules)
    anchor = family.lower().replace(" ", "-")
    head = (
        f"# {code}: {rule.title}\n\n`{rule.slug}` · {', '.join(rule.severities)}"
        f" · [{family}](index.md#{anchor})\n\n{rule.text}\n"
    )
    return f"{head}\n## Designs\n\n{_NOTE}\n{_examples(code)}"


def _examples(code: str) -> str:
    words = {"bad": "Found", "good": "Not found"}
    text = (_CASES / f"{code}.md").read_text()
    return "".join(
        f"\n### {words[case['kind']]}: {case['title']}\n{_old(case)}\n"
        f"```py\n{_EXPECTED.sub(f'# {code}', case['source'])}```\n"
        for case in _CASE.finditer(text)
    )


def _old(case: re.Match[str]) -> str:
    """The design that runs, where two are compared."""
    return "" if case["old"] is None else f"\nFrom\n\n```py\n{case['old']}```\n\nto\n"
