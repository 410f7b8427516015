"""The same item twice in one transaction

A transaction is refused when two of its actions are on one item, even if one of them only checks a condition.
A check and an update of the same item, or two updates of two of its fields, are one update with a condition.

Found are steps whose keys are provably equal because they come from the same parameters, a repeated step whose
key does not depend on what it is repeated for, and two new items that would take one unique value.

Join both changes in one pattern: `key_of(...) & set_(...) & when(...)`.

Source: developer guide, "Managing complex workflows with DynamoDB transactions"; API reference,
TransactWriteItems: no two actions may target the same item.
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.identity import Origin, Written, written_by
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject

RULE = Rule("KP602", "item-twice-in-transaction", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Transactions that write one item twice."""
    for transaction in subject.design.transactions:
        seen: dict[Origin, tuple[str, Written]] = {}
        for one in written_by(transaction):
            if one.step.repeated is not None and not one.varies and one.sources:
                yield _finding(
                    transaction.name,
                    f"repeats {one.step.call.pattern.name} for each of {one.step.repeated.values!r}, and its key is the"
                    " same every time",
                    one,
                    None,
                )
            for what, key in one.keys:
                if key in seen:
                    problem = f"writes {what} twice, in step {seen[key][1].number} ({_name(seen[key][1])}) and in step"
                    yield _finding(
                        transaction.name, f"{problem} {one.number} ({_name(one)}), with the same key", one, seen[key][1]
                    )
                    break
                seen[key] = (what, one)


def _name(one: Written) -> str:
    return one.step.call.pattern.name


def _finding(name: str, does: str, one: Written, other: Written | None) -> Finding:
    pattern = one.step.call.pattern
    return Finding(
        RULE.code,
        "error",
        name,
        f"{name} {does}: the service refuses a transaction with two actions on one item",
        "join the changes and the conditions in one pattern, and use it once",
        pattern.place,
        None if other is None else other.step.call.pattern.place,
    )
