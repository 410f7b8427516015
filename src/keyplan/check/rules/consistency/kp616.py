"""A copy of a state that is not changed with it

A booking's status is also kept beside its user, so that the user's list needs one query. From then on there are two
truths, and every change has to change both in one transaction, or the lists disagree for ever.

Found are entities that hold one item for each item of another (their key is made of its fields), with a field of
the same name and the same few values, where a write changes one of the two and no transaction that it is part of
changes the other.

Change both in one transaction, or drop the copy and read the original.

Source: developer guide, "Best practices for managing many-to-many relationships" (duplicated data) and "Managing
complex workflows with DynamoDB transactions".
"""

from __future__ import annotations

from collections.abc import Iterator

from keyplan.check.finding import Finding
from keyplan.check.load import Work
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.cost.selectivity import choices_of
from keyplan.design.entities import EntitySpec
from keyplan.design.plan import Plan

RULE = Rule("KP616", "copy-not-kept", ("warning",))


def check(subject: Subject) -> Iterator[Finding]:
    """State fields of one entity, copied to another, that change alone."""
    entities = [entity for _, entity in subject.entities]
    for original in entities:
        for copy in entities:
            for field in _copied(original, copy):
                works = [work for work in subject.writes_of(original) if _changes(work, field)]
                alone = next((work for work in works if not _both(work, copy, field)), None)
                if alone is not None:
                    yield _finding(alone, original, copy, field)


def _copied(original: EntitySpec, copy: EntitySpec) -> Iterator[str]:
    if original is copy or not copy.key.fields or not original.key.fields:
        return
    one_each = set(copy.key.fields) <= set(original.fields) and set(original.key.fields) <= set(copy.fields)
    if not one_each or set(original.key.fields) == set(copy.key.fields):
        return
    for name, field in original.fields.items():
        twin = copy.fields.get(name)
        if twin is not None and choices_of(field) and field.type_code != "BOOL" and twin.annotation == field.annotation:
            yield name


def _changes(work: Work, field: str) -> bool:
    return any(action.path.field == field for action in work.plan.actions)


def _both(work: Work, copy: EntitySpec, field: str) -> bool:
    return any(step.entity is copy and _writes(step, field) for step in work.pattern.plan.steps)


def _writes(step: Plan, field: str) -> bool:
    return step.operation == "PutItem" or any(action.path.field == field for action in step.actions)


def _finding(work: Work, original: EntitySpec, copy: EntitySpec, field: str) -> Finding:
    return Finding(
        RULE.code,
        "warning",
        copy.name,
        f"{copy.name}.{field} repeats {original.name}.{field}, and {work.pattern.name} changes only the original: they"
        " will disagree",
        f"change both in one transaction, or leave {field} out of {copy.name} and read {original.name}",
        copy.place,
        work.pattern.place,
    )
