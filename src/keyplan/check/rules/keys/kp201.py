"""A name that nothing is declared under

A template, a condition or a pattern that names a field its entity does not have cannot mean anything, so it is
refused when the module is imported: the error shows the text with a caret under the name, and lists the fields
there are. What is looked up later is found here: fields in `ordered_by`, in the numbers of `Items(distinct=...,
present=...)`, attributes that an index projects or a table names for expiry and no entity stores, patterns named in
`after`.

Such a slip is quiet otherwise: a misspelt field in `distinct` only makes every estimate wrong, and of a misspelt
attribute for expiry nothing ever expires.

Correct the name.

Source: keyplan's own rule: a design has no words without meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from keyplan.check.finding import Finding
from keyplan.check.rule import Rule
from keyplan.check.subject import Subject
from keyplan.design.entities import EntitySpec
from keyplan.design.patterns import Facts
from keyplan.design.places import Place
from keyplan.design.plan import Plan
from keyplan.design.tables import Table

RULE = Rule("KP201", "unknown-name", ("error",))


def check(subject: Subject) -> Iterator[Finding]:
    """Fields, attributes and patterns that are named and not declared."""
    patterns = {pattern.name for pattern in subject.design.patterns}
    for _, entity in subject.entities:
        yield from _in_items(entity)
    for table in subject.tables:
        yield from _in_projections(table)
        yield from _in_expiry(table)
    for _, pattern, plan in subject.patterns:
        yield from _in_facts(pattern.name, pattern.facts, plan, pattern.place)
        for name in pattern.facts.after:
            if name not in patterns:
                yield _unknown(pattern.name, f"no pattern is called {name}", name, patterns, pattern.place)


def _in_items(entity: EntitySpec) -> Iterator[Finding]:
    items = entity.items
    for name in dict.fromkeys([*items.distinct, *items.present] if items is not None else []):
        if name not in entity.fields:
            problem = f"{entity.name} has no field {name}, and its declared numbers speak of one"
            yield _unknown(entity.name, problem, name, set(entity.fields), entity.place.at(f'"{name}"'))


def _stored(table: Table) -> set[str]:
    return {field.attribute for entity in table.entities for field in entity.fields.values()}


def _in_expiry(table: Table) -> Iterator[Finding]:
    stored = _stored(table)
    for ttl in table.schema.ttls if table.entities else ():
        if ttl.attribute not in stored:
            problem = f"table {table.name} expires items by {ttl.attribute}, and no entity of it stores that"
            yield _unknown(table.name, problem, ttl.attribute, stored, table.schema.place.at("ttl="))


def _in_projections(table: Table) -> Iterator[Finding]:
    stored = _stored(table) | set(table.schema.key_attributes())
    if table.schema.discriminator is not None:
        stored.add(table.schema.discriminator)
    for index in table.schema.indexes:
        for name in index.project if isinstance(index.project, tuple) and table.entities else ():
            if name not in stored:
                problem = f"index {index.name} projects {name}, and no entity of table {table.name} stores it"
                yield _unknown(index.name, problem, name, stored, index.place)


def _in_facts(pattern: str, facts: Facts, plan: Plan, place: Place) -> Iterator[Finding]:
    name = (facts.ordered_by or "").removeprefix("-")
    if name and all(name not in entity.fields for entity in plan.entities):
        fields = {field for entity in plan.entities for field in entity.fields}
        problem = f"{pattern} is ordered by {name}, a field that {plan.entity.name} does not have"
        yield _unknown(pattern, problem, name, fields, place)


def _unknown(subject: str, problem: str, name: str, known: set[str], place: Place) -> Finding:
    close = get_close_matches(name, sorted(known), n=3) or sorted(known)
    return Finding(RULE.code, "error", subject, problem, f"use one of {', '.join(close) or 'none'}", place)
