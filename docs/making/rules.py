"""Pages of rules, generated from their docstrings and from the designs in their tests, and an index by family."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from keyplan.check.checking import CHANGE_RULES, FAMILIES, PAGES
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

_GUIDE = "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide"
_API = "https://docs.aws.amazon.com/amazondynamodb/latest/APIReference"
_TITLE = re.compile(r'"([^"]+)"')
_API_NAMES = re.compile(r"(?<=API reference, )[^;:.]+")  # not words in parentheses, which name parameters
_CHAPTERS = {
    "Amazon DynamoDB Transactions: how it works": "transaction-apis",
    "Best practices for designing and architecting with DynamoDB": "best-practices",
    "Best practices for designing and using partition keys effectively": "bp-partition-key-design",
    "Best practices for handling time series data in DynamoDB": "bp-time-series",
    "Best practices for managing many-to-many relationships": "bp-adjacency-graphs",
    "Best practices for querying and scanning data": "bp-query-scan",
    "Best practices for storing large items": "bp-use-s3-too",
    "Best practices for storing large items and attributes": "bp-use-s3-too",
    "Best practices for using secondary indexes": "bp-indexes",
    "Best practices for using secondary indexes in DynamoDB": "bp-indexes",
    "Best practices for using sort keys to organize data": "bp-sort-keys",
    "Change data capture for DynamoDB Streams": "Streams",
    "Condition expressions": "Expressions.ConditionExpressions",
    "Core components of Amazon DynamoDB": "HowItWorks.CoreComponents",
    "Counting the items in the results": "Query.Other",
    "DynamoDB Streams and time to live": "time-to-live-ttl-streams",
    "DynamoDB item sizes and formats": "CapacityUnitCalculations",
    "DynamoDB read and write operations": "read-write-operations",
    "DynamoDB read consistency": "HowItWorks.ReadConsistency",
    "DynamoDB throughput capacity": "capacity-mode",
    "Enable time to live (TTL)": "time-to-live-ttl-how-to",
    "Expression attribute names": "Expressions.ExpressionAttributeNames",
    "Filter expressions": "Query.FilterExpression",
    "Filter expressions for the Query operation": "Query.FilterExpression",
    "First steps for modeling relational data in DynamoDB": "bp-modeling-nosql",
    "Item collections in local secondary indexes": "LSI",
    "Key condition expressions for the Query operation": "Query.KeyConditionExpressions",
    "Limiting the number of items in the result set": "Query.Other",
    "Local Secondary Indexes": "LSI",
    "Local secondary indexes": "LSI",
    "Managing Global Secondary Indexes in DynamoDB": "GSI.OnlineOps",
    "Managing complex workflows with DynamoDB transactions": "transactions",
    "NoSQL design": "bp-general-nosql-design",
    "On-demand capacity mode": "on-demand-capacity-mode",
    "Optimistic locking with version number": "DynamoDBMapper.OptimisticLocking",
    "Paginating table query results": "Query.Pagination",
    "Partitions and data distribution": "HowItWorks.Partitions",
    "Point-in-time backups for DynamoDB": "PointInTimeRecovery",
    "Provisioned capacity mode": "provisioned-capacity-mode",
    "Query": "Query",
    "Querying tables in DynamoDB": "Query",
    "Quotas in Amazon DynamoDB": "ServiceQuotas",
    "Read and write capacity": "capacity-mode",
    "Reserved words in DynamoDB": "ReservedWords",
    "Scanning tables": "Scan",
    "Supported data types": "HowItWorks.NamingRulesDataTypes",
    "Supported data types and naming rules": "HowItWorks.NamingRulesDataTypes",
    "Supported data types and naming rules in Amazon DynamoDB": "HowItWorks.NamingRulesDataTypes",
    "Take advantage of sparse indexes": "bp-indexes-general-sparse-indexes",
    "Update expressions": "Expressions.UpdateExpressions",
    "Using Global Secondary Indexes in DynamoDB": "GSI",
    "Using IAM policy conditions for fine-grained access control": "specifying-conditions",
    "Using global secondary indexes": "GSI",
    "Using time to live (TTL)": "TTL",
    "Using write sharding to distribute workloads evenly": "bp-partition-key-sharding",
    "What is Amazon DynamoDB": "Introduction",
    "Working with items and attributes": "WorkingWithItems",
    "Working with scans in DynamoDB": "Scan",
}
"""Names of pages of the DynamoDB developer guide, by the titles that rules quote."""


def pages() -> dict[str, str]:
    """Return the index and a page for each rule, by path under docs/."""
    return {"rules/index.md": _index(), **{f"rules/{code}.md": _page(rule) for code, rule in PAGES.items()}}


def sections(rule: Rule[Any]) -> dict[str, str]:
    """Return the text of a rule by heading: What it does, Why is this bad?, Fix, Source."""
    first, *rest = _SECTION.split(rule.text)
    headings = [heading.removesuffix(":") for heading in rest[::2]]
    texts = dict(zip(headings, map(_sentence, rest[1::2]), strict=True))
    return {"What it does": first.strip(), **texts, "Source": _linked(texts["Source"])}


def _linked(source: str) -> str:
    """Return the sources of a rule with links to the developer guide and to the API reference."""
    source = _API_NAMES.sub(
        lambda names: re.sub(r"(?<![(\w])([A-Z]\w+)", rf"[\1]({_API}/API_\1.html)", names[0]), source
    )
    return _TITLE.sub(_chapter, source)


def _chapter(match: re.Match[str]) -> str:
    page = _CHAPTERS.get(" ".join(match[1].split()))
    return match[0] if page is None else f"[{match[1]}]({_GUIDE}/{page}.html)"


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:]


def _index() -> str:
    lines = [
        "# Rules",
        "",
        (
            f"`keyplan check` has {len(PAGES) - len(CHANGE_RULES)} rules. [`keyplan diff`](../diff.md), which compares"
            f" two designs, has {len(CHANGE_RULES)} more."
            " [Checks](../checks.md) describes how to read and accept findings."
        ),
    ]
    for family, rules in FAMILIES.items():
        lines += ["", f"## {family}", "", "| rule | finding | severity |", "|---|---|---|"]
        lines += [_row(rule) for rule in rules]
    return "\n".join(lines) + "\n"


def _row(rule: Rule[Any]) -> str:
    return f"| [{rule.code}]({rule.code}.md) | {rule.title}<br>`{rule.slug}` | {', '.join(rule.severities)} |"


def _page(rule: Rule[Any]) -> str:
    family = next(name for name, rules in FAMILIES.items() if rule in rules)
    anchor = family.lower().replace(" ", "-")
    parts = [
        f"# {rule.code}: {rule.title}",
        f"`{rule.slug}` · {', '.join(rule.severities)} · [{family}](index.md#{anchor})",
    ]
    first, more_examples = _examples(rule.code)
    for heading, text in sections(rule).items():
        if heading == "Fix":
            parts.append(f"## Example\n\n{_NOTE}\n{first}")
        parts.append(f"## {heading}\n\n{text}")
    if more_examples:
        parts.append(f"## More examples\n{more_examples}")
    return "\n\n".join(parts) + "\n"


def _examples(code: str) -> tuple[str, str]:
    """Return the first bad and the first good design of a rule, and its other designs."""
    cases = list(_CASE.finditer((_CASES / f"{code}.md").read_text()))
    first = [next(case for case in cases if case["kind"] == kind) for kind in ("bad", "good")]
    other_cases = [case for case in cases if case not in first]
    return _format_cases(code, first), _format_cases(code, other_cases)


def _format_cases(code: str, cases: list[re.Match[str]]) -> str:
    return "".join(
        f"\n### {case['kind'].capitalize()}: {case['title']}\n{_old(case)}\n"
        f"```py\n{_EXPECTED.sub(f'# {code}', case['source'])}```\n"
        for case in cases
    ).rstrip()


def _old(case: re.Match[str]) -> str:
    """Return the old design of a comparison."""
    return "" if case["old"] is None else f"\nFrom\n\n```py\n{case['old']}```\n\nto\n"
